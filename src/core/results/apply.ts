// Applies the entries of a policy to a result, or to whatever else a call brings: finds are made on the whole original, then
// all entries that apply withhold, hide and cut, in this order. What cannot be told, such as a condition that fails, withholds.

import { Failure, type Scope, Steps } from '../condition/condition.ts';
import type { Finder } from '../detectors/find.ts';
import type { CompiledEntry, MatchingEntries } from '../policy/compiled-results.ts';
import { MOST_BYTES } from '../policy/result-fields.ts';
import { utf8Length } from '../text/text-length.ts';
import { type JsonObject, writeJson } from '../wire/json.ts';
import { guardText, type NamedFinds } from './hide.ts';
import { findIn } from './search.ts';
import { type Part, partsOf, rewritten } from './survey.ts';
import type { InTurns } from './turns.ts';

/** What became of a result. It has numbers and names of the policy, and nothing of the result. */
export interface Outcome {
  /** How many placeholders of each name there are now. */
  readonly hidden: Readonly<Record<string, number>>;
  readonly withheld: boolean;
  readonly cut: boolean;
}

export const WITHHELD: Outcome = { hidden: {}, withheld: true, cut: false };

/** What conditions see of a result beside its texts and finds. */
export interface Shown {
  readonly structured: JsonObject | undefined;
  readonly isError: boolean;
}

export interface Applied {
  /** The value as it may be passed on; an empty object if it is withheld. */
  readonly value: JsonObject;
  /** What is said in its place, if it is withheld. */
  readonly reason: string | null;
  readonly outcome: Outcome;
  readonly marks: readonly string[];
}

const LARGE = `has more than ${MOST_BYTES / 1024 / 1024} MiB of text, or takes too much work to look at`;
const FIXED = 'has something that the policy hides in a name or a number, where it cannot be hidden';
const UNTOLD = 'could not be evaluated';

export function* applyEntries(
  policy: string,
  matching: MatchingEntries,
  call: Scope,
  value: JsonObject,
  shown: Shown,
): InTurns<Applied> {
  const { entries, finders } = matching;
  const withheld = (reason: string, by: readonly CompiledEntry[]): Applied => ({
    value: {},
    reason,
    outcome: WITHHELD,
    marks: marksBy(by),
  });
  const parts = partsOf(value);
  const found = parts === null || isTooLarge(parts) ? null : yield* findIn(parts, finders);
  // Whether an entry applies is not known then, so all of them mark the run.
  if (parts === null || found === null)
    return withheld(`Policy "${policy}" withholds this result: it ${LARGE}.`, entries);
  const result = { ...shown, ...readOf(matching, value, parts), found: countsOf(found, finders) };
  const judged = judgedEntries(entries, { ...call, result });
  const applying = judged.map(each => each.entry);
  const stop = judged.find(({ failed, entry }) => failed || entry.entry.withhold);
  if (stop !== undefined) return withheld(stop.entry.entry.reason ?? reasonOf(policy, stop.failed), applying);
  const hidden = new Set(applying.flatMap(each => each.hides));
  const named = found.map(finds => finds.filter(({ name }) => hidden.has(name)));
  if (parts.some(({ kind }, at) => kind === 'fixed' && named[at]!.length > 0))
    return withheld(`Policy "${policy}" withholds this result: it ${FIXED}.`, applying);
  const { passed, outcome } = passOn(value, named, shortest(applying));
  return { value: passed, reason: null, outcome, marks: marksBy(applying) };
}

const reasonOf = (policy: string, failed: boolean): string =>
  failed
    ? `Policy "${policy}" withholds this result, because a condition on it ${UNTOLD}.`
    : `Policy "${policy}" withholds this result.`;

function marksBy(entries: readonly CompiledEntry[]): readonly string[] {
  return [...new Set(entries.flatMap(each => each.marks))];
}

function isTooLarge(parts: readonly Part[]): boolean {
  let units = 0;
  for (const { text } of parts) units += text.length;
  // A unit of UTF-16 is at most three bytes, so that most results need not be measured.
  if (3 * units <= MOST_BYTES) return false;
  let bytes = 0;
  for (const { text } of parts) bytes += utf8Length(text);
  return bytes > MOST_BYTES;
}

function countsOf(found: readonly NamedFinds[][], finders: readonly Finder[]): Record<string, number> {
  const counts = new Map(finders.map(({ name }) => [name, 0]));
  for (const { name, finds } of found.flat()) counts.set(name, (counts.get(name) ?? 0) + finds.length);
  return Object.fromEntries(counts);
}

function readOf({ readsText, readsBytes }: MatchingEntries, value: JsonObject, parts: readonly Part[]) {
  const spoken = readsText ? parts.filter(each => each.spoken).map(each => each.text) : [];
  return { text: spoken.join('\n'), bytes: readsBytes ? utf8Length(writeJson(value)) : 0 };
}

interface Judged {
  readonly entry: CompiledEntry;
  /** Whether a condition of it could not be evaluated. */
  readonly failed: boolean;
}

/** The entries that apply, and those of which that could not be told. */
function judgedEntries(entries: readonly CompiledEntry[], scope: Scope): Judged[] {
  const steps = new Steps();
  return entries.flatMap(entry => {
    const results = entry.conditions.map(each => each.evaluate(scope, steps));
    if (results.includes(false)) return [];
    return [{ entry, failed: results.some(each => each instanceof Failure) }];
  });
}

function shortest(entries: readonly CompiledEntry[]): number | null {
  const sizes = entries.map(each => each.atMost).filter(each => each !== null);
  return sizes.length === 0 ? null : Math.min(...sizes);
}

function passOn(value: JsonObject, named: readonly NamedFinds[][], atMost: number | null) {
  const hidden = new Map<string, number>();
  let cut = false;
  let at = 0;
  const passed = rewritten(value, ({ text, kind }) => {
    const finds = named[at++]!;
    if (kind === 'fixed' || (finds.length === 0 && atMost === null)) return text;
    const guarded = guardText(text, finds, atMost);
    for (const name of guarded.hidden) hidden.set(name, (hidden.get(name) ?? 0) + 1);
    cut ||= guarded.cut;
    return guarded.text;
  });
  return { passed, outcome: { hidden: Object.fromEntries(hidden), withheld: false, cut } };
}
