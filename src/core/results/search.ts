// Looks for everything that a policy names in all texts of a result, a stretch of a text at a time.

import { type Find, type Finder, type FindIn, joined, type Spent } from '../detectors/find.ts';
import type { NamedFinds } from './hide.ts';
import type { Part } from './survey.ts';
import type { InTurns } from './turns.ts';

/** How many characters are looked at before others have a turn; it takes some milliseconds, for hostile texts some dozens. */
const TURN = 128 * 1024;
/** What a text costs beside its characters, in characters. */
const EACH = 64;

/** What is found in each part; null if that is too much work. */
export function* findIn(parts: readonly Part[], finders: readonly Finder[]): InTurns<NamedFinds[][] | null> {
  const found: NamedFinds[][] = [];
  // What a pattern may take is for the whole, or else many short texts would take many times as much.
  const spent = finders.map(() => ({ work: 0 }));
  let done = 0;
  for (const { text } of parts) {
    let here = NOTHING;
    for (const [at, finder] of finders.entries()) {
      const isLong = text.length > TURN && 'findIn' in finder;
      const finds = isLong ? yield* findInTurns(finder.findIn, text) : findAtOnce(finder, text, spent[at]!);
      if (finds === null) return null;
      if (finds.length > 0) {
        if (here === NOTHING) here = [];
        here.push({ name: finder.name, finds });
      }
      done += text.length + EACH;
      if (done < TURN) continue;
      done = 0;
      yield;
    }
    found.push(here);
  }
  return found;
}
const NOTHING: NamedFinds[] = [];

function findAtOnce(finder: Finder, text: string, spent: Spent): Find[] | null {
  return 'findIn' in finder ? finder.findIn(text) : finder.searchIn(text, spent);
}

/**
 * What is found in a long text, a stretch in a turn. A find may go on behind the stretch in which it begins, and the next one
 * begins behind it.
 */
export function* findInTurns(findIn: FindIn, text: string, size = TURN): InTurns<Find[]> {
  const finds: Find[] = [];
  for (let from = 0; from < text.length; ) {
    const until = Math.min(from + size, text.length);
    for (const each of findIn(text, { from, until })) finds.push(each);
    from = Math.max(until, finds.at(-1)?.to ?? 0);
    yield;
  }
  return joined(finds);
}
