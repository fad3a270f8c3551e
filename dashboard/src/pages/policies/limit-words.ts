// A limit in words, for people: `at most 500 of args.amount each day (Europe/Berlin) per key`.

import { type Limit, windowText } from '../../../../src/core/policy/limit.ts';

export function limitWords(limit: Limit): string {
  const { calls, sum, atMost, zone, per = 'key', beyond } = limit;
  const amount = sum === undefined ? `${calls} ${calls === 1 ? 'call' : 'calls'}` : `${atMost} of ${sum}`;
  const where = zone === undefined ? '' : ` (${zone})`;
  const then = beyond === 'require_approval' ? '; beyond that, approval is required' : '';
  return `at most ${amount} ${windowText(limit)}${where} per ${per}${then}`;
}
