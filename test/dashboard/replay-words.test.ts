// The sentence about a replay.

import { expect, test } from 'bun:test';
import { type ReplayAnswer, replayWords } from '../../dashboard/src/pages/policies/replay-words.ts';

type Change = ReplayAnswer['changes'][number];

const change = (from: Change['from'], to: Change['to'], calls: number): Change => ({
  serverName: 's',
  toolName: 't',
  keyId: 'k',
  from,
  to,
  calls,
  examples: [],
});

function words(calls: number, depends: number, changes: Change[]): string {
  const changed = changes.reduce((sum, each) => sum + each.calls, 0);
  return replayWords('7 days', { from: '', to: '', calls, changed, depends, changes });
}

test('says how many calls change, the most first, and how many depend on arguments', () => {
  const changes = [change('allow', 'pending', 7), change('deny', 'allow', 30), change('deny', 'allow', 1)];
  expect(words(12_400, 12, changes)).toBe(
    'Last 7 days: 38 of 12,400 calls change: 31 deny → allow, 7 allow → pending. 12 depend on arguments, which are not recorded.',
  );
});

test('speaks of one call as of one', () => {
  expect(words(1, 0, [change('allow', 'deny', 1)])).toBe('Last 7 days: 1 of 1 call changes: 1 allow → deny.');
  expect(words(2, 1, [])).toBe(
    'Last 7 days: none of 2 calls changes. 1 depends on arguments, which are not recorded.',
  );
});

test('says that nothing is recorded', () => {
  expect(words(0, 0, [])).toBe('Last 7 days: no call that this policy decided is recorded yet.');
});
