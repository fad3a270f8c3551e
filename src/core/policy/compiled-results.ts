// The entries of a policy's `results` made ready: their patterns, conditions and finders compiled, and found by the name of
// a tool. core/results says what they do to a result.

import { type Renaming, renamedPattern, variantsOf } from '../agents/renaming.ts';
import {
  type Condition,
  compileCondition,
  type Declarations,
  readOf,
  types,
} from '../condition/condition.ts';
import { compileSearcher } from '../condition/pattern-find.ts';
import { DETECTOR_NAMES, DETECTORS, isDetector } from '../detectors/detectors.ts';
import type { Finder } from '../detectors/find.ts';
import { parseByteSize } from '../text/byte-size.ts';
import { joinName } from '../text/name.ts';
import { compilePattern, matches, type Pattern } from '../text/pattern.ts';
import { conditionsOf, marksOf, namesServer } from './policy.ts';
import { hiddenOf, type ResultEntry } from './result-fields.ts';
import { type ToolCall, VARIABLES } from './situation.ts';

const { BOOL, DYN, INT, STRING, mapOf, structOf } = types;

/** What conditions of entries see: what rules see, and the result. */
export const RESULT_VARIABLES: Declarations = {
  ...VARIABLES,
  result: structOf({
    text: { type: STRING },
    structured: { type: mapOf(STRING, DYN), optional: true },
    isError: { type: BOOL },
    bytes: { type: INT },
    found: { type: mapOf(STRING, INT) },
  }),
};

export const compileResultWhen = (source: string, isChecked = false): Condition<boolean> =>
  compileCondition(source, RESULT_VARIABLES, 'bool', isChecked);

export interface CompiledEntry {
  readonly entry: ResultEntry;
  readonly pattern: Pattern;
  readonly conditions: readonly Condition<boolean>[];
  /** The names of what it hides. */
  readonly hides: readonly string[];
  readonly atMost: number | null;
  readonly marks: readonly string[];
}

/** The entries that match a tool, in order. */
export interface MatchingEntries {
  readonly entries: readonly CompiledEntry[];
  /** What has to be looked for, in the order in which the entries name it. */
  readonly finders: readonly Finder[];
  readonly readsText: boolean;
  readonly readsBytes: boolean;
}

const MAX_KNOWN = 10_000;

export class CompiledResults {
  readonly #entries: readonly CompiledEntry[];
  readonly #patterns: ReadonlyMap<string, Finder>;
  readonly #known = new Map<string, MatchingEntries | null>();
  /** Whether an entry marks the run, or a condition reads its marks. */
  readonly usesMarks: boolean;
  /** Whether a condition asks which values are known. */
  readonly usesKnown: boolean;
  /** Whether a condition reads what tools say about themselves. */
  readonly readsAnnotations: boolean;

  constructor(entries: readonly ResultEntry[]) {
    this.#entries = entries.map(compileEntry);
    this.#patterns = patternsOf(entries);
    const conditions = this.#entries.flatMap(each => each.conditions);
    this.usesMarks =
      entries.some(({ marks }) => marks !== undefined) ||
      conditions.some(each => readOf(each, 'marks') !== undefined);
    this.usesKnown = conditions.some(each => each.calls.has('known'));
    this.readsAnnotations = conditions.some(each => readOf(each, 'tool', 'annotations') !== undefined);
  }

  /** Null if no entry matches. Answers are remembered, because agents call the same tools again and again. */
  matching(call: ToolCall): MatchingEntries | null {
    const bare = call.relayed ? ANY_TOOL : call.toolName;
    const full = joinName(call.serverName, bare);
    // No name has this character, so it divides the two.
    const name = call.renamed === undefined ? full : `${call.renamed}\u0000${full}`;
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const found = this.#find(full, bare, call.renamed);
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(name, found);
    return found;
  }

  #find(full: string, bare: string, renamed: Renaming | undefined): MatchingEntries | null {
    const entries = this.#entries.filter(
      each => matchesTool(each, full, bare) || (renamed !== undefined && mayMatch(each, renamed, full)),
    );
    if (entries.length === 0) return null;
    const conditions = entries.flatMap(each => each.conditions);
    const reads = (field: string) => conditions.some(each => readOf(each, 'result', field) !== undefined);
    const names = new Set([
      ...entries.flatMap(each => each.hides),
      ...conditions.flatMap(foundBy).map(each => each.name),
    ]);
    const finders = Array.from(names, name => this.#finder(name)).filter(each => each !== null);
    return { entries, finders, readsText: reads('text'), readsBytes: reads('bytes') };
  }

  #finder(name: string): Finder | null {
    return isDetector(name) ? { name, findIn: DETECTORS[name] } : (this.#patterns.get(name) ?? null);
  }
}

/** Results of resources and prompts are of no tool: only a pattern for all tools of the server matches. */
const ANY_TOOL = '*';

function matchesTool({ entry, pattern }: CompiledEntry, full: string, bare: string): boolean {
  return matches(pattern, full) || (!namesServer(entry.tool) && matches(pattern, bare));
}

/** Whether it may match the name that a tool had before an agent renamed it. */
function mayMatch({ entry }: CompiledEntry, by: Renaming, full: string): boolean {
  const pattern = compilePattern(renamedPattern(by, entry.tool));
  return variantsOf(by, full).some(name => matches(pattern, name));
}

function compileEntry(entry: ResultEntry): CompiledEntry {
  return {
    entry,
    pattern: compilePattern(entry.tool),
    conditions: conditionsOf(entry).map(each => compileResultWhen(each, true)),
    hides: hiddenOf(entry).map(each => (typeof each === 'string' ? each : each.as)),
    atMost: entry.atMost === undefined ? null : parseByteSize(entry.atMost),
    marks: marksOf(entry),
  };
}

/** What the patterns of all entries find, by their names. Equal names have equal patterns. */
function patternsOf(entries: readonly ResultEntry[]): ReadonlyMap<string, Finder> {
  const found = new Map<string, Finder>();
  for (const each of entries.flatMap(hiddenOf))
    if (typeof each !== 'string')
      found.set(each.as, { name: each.as, searchIn: compileSearcher(each.pattern) });
  return found;
}

/** A detector or a pattern whose finds a condition reads, and where. */
export interface Read {
  name: string;
  offset: number;
}

/** Those whose finds a condition reads: all detectors, where it does not name them. */
export function foundBy({ reads, tested }: Pick<Condition<boolean>, 'reads' | 'tested'>): readonly Read[] {
  return [...reads, ...tested].flatMap(({ path: [variable, field, name], offset }) => {
    if (variable !== 'result' || field !== 'found') return [];
    return (name === undefined ? DETECTOR_NAMES : [name]).map(each => ({ name: each, offset }));
  });
}
