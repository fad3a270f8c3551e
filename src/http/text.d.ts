// Pages are imported as text, so that a single-file build carries them.
declare module '*.md' {
  const text: string;
  export default text;
}
declare module '*.txt' {
  const text: string;
  export default text;
}
