// Packs are imported as text, so that a single-file build contains them.
declare module '*.yaml' {
  const text: string;
  export default text;
}
