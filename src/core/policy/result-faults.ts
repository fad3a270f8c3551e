// What is wrong with the entries of a policy's `results`: with their fields, with what their conditions ask about, and with
// patterns of one name.

import { ConditionFault } from '../condition/condition.ts';
import { compileSearcher } from '../condition/pattern-find.ts';
import { DETECTOR_NAMES } from '../detectors/detectors.ts';
import { didYouMean } from '../text/did-you-mean.ts';
import { compileResultWhen, foundBy } from './compiled-results.ts';
import { conditionFaults, type Fault, fault, type Patterns } from './condition-faults.ts';
import { conditionsOf } from './policy.ts';
import { ENTRY, type HiddenPattern, hiddenOf, type ResultEntry } from './result-fields.ts';

/** Every text of a result is compared with each of them. */
const MAX_PATTERNS = 50;

/** Nothing is known of the entries yet. */
export function resultFaults(results: readonly unknown[], patterns: Patterns): Fault[] {
  const found = results.flatMap((each, index) => inEntry(index, ENTRY.faults(each)));
  if (found.length > 0) return found.slice(0, MOST_FAULTS);
  const entries = results as readonly ResultEntry[];
  return [
    ...patternFaults(entries, patterns),
    ...entries.flatMap((each, index) => whenFaults(each, index, namesIn(entries), patterns)),
  ];
}
const MOST_FAULTS = 100;

function inEntry(index: number, faults: readonly { path: Fault['path']; message: string }[]): Fault[] {
  return faults.map(({ path, message }) => fault(['results', index, ...path], message));
}

/** Equal patterns are compiled once; a name stands for one pattern only. */
function patternFaults(entries: readonly ResultEntry[], patterns: Patterns): Fault[] {
  const byName = new Map<string, string>();
  const found: Fault[] = [];
  entries.forEach((entry, index) => {
    const isList = Array.isArray(entry.hide);
    hiddenOf(entry).forEach((hidden, at) => {
      if (typeof hidden === 'string') return;
      const path = ['results', index, 'hide', ...(isList ? [at] : [])];
      const known = byName.get(hidden.as);
      if (known !== undefined && known !== hidden.pattern) found.push(fault([...path, 'as'], TAKEN));
      if (known !== undefined) return;
      byName.set(hidden.as, hidden.pattern);
      const wrong = patternFault(hidden, patterns);
      if (wrong !== null) found.push(fault([...path, 'pattern'], wrong));
      if (byName.size === MAX_PATTERNS + 1) found.push(fault(path, TOO_MANY));
    });
  });
  return found;
}
const TAKEN = 'is the name of another pattern of this policy';
const TOO_MANY = `brings the patterns in "results" to more than ${MAX_PATTERNS}`;

function patternFault({ pattern }: HiddenPattern, patterns: Patterns): string | null {
  if (patterns.isFull) return null;
  try {
    const { size } = compileSearcher(pattern);
    patterns.add([{ text: pattern, size }]);
  } catch (error) {
    if (!(error instanceof ConditionFault)) throw error;
    patterns.addInVain(error.compiled);
    return `cannot be used: ${error.message}`;
  }
  return patterns.isFull ? 'brings the patterns of the policy to more instructions than it may have' : null;
}

function namesIn(entries: readonly ResultEntry[]): ReadonlySet<string> {
  const patterns = entries.flatMap(hiddenOf).filter(each => typeof each !== 'string');
  return new Set([...DETECTOR_NAMES, ...patterns.map(({ as }) => as)]);
}

function whenFaults(
  entry: ResultEntry,
  index: number,
  names: ReadonlySet<string>,
  patterns: Patterns,
): Fault[] {
  if (entry.when !== undefined && conditionsOf(entry).length === 0)
    return [fault(['results', index, 'when'], 'must not be an empty list')];
  return conditionsOf(entry).flatMap((source, at) => {
    const path = ['results', index, 'when', ...(typeof entry.when === 'string' ? [] : [at])];
    const wrong = conditionFaults(path, source, compileResultWhen, patterns);
    return wrong.length > 0 ? wrong : meaningFaults(path, source, names);
  });
}

function meaningFaults(path: Fault['path'], source: string, names: ReadonlySet<string>): Fault[] {
  const condition = compileResultWhen(source, true);
  const stray = foundBy(condition).find(({ name }) => !names.has(name));
  if (stray === undefined) return [];
  const message = `there is no detector "${stray.name}", and no pattern of this name in the policy.${didYouMean(stray.name, names)}`;
  return [{ path, message, offset: stray.offset }];
}
