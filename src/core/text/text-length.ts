// How long a text is in characters or in bytes of UTF-8. JavaScript counts UTF-16 units; these functions count without
// encoding the text.

/** How many characters (code points) the text has, up to a place in UTF-16 units. */
export function codePoints(text: string, end = text.length): number {
  let count = end;
  // The first half of a pair is looked for first, because most texts have none.
  for (let at = 0; at < end; at++)
    if ((text.charCodeAt(at) & 0xfc00) === 0xd800 && text.codePointAt(at)! > 0xffff) count--;
  return count;
}

/** How many bytes of UTF-8 the text takes. Half of a surrogate pair counts as two. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    // A pair is two units and four bytes.
    if (unit >= 0x80) bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
  }
  return bytes;
}
