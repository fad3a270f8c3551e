// What the editor colours in a text.

/** The first and the last line of what was added to a text. */
export interface AddedLines {
  first: number;
  last: number;
}
