// Secrets: what has one of the formats of secret-formats.ts, private keys, and passwords in addresses. One walk over the text
// looks for all prefixes at once. What stands behind a prefix is read only where a secret may begin, and only so far as the
// longest secret of its format goes.

import { findAddressPassword } from './address-passwords.ts';
import { closes, isLetterOrDigit, opens } from './edges.ts';
import { type Find, joined, type Stretch, whole } from './find.ts';
import { findPrivateKey } from './private-keys.ts';
import { isPlaceholder } from './secret-checks.ts';
import { SECRET_FORMATS, type SecretFormat } from './secret-formats.ts';

/** What is found where a prefix stands. */
type FindAt = (text: string, at: number) => readonly Find[];

const NONE: readonly Find[] = [];
/** What stands before a prefix is no longer than this. */
const MAX_BEFORE = 76;

/** Whether a longer word may go on to the place over `-` and `_`, however many there are. */
export function isInWord(text: string, at: number): boolean {
  let before = at - 1;
  while (text[before] === '-' || text[before] === '_') before--;
  return before >= 0 && before < at - 1 && isLetterOrDigit(text.charCodeAt(before));
}

function finderOf(format: SecretFormat, prefix: string): FindAt {
  const { named, apart, check = isDrawn } = format;
  const shape = new RegExp(format.shape, 'y');
  const before = format.before === undefined ? null : new RegExp(`(?:${format.before})$`);
  const beside = format.beside === undefined ? null : new RegExp(format.beside, 'y');
  return (text, at) => {
    const head = before?.exec(text.slice(Math.max(0, at - MAX_BEFORE), at));
    if (head === null) return NONE;
    const from = at - (head?.[0].length ?? 0);
    if (!named && (!opens(text, from) || (apart && isInWord(text, from)))) return NONE;
    const whole = matchAt(shape, text, at + prefix.length);
    if (whole === null) return NONE;
    const to = shape.lastIndex;
    if (!closes(text, to)) return NONE;
    const value = whole[1];
    if (value !== undefined) return isPlaceholder(value) ? NONE : [{ from: to - value.length, to }];
    if (!check(text.slice(from, to))) return NONE;
    const key = beside && matchAt(beside, text, to)?.[1];
    if (!beside || !key || isPlaceholder(key)) return [{ from, to }];
    return [
      { from, to },
      { from: beside.lastIndex - key.length, to: beside.lastIndex },
    ];
  };
}

const isDrawn = (secret: string): boolean => !isPlaceholder(secret);

function matchAt(expression: RegExp, text: string, at: number): RegExpExecArray | null {
  expression.lastIndex = at;
  return expression.exec(text);
}

/** All prefixes as a tree of their characters: for each node and character the next node, or 0. */
class Prefixes {
  #next = new Uint16Array(ASCII);
  #nodes = 1;
  readonly #found: FindAt[][] = [[]];
  /** The node after two characters, or 0. Few places of a text have such a pair; all others are passed over. */
  readonly #pairs = new Uint16Array(ASCII * ASCII);

  /** A prefix has two characters or more. */
  add(prefix: string, find: FindAt): void {
    let node = 0;
    for (let at = 0; at < prefix.length; at++) {
      const place = node * ASCII + prefix.charCodeAt(at);
      node = this.#next[place] as number;
      if (node === 0) node = this.#grow(place);
      if (at === 1) this.#pairs[(prefix.charCodeAt(0) << 7) | prefix.charCodeAt(1)] = node;
    }
    this.#found[node]?.push(find);
  }

  #grow(place: number): number {
    const node = this.#nodes++;
    if (this.#next.length < this.#nodes * ASCII) {
      const more = new Uint16Array(2 * this.#next.length + ASCII);
      more.set(this.#next);
      this.#next = more;
    }
    this.#next[place] = node;
    this.#found.push([]);
    return node;
  }

  findIn(text: string, { from, until }: Stretch): Find[] {
    const pairs = this.#pairs;
    const finds: Find[] = [];
    const last = Math.min(until, text.length - 1);
    let unit = text.charCodeAt(from);
    for (let at = from; at < last; at++) {
      const following = text.charCodeAt(at + 1);
      const node = pairs[((unit << 7) | following) & PAIR] as number;
      // What is not ASCII may look like another pair.
      if (node !== 0 && (unit | following) < ASCII) {
        const to = this.#findAt(text, at, node, finds);
        if (to > at + 1) {
          at = to - 1;
          unit = text.charCodeAt(to);
          continue;
        }
      }
      unit = following;
    }
    return joined(finds);
  }

  /** Adds what is found where prefixes begin with the pair of this node, and returns where the longest of it ends. */
  #findAt(text: string, at: number, pair: number, finds: Find[]): number {
    const next = this.#next;
    let to = at;
    let node = pair;
    for (let end = at + 2; node !== 0; end++) {
      for (const find of this.#found[node] as FindAt[])
        for (const each of find(text, at)) {
          finds.push(each);
          to = Math.max(to, each.to);
        }
      const unit = text.charCodeAt(end);
      // Beyond the text there is NaN, which is not smaller either.
      node = unit < ASCII ? (next[node * ASCII + unit] as number) : 0;
    }
    return to;
  }
}
const ASCII = 128;
const PAIR = ASCII * ASCII - 1;

let prefixes: Prefixes | null = null;

export function findSecrets(text: string, stretch = whole(text)): Find[] {
  prefixes ??= allPrefixes();
  return prefixes.findIn(text, stretch);
}

function allPrefixes(): Prefixes {
  const all = new Prefixes();
  for (const format of SECRET_FORMATS)
    for (const prefix of format.prefixes) all.add(prefix, finderOf(format, prefix));
  all.add('-----BEGIN', findPrivateKey);
  for (const colon of ['://', ':\\/\\/']) all.add(colon, findAddressPassword);
  return all;
}
