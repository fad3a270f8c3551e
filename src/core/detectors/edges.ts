// Where something that is looked for may begin and end: not inside a longer word. Texts within texts have escapes, whose
// last letters belong to no word: `\n` in JSON, `%3A` in an address, and the `m` that ends a colour of a terminal.

export function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

export function isLetterOrDigit(unit: number): boolean {
  return isDigit(unit) || (unit >= 0x41 && unit <= 0x5a) || (unit >= 0x61 && unit <= 0x7a);
}

const isHex = (unit: number): boolean =>
  isDigit(unit) || (unit >= 0x41 && unit <= 0x46) || (unit >= 0x61 && unit <= 0x66);

const BACKSLASH = 0x5c;
const PERCENT = 0x25;
const U = 0x75;
const X = 0x78;
const M = 0x6d;
const BRACKET = 0x5b;
const SEMICOLON = 0x3b;
/** `n`, `r`, `t`, `b`, `f`, `v` and `0`. */
const ESCAPED: ReadonlySet<number> = new Set([0x6e, 0x72, 0x74, 0x62, 0x66, 0x76, 0x30]);
/** The numbers of a colour are no longer than this. */
const COLOUR = 12;

/** Whether a word may begin at a place of the text. */
export function opens(text: string, at: number): boolean {
  return at === 0 || !isLetterOrDigit(text.charCodeAt(at - 1)) || endsEscape(text, at);
}

/**
 * Where a number begins whose digits go on before a place: behind `%20` and `\u0022`, whose digits are none of its own.
 */
export function numberStart(text: string, first: number): number {
  const before = text.charCodeAt(first - 1);
  if (before === PERCENT) return first + 2;
  return before === U && text.charCodeAt(first - 2) === BACKSLASH ? first + 4 : first;
}

/** Whether a word that ends before a place of the text is not continued there. */
export function closes(text: string, at: number): boolean {
  return at >= text.length || !isLetterOrDigit(text.charCodeAt(at));
}

/** Whether what stands before the place is an escape. */
function endsEscape(text: string, at: number): boolean {
  const last = text.charCodeAt(at - 1);
  if (ESCAPED.has(last) && text.charCodeAt(at - 2) === BACKSLASH) return true;
  if (last === M) return endsColour(text, at - 1);
  if (!isHex(last) || !isHex(text.charCodeAt(at - 2))) return false;
  const before = text.charCodeAt(at - 3);
  if (before === PERCENT) return true;
  if (before === X) return text.charCodeAt(at - 4) === BACKSLASH;
  if (text.charCodeAt(at - 5) !== U || text.charCodeAt(at - 6) !== BACKSLASH) return false;
  return isHex(before) && isHex(text.charCodeAt(at - 4));
}

function endsColour(text: string, end: number): boolean {
  for (let at = end - 1; at >= 0 && end - at <= COLOUR; at--) {
    const unit = text.charCodeAt(at);
    if (unit === BRACKET) return true;
    if (!isDigit(unit) && unit !== SEMICOLON) return false;
  }
  return false;
}
