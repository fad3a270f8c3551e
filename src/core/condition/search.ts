// Finds a text in a text in linear time. The runtime's own search compares the whole needle at every place: half a
// megabyte of one letter in a megabyte of it would take minutes.

const SHORT = 16;

/** Where the needle is, from that place on, or -1. */
export function indexIn(text: string, needle: string, from: number): number {
  return needle.length <= SHORT ? text.indexOf(needle, from) : linearIndex(text, needle, from);
}

/** The algorithm of Knuth, Morris and Pratt. */
function linearIndex(text: string, needle: string, from: number): number {
  if (needle.length > text.length - from) return -1;
  const shorter = new Int32Array(needle.length);
  for (let at = 1, length = 0; at < needle.length; at++) {
    const unit = needle.charCodeAt(at);
    while (length > 0 && unit !== needle.charCodeAt(length)) length = shorter[length - 1]!;
    if (unit === needle.charCodeAt(length)) length++;
    shorter[at] = length;
  }
  for (let at = from, length = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    while (length > 0 && unit !== needle.charCodeAt(length)) length = shorter[length - 1]!;
    if (unit === needle.charCodeAt(length)) length++;
    if (length === needle.length) return at - length + 1;
  }
  return -1;
}
