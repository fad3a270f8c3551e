// Why a condition is refused when its policy is saved. The message quotes nothing but the condition itself.

export class ConditionFault extends Error {
  /** Where the fault is, in UTF-16 units from the start of the condition. */
  readonly offset: number;
  /** How many instructions of patterns were compiled in vain. */
  readonly compiled: number;

  constructor(message: string, offset: number, compiled = 0) {
    super(message);
    this.name = 'ConditionFault';
    this.offset = offset;
    this.compiled = compiled;
  }
}

export function unknownVariable(
  name: string,
  declared: readonly string[],
  locals: readonly string[],
): string {
  const meant = suggestion(name, [...declared, ...locals, 'true', 'false', 'null']);
  const argument = declared.includes('args') ? ` For an argument, write args.${name}.` : '';
  return `unknown variable "${name}"; known: ${declared.join(', ')}.${meant || argument}`;
}

/** Functions of other languages, and what they are called here. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ['len', 'size'],
  ['length', 'size'],
  ['lower', 'lowerAscii'],
  ['toLowerCase', 'lowerAscii'],
  ['upper', 'upperAscii'],
  ['toUpperCase', 'upperAscii'],
  ['includes', 'contains'],
  ['every', 'all'],
  ['some', 'exists'],
]);

/** Without a similar name, those of the same group are named, such as `url.host` for `url.domain`. */
export function unknownFunction(name: string, known: readonly string[]): string {
  const other = OTHER_NAMES.get(name);
  const meant = other === undefined ? suggestion(name, known) : ` Did you mean "${other}"?`;
  const group = known.filter(each => name.includes('.') && each.startsWith(name.replace(/\..*/, '.')));
  const listed = meant === '' && group.length > 0 ? `; known: ${group.join(', ')}` : '';
  return `unknown function "${name}"${listed}.${meant}`;
}

/** Longer names are not compared: two of 2,000 characters, which a condition can have, took 40 to 130 ms. */
const MAX_COMPARED = 64;

/** ` Did you mean "amount"?` where a known name is close to the one that was written, otherwise nothing. */
export function suggestion(written: string, known: Iterable<string>): string {
  let best = '';
  if (written.length > MAX_COMPARED) return '';
  // Of a name of one letter, nothing would be left that is similar.
  let least = Math.min(written.length, written.length > 4 ? 3 : 2);
  for (const name of known) {
    if (Math.abs(name.length - written.length) >= least) continue;
    const changes = distance(written.toLowerCase(), name.toLowerCase());
    if (changes < least) {
      least = changes;
      best = name;
    }
  }
  return best === '' ? '' : ` Did you mean "${best}"?`;
}

/** How many characters have to be inserted, removed, replaced or swapped with their neighbour. */
function distance(from: string, to: string): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const change = from[i - 1] === to[j - 1] ? 0 : 1;
      let least = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + change);
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      if (swapped) least = Math.min(least, before[j - 2]! + 1);
      next.push(least);
    }
    before = row;
    row = next;
  }
  return row[to.length]!;
}
