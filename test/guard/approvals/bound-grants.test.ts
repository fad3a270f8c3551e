// Grants that are bound to a session or to values: what is kept of a call for them tells nothing about it, and what they
// free is what they were bound to, to the last detail.

import { expect, test } from 'bun:test';
import type { Json } from '../../../src/core/wire/json.ts';
import {
  type Binds,
  boundRuleDigest,
  boundsOf,
  grantRuleDigest,
  isWithinBounds,
  valueDigests,
} from '../../../src/guard/approvals/bound-grants.ts';
import { Vault } from '../../../src/guard/secrets.ts';
import type { GrantRecord } from '../../../src/store/grants.ts';
import { approvalRecord, NOW } from '../../store/stores.ts';

const vault = new Vault(new Uint8Array(32).fill(7));
const CALL: Json = { customer: { id: 'c-17', tags: ['a', 'b'] }, amount: 12.5, 'odd name': null, note: '' };

function opened(binds: Binds, args: Json = CALL, sessionId: string | null = 'session'): GrantRecord {
  const approval = approvalRecord({ sessionId, ruleDigest: 'rule' });
  approval.valueDigests = valueDigests(vault, approval.id, args);
  const bounds = boundsOf(vault, approval, binds);
  const ruleDigest = boundRuleDigest(bounds, approval.ruleDigest);
  const { keyId, serverName, toolName, definitionDigest } = approval;
  const about = { id: 'grant', referenceId: approval.id, keyId, serverName, toolName, definitionDigest };
  return { ...about, ruleDigest, createdAt: NOW, expiresAt: NOW + 1, ...bounds, openedBy: 'link', used: 0 };
}
const frees = (grant: GrantRecord, args: Json | undefined, sessionId: string | null = 'other') =>
  isWithinBounds(vault, grant, sessionId, args);

test('without bounds it is as ever', () => {
  const grant = opened({});
  expect(grant).toMatchObject({ ruleDigest: 'rule', sessionId: null, samePaths: null, sameDigest: null });
  expect(frees(grant, { anything: 1 }, null)).toBe(true);
});

test('a session', () => {
  const grant = opened({ only: 'session' });
  expect(frees(grant, {}, 'session')).toBe(true);
  for (const other of ['other', null]) expect(frees(grant, CALL, other)).toBe(false);
  expect(() => opened({ only: 'session' }, CALL, null)).toThrow(
    '/only: this call was made with the key itself',
  );
});

const SAME: [string[], Json, boolean][] = [
  [['amount'], { amount: 12.5 }, true],
  [['amount'], { amount: 12.50001 }, false],
  [['amount'], { amount: '12.5' }, false],
  [['amount'], { Amount: 12.5 }, false],
  [['amount'], {}, false],
  [['customer.id'], { customer: { id: 'c-17' }, amount: 99 }, true],
  [['customer.id'], { customer: { id: 'c-18' } }, false],
  [['customer.id'], { 'customer.id': 'c-17' }, false],
  [['customer'], { customer: { tags: ['a', 'b'], id: 'c-17' } }, true],
  [['customer'], { customer: { tags: ['b', 'a'], id: 'c-17' } }, false],
  [['customer'], { customer: { tags: ['a', 'b'], id: 'c-17', more: 1 } }, false],
  [['customer.tags[1]'], { customer: { tags: [0, 'b'] } }, true],
  [['customer.tags[1]'], { customer: { tags: { 1: 'b' } } }, false],
  [['["odd name"]', 'note'], { 'odd name': null, note: '' }, true],
  [['["odd name"]', 'note'], { note: null, 'odd name': '' }, false],
  [['["odd name"]', 'note'], { note: '' }, false],
  [['amount', 'customer.id'], { amount: 12.5, customer: { id: 'c-17' } }, true],
  [['amount', 'customer.id'], { amount: 12.5, customer: { id: 'c-1' } }, false],
  [['customer'], { customer: Array(5000).fill(1) }, false],
];
test.each(SAME)('the same at %j: %j is %p', (same, args, expected) => {
  expect(frees(opened({ same }), args)).toBe(expected);
  const both = opened({ same, only: 'session' });
  expect([frees(both, args, 'session'), frees(both, args)]).toEqual([expected, false]);
});

test('a path at which the call has nothing to compare is refused with its place', () => {
  for (const [path, index] of [
    [['nothing'], 0],
    [['amount', 'customer.ids'], 1],
    [['customer.tags[2]'], 0],
    [['customer["0"]'], 0],
  ] as const)
    expect(() => opened({ same: path })).toThrow(
      `/same/${index}: this call has no value there that can be compared`,
    );
  expect(() => opened({ same: ['big'] }, { big: Array(5000).fill(1) })).toThrow('/same/0');
  // An approval from before digests were kept, or one that several people have to give.
  const before = approvalRecord({ valueDigests: null });
  expect(() => boundsOf(vault, before, { same: ['amount'] })).toThrow('/same/0');
});

test('what is kept shows neither names nor values, nor that two calls had the same', () => {
  const keep = (id: string, args: Json, master = vault) => valueDigests(master, id, args);
  const kept = keep('one', CALL);
  for (const part of ['customer', 'c-17', 'amount', '12.5', 'odd', 'tags']) expect(kept).not.toContain(part);
  const parts = (text: string) => text.match(/.{33}/g) ?? [];
  expect(parts(kept)).toHaveLength(8);
  const others = [
    keep('two', CALL),
    keep('one', CALL, new Vault(new Uint8Array(32).fill(8))),
    keep('one', { x: 'c-17', y: 12.5 }),
  ].flatMap(parts);
  const halves = (pairs: string[]) => pairs.flatMap(pair => [pair.slice(0, 11), pair.slice(11)]);
  const seen = new Set(halves(parts(kept)));
  expect(halves(others).filter(each => seen.has(each))).toEqual([]);
  expect(keep('one', CALL)).toBe(kept);
  expect(keep('one', Object.fromEntries(Array.from({ length: 999 }, (_, n) => [n, n])))).toHaveLength(3300);
  expect(keep('one', {})).toBe('');
});

test('an older replica does not know the rule of a bound grant, and this one does', () => {
  for (const binds of [{ only: 'session' as const }, { same: ['amount'] }]) {
    const grant = opened(binds);
    expect(grant.ruleDigest).toBe('bound rule');
    expect(grantRuleDigest(grant)).toBe('rule');
  }
  const bounds = { sessionId: 'session', samePaths: null, sameDigest: null };
  const ruleDigest = boundRuleDigest(bounds, null);
  expect(ruleDigest).toBe('bound ');
  expect(grantRuleDigest({ ...opened({}), ruleDigest })).toBeNull();
  expect(grantRuleDigest(opened({}))).toBe('rule');
});
