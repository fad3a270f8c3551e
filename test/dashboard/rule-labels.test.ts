// The numbers of rules beside the lines of the editor.

import { expect, test } from 'bun:test';
import { ruleLabels } from '../../dashboard/src/pages/policies/rule-labels.ts';

test('rules are numbered on the lines on which they begin, also several on one line', () => {
  expect([...ruleLabels([2, 3, 6])]).toEqual([
    [2, 'rule 0'],
    [3, 'rule 1'],
    [6, 'rule 2'],
  ]);
  expect([...ruleLabels([1, 1, 1, 4])]).toEqual([
    [1, 'rules 0–2'],
    [4, 'rule 3'],
  ]);
});
