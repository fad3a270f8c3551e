// Whether what was printed is what the page prints. Ids, tokens and times differ from run to run: the first time
// one stands for another it is remembered, and stands for it from then on. `…` stands for anything.

type Kind = [name: string, written: RegExp, found: string];

const KINDS: Kind[] = [
  ['token', /tg_[a-z]{3}_\w*…?/, 'tg_[a-z]{3}_\\w*…?'],
  ['secret', /whsec_[\w+/=]*…?/, 'whsec_[\\w+/=]*'],
  [
    'id',
    /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/,
    '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}',
  ],
  [
    'time',
    /\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| UTC)/,
    '\\d{4}-\\d\\d-\\d\\d[T ]\\d\\d:\\d\\d(?::\\d\\d(?:\\.\\d+)?)?(?:Z| UTC)',
  ],
  [
    'number',
    /\b\d+(?:\.\d+)?(?= (?:ms|bytes|KiB)\b)|(?<="latencyMs": )\d+|\b\d{13}\b|\b0\.\d+\.\d+\b/,
    '[\\d.]+',
  ],
  ['port', /\b(?:8787|8788|9000|9001|2525)\b/, '\\d+'],
  ['anything', /…/, '[^]*?'],
];
const ANY = new RegExp(KINDS.map(([name, written]) => `(?<${name}>${written.source})`).join('|'), 'g');

export class Printed {
  readonly #known = new Map<string, string>();

  /** A command with the values of this run in place of those on the page. */
  here(command: string): string {
    let changed = command;
    for (const [written, actual] of this.#known) changed = changed.replaceAll(written, actual);
    return changed;
  }

  /** Null when it is; else what the page wants, for a message. */
  fault(written: string, actual: string): string | null {
    const names: string[] = [];
    const pattern = this.#pattern(written.trim(), names);
    const found = new RegExp(`^${pattern}$`).exec(actual.trim());
    if (found === null) return this.here(written);
    for (const [index, name] of names.entries()) this.#known.set(name, found[index + 1] as string);
    return null;
  }

  #pattern(written: string, names: string[]): string {
    let pattern = '';
    let from = 0;
    for (const found of written.matchAll(ANY)) {
      pattern += literal(written.slice(from, found.index)) + this.#group(found, names);
      from = found.index + found[0].length;
    }
    return pattern + literal(written.slice(from));
  }

  #group(found: RegExpExecArray, names: string[]): string {
    const kind = KINDS.find(([name]) => found.groups?.[name] !== undefined) as Kind;
    if (kind[0] !== 'id') return kind[2];
    const known = this.#known.get(found[0]);
    if (known !== undefined) return literal(known);
    const before = names.indexOf(found[0]);
    if (before >= 0) return `\\${before + 1}`;
    names.push(found[0]);
    return `(${kind[2]})`;
  }
}

/** Columns are as wide as what stands in them. */
function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/[ \t]+/g, '[ \\t]+');
}
