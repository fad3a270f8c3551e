// Migrations are imported as text, so that a single-file build contains them.
declare module '*.sql' {
  const text: string;
  export default text;
}
