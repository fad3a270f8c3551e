// The cards of the inbox keep their places, whatever begins or ceases to wait meanwhile.

import { expect, test } from 'bun:test';
import {
  alikeOf,
  type Card,
  cardsOf,
  type Ending,
  endingWords,
  kept,
  matches,
  newcomers,
  updated,
} from '../../dashboard/src/pages/approvals/waiting/inbox.ts';
import type { Approval } from '../../dashboard/src/resources.ts';

const NOW = Date.parse('2026-11-16T09:00:00Z');

function call(referenceId: string, more: Partial<Approval> = {}): Approval {
  return {
    referenceId,
    toolCallId: `call of ${referenceId}`,
    policyId: 'policy',
    keyId: 'key',
    sessionId: null,
    surface: 'check',
    serverName: 'prod',
    toolName: 'deploy',
    status: 'pending',
    reason: '',
    createdAt: '2026-11-16T08:59:00Z',
    expiresAt: '2026-11-16T09:59:00Z',
    resolvedAt: null,
    resolvedBy: null,
    grantExpiresAt: null,
    note: null,
    approverGroup: null,
    votes: { needed: 1, approved: [] },
    ...more,
  };
}

const places = (cards: Card[]): string => cards.map(card => card.approval.referenceId).join('');

test('calls that begin to wait are counted and not inserted; those that cease to wait stay', () => {
  const cards = cardsOf([call('c'), call('b'), call('a')]);
  const waiting = [call('e'), call('d'), call('c'), call('a')];
  const after = kept(cards, waiting, NOW);
  expect(places(after)).toBe('cba');
  expect(after.map(card => card.ending?.status ?? 'waits')).toEqual(['waits', 'elsewhere', 'waits']);
  expect(newcomers(after, waiting).map(each => each.referenceId)).toEqual(['e', 'd']);
});

test('an ended card stays ended, even if an older answer still lists the call', () => {
  const denied = call('b', { status: 'denied', resolvedBy: 'operator:ann@example.com' });
  const cards = updated(cardsOf([call('b'), call('a')]), denied);
  expect(kept(cards, [call('b'), call('a')], NOW)[0]?.ending?.status).toBe('denied');
  expect(updated(cards, call('b'))[0]?.ending?.status).toBe('denied');
});

test('a call whose time is over has lapsed; how another ended may be learned later', () => {
  const cards = cardsOf([call('b', { expiresAt: '2026-11-16T08:59:59Z' }), call('a')]);
  const after = kept(cards, [], NOW);
  expect(after.map(card => card.ending?.status)).toEqual(['timed_out', 'elsewhere']);
  const learned = updated(after, call('a', { status: 'approved', resolvedBy: 'link' }));
  expect(learned[1]?.ending).toMatchObject({ status: 'approved', by: 'link' });
});

test('further votes change a card that waits', () => {
  const votes = { needed: 2, approved: [{ by: 'operator:ann@example.com', at: '2026-11-16T08:59:30Z' }] };
  const [card] = kept(cardsOf([call('a')]), [call('a', { approverGroup: 'finance', votes })], NOW);
  expect(card?.approval.votes).toEqual(votes);
});

test('who answered is said in words', () => {
  const words = (status: Ending['status'], by: string | null) =>
    endingWords({ status, by, grantExpiresAt: null }, 'ann@example.com');
  expect([
    words('approved', 'operator:ann@example.com'),
    words('denied', 'operator:bob@example.com'),
    words('denied', 'link'),
    words('approved', 'admin'),
    words('timed_out', null),
    words('withdrawn', null),
    words('elsewhere', null),
  ]).toEqual([
    'Approved by you',
    'Denied by bob@example.com',
    'Denied by somebody with the link',
    'Approved by the admin token',
    'Lapsed: nobody answered in time',
    'No longer asked: the agent withdrew the call',
    'Answered elsewhere',
  ]);
});

test('filters are for the tool’s full name, the key and the group', () => {
  const one = call('a', { approverGroup: 'finance' });
  const all = { tool: '', keyId: '', group: '' };
  expect(matches(all, one)).toBe(true);
  expect(matches({ ...all, tool: 'OD__dep' }, one)).toBe(true);
  expect(matches({ ...all, tool: 'refund' }, one)).toBe(false);
  expect(matches({ ...all, keyId: 'other' }, one)).toBe(false);
  expect(matches({ ...all, group: 'finance' }, one)).toBe(true);
  expect(matches({ ...all, group: 'finance' }, call('b'))).toBe(false);
});

test('calls of one key to one tool are alike, wherever they stand', () => {
  const calls = [call('d'), call('c', { keyId: 'other' }), call('b'), call('a', { toolName: 'x' })];
  expect(alikeOf(cardsOf(calls)).map(({ cards }) => places(cards))).toEqual(['db', 'c', 'a']);
});
