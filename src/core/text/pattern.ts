// The wildcard matcher. `*` stands for any run of characters, also an empty one; no other character is special. A
// pattern is cut at its stars once. Matching then searches for each piece once, from left to right, without
// backtracking: the leftmost match of a piece leaves the most room for the next. A pattern is never turned into a
// regular expression, because 12 stars against 61 characters took V8 minutes.

export interface Pattern {
  /** What the name must begin with; the whole name when `stars` is false. */
  head: string;
  /** The pieces between stars, in order, none empty. */
  middle: readonly string[];
  /** What the name must end with. */
  tail: string;
  stars: boolean;
}

export function compilePattern(text: string): Pattern {
  const pieces = text.split('*');
  const head = pieces[0] as string;
  if (pieces.length === 1) return { head, middle: [], tail: '', stars: false };
  const tail = pieces[pieces.length - 1] as string;
  const middle = pieces.slice(1, -1).filter(piece => piece !== '');
  return { head, middle, tail, stars: true };
}

export function matches(pattern: Pattern, name: string): boolean {
  if (!pattern.stars) return name === pattern.head;
  const end = name.length - pattern.tail.length;
  let at = pattern.head.length;
  if (at > end || !name.startsWith(pattern.head) || !name.endsWith(pattern.tail)) return false;
  for (const piece of pattern.middle) {
    const found = name.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}
