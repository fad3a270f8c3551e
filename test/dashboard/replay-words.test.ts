// The sentence about a replay.

import { expect, test } from 'bun:test';
import { replayWords, savedCalls, savedWords } from '../../dashboard/src/pages/policies/replay-words.ts';
import type { Replay } from '../../src/core/api/resources.ts';

type Change = Replay['changes'][number];

const change = (from: Change['from'], to: Change['to'], calls: number): Change => ({
  serverName: 's',
  toolName: 't',
  keyId: 'k',
  from,
  to,
  calls,
  examples: [],
});

function words(calls: number, depends: number, changes: Change[], earlier = 0): string {
  const changed = changes.reduce((sum, each) => sum + each.calls, 0);
  return replayWords('7 days', { from: '', to: '', calls, changed, depends, earlier, changes });
}

test('says how many calls change, the most first, and how many depend on arguments', () => {
  const changes = [change('allow', 'pending', 7), change('deny', 'allow', 30), change('deny', 'allow', 1)];
  expect(words(12_400, 12, changes)).toBe(
    'Last 7 days: 38 of 12,400 calls change: 31 deny → allow, 7 allow → pending. 12 depend on what is not recorded, such as arguments.',
  );
});

test('speaks of one call as of one', () => {
  expect(words(1, 0, [change('allow', 'deny', 1)])).toBe('Last 7 days: 1 of 1 call changes: 1 allow → deny.');
  expect(words(2, 1, [])).toBe(
    'Last 7 days: none of 2 calls changes. 1 depends on what is not recorded, such as arguments.',
  );
  expect(words(3, 2, [], 1)).toEndWith(
    ' such as arguments. Of those, 1 was recorded by an earlier version of Toolgate.',
  );
});

test('says that nothing is recorded', () => {
  expect(words(0, 0, [])).toBe('Last 7 days: no call that this policy decided is recorded yet.');
});

test('says what the saved version changes already, as far as calls of older versions are recorded', () => {
  const changes = [change('deny', 'allow', 3)];
  const saved = { from: '', to: '', calls: 9, changed: 3, depends: 0, earlier: 0, changes };
  expect(savedWords(4, saved)).toBe(
    'The saved version 4 alone changes 3 of 9, because older versions decided them.',
  );
  expect(savedWords(4, { ...saved, changed: 0, changes: [] })).toBeNull();
  expect(savedCalls(saved, change('deny', 'allow', 5))).toBe(3);
  expect(savedCalls(saved, change('deny', 'pending', 5))).toBe(0);
  expect(savedCalls(saved, { ...change('deny', 'allow', 5), keyId: 'other' })).toBe(0);
});
