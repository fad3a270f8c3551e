// What one process holds: bounded in bytes, the oldest go first, and overwritten when it is let go.

import { afterAll, afterEach, beforeAll, expect, spyOn, test } from 'bun:test';
import type { Details } from '../../../src/core/approvals/details.ts';
import { HeldDetails } from '../../../src/guard/approvals/details.ts';
import { newId } from '../../../src/guard/ids.ts';
import { Vault } from '../../../src/guard/secrets.ts';
import { type ApprovalRecord, insertApproval, resolveApproval } from '../../../src/store/approvals.ts';
import { approvalRecord, NOW, openStore, type TestStore } from '../../store/stores.ts';

const ENTRY = 400;
const encode = spyOn(TextEncoder.prototype, 'encode');
let store: TestStore;
let now = NOW;
beforeAll(async () => {
  store = await openStore('sqlite');
});
afterAll(async () => {
  encode.mockRestore();
  await store.close();
});
afterEach(() => {
  now = NOW;
  encode.mockClear();
});

const shown = (value: string): Details => ({
  question: null,
  fields: [{ path: 'a', value }],
  complete: true,
});
const sizeOf = (value: string): number =>
  JSON.stringify([null, [], { complete: true }, 'a', value]).length + ENTRY;
const holder = (limit: number) =>
  new HeldDetails({ db: store.db, vault: new Vault(new Uint8Array(32)), now: () => now }, limit);

/** An approval in the store, and the details that are held for it. */
async function held(
  details: HeldDetails,
  value: string,
  more: Partial<ApprovalRecord> = {},
): Promise<ApprovalRecord> {
  const approval = approvalRecord(more);
  await store.db.transaction({}, async tx => insertApproval(tx, approval, newId()));
  details.hold(approval.id, shown(value), approval.expiresAt);
  return approval;
}

/** Every buffer that details were put into, as it is now. */
const buffers = (): Uint8Array[] => encode.mock.results.map(each => each.value as Uint8Array);
const isZero = (bytes: Uint8Array) => bytes.every(byte => byte === 0);

test('the oldest go first when there is no room', async () => {
  const size = sizeOf('x'.repeat(100));
  const details = holder(3 * size);
  const approvals: ApprovalRecord[] = [];
  for (let number = 0; number < 5; number++) approvals.push(await held(details, String(number).repeat(100)));
  const found = await Promise.all(approvals.map(each => details.find(each)));
  expect(found.map(each => each?.fields[0]?.value[0] ?? null)).toEqual([null, null, '2', '3', '4']);
  expect(details.figures).toMatchObject({ held: 3, bytes: 3 * size, evicted: 2 });
  expect(buffers().map(isZero)).toEqual([true, true, false, false, false]);
});

test('one that is larger than all room is not held and lets no other go', async () => {
  const details = holder(2000);
  const small = await held(details, 'small');
  const large = await held(details, 'x'.repeat(2000));
  expect(await details.find(small)).toEqual(shown('small'));
  expect(await details.find(large)).toBeNull();
  // Of the large one, its beginning has a buffer of its own.
  expect(buffers().map(isZero)).toEqual([false, true, true]);
});

test('with a bound of 0 nothing is held', async () => {
  const details = holder(0);
  const approval = await held(details, 'a');
  expect(await details.find(approval)).toBeNull();
  expect(details.figures).toMatchObject({ held: 0, bytes: 0 });
});

test('a call that is judged again is held once, with the newer details, and counts as new', async () => {
  const size = sizeOf('a');
  const details = holder(2 * size);
  const first = await held(details, 'a');
  const second = await held(details, 'b');
  details.hold(first.id, shown('c'), first.expiresAt);
  await held(details, 'd');
  expect(await details.find(first)).toEqual(shown('c'));
  expect(await details.find(second)).toBeNull();
  expect(details.figures.bytes).toBe(2 * size);
});

test('they are overwritten when the approval ends, and when the service stops', async () => {
  const details = holder(10_000);
  const ended = await held(details, 'ended');
  const stopped = await held(details, 'stopped');
  const bytes = buffers();
  details.drop(ended.id);
  expect(bytes.map(isZero)).toEqual([true, false]);
  expect(await details.find(ended)).toBeNull();
  expect(await details.find(stopped)).toEqual(shown('stopped'));
  details.close();
  expect(bytes.map(isZero)).toEqual([true, true]);
  expect(details.figures).toMatchObject({ held: 0, bytes: 0 });
});

test('nothing is shown of an approval that was answered or is past its time, whatever is held', async () => {
  const details = holder(10_000);
  const approval = await held(details, 'a');
  for (const status of ['approved', 'denied', 'timed_out'] as const)
    expect(await details.find({ ...approval, status })).toBeNull();
  expect(await details.find(approval)).toEqual(shown('a'));
  now = approval.expiresAt;
  expect(await details.find(approval)).toBeNull();
});

test('what is past its time is let go, and what ended without a hint is found in the store', async () => {
  const details = holder(10_000);
  await held(details, 'late', { expiresAt: NOW + 1000 });
  const answered = await held(details, 'answered', { expiresAt: NOW + 600_000 });
  const open = await held(details, 'open', { expiresAt: NOW + 600_000 });
  now = NOW + 1000;
  await details.tend();
  expect(buffers().map(isZero)).toEqual([true, false, false]);
  const resolved = { status: 'denied', at: now, by: 'admin', grantExpiresAt: null } as const;
  await store.db.transaction({}, tx => resolveApproval(tx, answered.id, resolved));
  now = NOW + 61_000;
  await details.tend();
  expect(buffers().map(isZero)).toEqual([true, true, false]);
  expect(await details.find(open)).toEqual(shown('open'));
});

test('without other replicas, what is not here is gone at once', async () => {
  const sent = spyOn(store.db, 'sendHint');
  const details = holder(10_000);
  expect(await details.find(approvalRecord())).toBeNull();
  expect(sent).not.toHaveBeenCalled();
  expect(details.figures.found).toEqual({ here: 0, elsewhere: 0, nowhere: 1 });
  sent.mockRestore();
});

test('what is held says of each value whether it is known, whole and in lists', async () => {
  const details = holder(1_000_000);
  const fields = [
    { path: 'a', value: 'x', known: true },
    { path: 'b', value: 'y' },
    { path: 'c', value: 'z'.repeat(600), known: false },
    ...Array.from({ length: 30 }, (_, at) => ({
      path: `d${at}`,
      value: 'w'.repeat(400),
      known: at % 2 === 0,
    })),
  ];
  const approval = approvalRecord({ expiresAt: NOW + 600_000 });
  await store.db.transaction({}, async tx => insertApproval(tx, approval, newId()));
  const whole: Details = { question: null, fields, complete: true };
  details.hold(approval.id, whole, approval.expiresAt);
  expect(await details.find(approval)).toEqual(whole);
  const found = details.beginning(approval);
  if (found === null || found === 'elsewhere') throw new Error('not held');
  expect(found.details.fields.length).toBeGreaterThan(10);
  for (const [at, { path, known }] of found.details.fields.entries())
    expect([path, known]).toEqual([fields[at]?.path as string, fields[at]?.known]);
});
