// Finds the rules of a policy that match a tool by its name, in order, up to the first one that always applies.

import { type Renaming, renamedPattern, variantsOf } from '../agents/renaming.ts';
import { compilePattern, matches, type Pattern } from '../text/pattern.ts';
import { canBePassedOver, FREEDOM, type Limits, namesServer, type Rule } from './policy.ts';

const NONE = Number.POSITIVE_INFINITY;
const MAX_KNOWN = 10_000;
/** All remembered lists together have at most this many entries. */
const MAX_KNOWN_RULES = 100_000;

/**
 * The rules of one policy version, compiled once. A pattern that contains `__` names a server and is compared with full
 * names only: otherwise a server could match a rule for another server by the names of its tools.
 */
export class RuleIndex {
  readonly #always = new Names();
  readonly #sometimes = new Names();
  readonly #known = new Map<string, readonly number[]>();
  readonly #rules: readonly Rule[];
  readonly #renamed = new Map<Renaming, Patterns>();
  #knownRules = 0;

  constructor(rules: readonly Rule[], limits: Limits = {}) {
    this.#rules = rules;
    rules.forEach((rule, index) => {
      (canBePassedOver(rule, limits) ? this.#sometimes : this.#always).add(rule.tool, index);
    });
  }

  /**
   * The rules that match a tool, in order; only the last one may be a rule that always applies. Results are remembered,
   * because agents call the same tools again and again: scanning 10,000 rules like `a*b` took 530 µs.
   */
  candidatesFor(fullName: string, bareName: string): readonly number[] {
    return this.#remembered(fullName, () => this.#candidates(fullName, bareName));
  }

  /** The rules that deny or ask and may match the name that a tool had before an agent renamed it, in any order. */
  alike(by: Renaming, fullName: string): readonly number[] {
    // No name has this character, so it divides the two.
    return this.#remembered(`${by}\u0000${fullName}`, () => {
      const found = new Set<number>();
      for (const name of variantsOf(by, fullName)) this.#renamedBy(by).collect(name, NONE, found);
      return [...found];
    });
  }

  #renamedBy(by: Renaming): Patterns {
    const known = this.#renamed.get(by);
    if (known !== undefined) return known;
    const patterns = new Patterns();
    this.#rules.forEach(({ tool, action }, index) => {
      if (FREEDOM[action] < FREEDOM.allow) patterns.add(compilePattern(renamedPattern(by, tool)), index);
    });
    this.#renamed.set(by, patterns);
    return patterns;
  }

  #remembered(name: string, find: () => readonly number[]): readonly number[] {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const found = find();
    this.#knownRules += found.length;
    if (this.#known.size >= MAX_KNOWN || this.#knownRules > MAX_KNOWN_RULES) {
      this.#known.clear();
      this.#knownRules = found.length;
    }
    this.#known.set(name, found);
    return found;
  }

  /** The smallest index of a rule that matches and always applies, or -1; `bareName` is null if it is not known. */
  first(fullName: string, bareName: string | null): number {
    const best = this.#always.first(fullName, bareName);
    return best === NONE ? -1 : best;
  }

  #candidates(fullName: string, bareName: string): number[] {
    const last = this.#always.first(fullName, bareName);
    const found = this.#sometimes.before(last, fullName, bareName);
    if (last !== NONE) found.push(last);
    return found;
  }
}

/** The patterns of some rules, for looking up names. */
class Names {
  readonly #ofServers = new Patterns();
  readonly #others = new Patterns();

  add(tool: string, index: number): void {
    (namesServer(tool) ? this.#ofServers : this.#others).add(compilePattern(tool), index);
  }

  first(fullName: string, bareName: string | null): number {
    let best = this.#ofServers.first(fullName, NONE);
    best = this.#others.first(fullName, best);
    if (bareName !== null) best = this.#others.first(bareName, best);
    return best;
  }

  /** All that match with an index below `bound`, in order. */
  before(bound: number, fullName: string, bareName: string): number[] {
    const found = new Set<number>();
    this.#ofServers.collect(fullName, bound, found);
    this.#others.collect(fullName, bound, found);
    this.#others.collect(bareName, bound, found);
    return [...found].sort((a, b) => a - b);
  }
}

/**
 * Exact names, prefixes (`a*`) and suffixes (`*a`) are looked up in maps. Only the other patterns are scanned, in
 * order, up to the best index found so far.
 */
class Patterns {
  readonly #exact = new Map<string, number[]>();
  readonly #prefixes = new Affixes((name, length) => name.slice(0, length));
  readonly #suffixes = new Affixes((name, length) => name.slice(name.length - length));
  readonly #rest: { pattern: Pattern; index: number }[] = [];

  add(pattern: Pattern, index: number): void {
    if (!pattern.stars) append(this.#exact, pattern.head, index);
    else if (pattern.middle.length > 0 || (pattern.head !== '' && pattern.tail !== ''))
      this.#rest.push({ pattern, index });
    else if (pattern.tail === '') this.#prefixes.add(pattern.head, index);
    else this.#suffixes.add(pattern.tail, index);
  }

  /** The smallest index below `bound` of a pattern that matches the name, or `bound`. */
  first(name: string, bound: number): number {
    const best = Math.min(
      bound,
      this.#exact.get(name)?.[0] ?? NONE,
      this.#prefixes.first(name),
      this.#suffixes.first(name),
    );
    for (const { pattern, index } of this.#rest) {
      if (index >= best) break;
      if (matches(pattern, name)) return index;
    }
    return best;
  }

  /** Adds the indexes below `bound` of all patterns that match the name. */
  collect(name: string, bound: number, found: Set<number>): void {
    const looked = [this.#exact.get(name), ...this.#prefixes.all(name), ...this.#suffixes.all(name)];
    for (const list of looked) for (const index of list ?? []) if (index < bound) found.add(index);
    for (const { pattern, index } of this.#rest) {
      if (index >= bound) break;
      if (matches(pattern, name)) found.add(index);
    }
  }
}

/** Prefixes or suffixes, grouped by length: each length costs one look-up. */
class Affixes {
  readonly #byText = new Map<string, number[]>();
  readonly #cut: (name: string, length: number) => string;
  #lengths: number[] = [];

  constructor(cut: (name: string, length: number) => string) {
    this.#cut = cut;
  }

  add(text: string, index: number): void {
    append(this.#byText, text, index);
    if (!this.#lengths.includes(text.length))
      this.#lengths = [...this.#lengths, text.length].sort((a, b) => a - b);
  }

  first(name: string): number {
    let best = NONE;
    for (const [index] of this.all(name)) if (index !== undefined && index < best) best = index;
    return best;
  }

  /** The indexes of each prefix or suffix that the name has. */
  all(name: string): number[][] {
    const found: number[][] = [];
    for (const length of this.#lengths) {
      if (length > name.length) break;
      const indexes = this.#byText.get(this.#cut(name, length));
      if (indexes !== undefined) found.push(indexes);
    }
    return found;
  }
}

/** Rules are added in order, so each list is sorted. */
function append(map: Map<string, number[]>, text: string, index: number): void {
  const list = map.get(text);
  if (list === undefined) map.set(text, [index]);
  else list.push(index);
}
