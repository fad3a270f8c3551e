// Which approvals cannot be answered together with others, because the list has not shown all of them.

import { expect, test } from 'bun:test';
import { mustBeRead } from '../../dashboard/src/pages/approvals/sight.ts';
import type { Approval } from '../../dashboard/src/resources.ts';

const details = { question: null, fields: [], digest: 'd', complete: true };
const of = (more: object) => mustBeRead({ proof: null, ...more } as Approval);

test.each([
  ['shows nothing', {}, false],
  ['is shown whole', { details }, false],
  ['is shown in part', { details: { ...details, complete: false } }, true],
  ['is held by another replica', { detailsElsewhere: true }, true],
  ['is gone', { detailsGone: true }, true],
  ['came by an event, which brings no details', { proof: undefined }, true],
])('one that %s: %p', (_, more, wanted) => expect(of(more)).toBe(wanted));
