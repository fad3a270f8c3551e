// Details that another replica holds, with somebody on the channel who listens, repeats, changes and forges messages.

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import type { Details } from '../../../src/core/approvals/details.ts';
import type { HeldDetails } from '../../../src/guard/approvals/details.ts';
import { DETAILS as KIND } from '../../../src/guard/exchange/kinds.ts';
import { answerTo, endedMessage, newQuestion, readQuestion } from '../../../src/guard/exchange/messages.ts';
import { newId } from '../../../src/guard/ids.ts';
import { type ApprovalRecord, insertApproval, resolveApproval } from '../../../src/store/approvals.ts';
import { approvalRecord, NOW, openStore, type TestStore } from '../../store/stores.ts';
import { until } from '../../support/faults.ts';
import { Channel, FOREIGN } from './channel.ts';

const SECRET = 'the customer is Ada';
const DETAILS: Details = { question: null, fields: [{ path: 'a', value: SECRET }], complete: true };
/** As many bytes as details can become in JSON: each of these characters is escaped. */
const LARGE: Details = {
  question: null,
  folder: '/home/ann',
  fields: Array.from({ length: 16 }, () => ({ path: 'p', value: '\u0001'.repeat(16_383) })),
  complete: true,
};

let store: TestStore;
let channel: Channel;
let holder: HeldDetails;
let asker: HeldDetails;
let approval: ApprovalRecord;
beforeAll(async () => {
  store = await openStore('sqlite');
});
afterAll(() => store.close());
beforeEach(async () => {
  channel = new Channel(store.db);
  holder = channel.replica();
  asker = channel.replica();
  approval = await held(DETAILS);
});

async function held(details: Details, more: Partial<ApprovalRecord> = {}): Promise<ApprovalRecord> {
  const record = approvalRecord({ expiresAt: NOW + 3_600_000, ...more });
  await store.db.transaction({}, async tx => insertApproval(tx, record, newId()));
  holder.hold(record.id, details, record.expiresAt);
  return record;
}

const answers = (): string[] => channel.of('answer');

test('what passes over the channel says nothing, fits into a notification, and has one of few lengths', async () => {
  expect(await asker.find(approval)).toEqual(DETAILS);
  const inserted = [{ from: 0, to: SECRET.length }];
  const asking = { question: `${SECRET}?`, inserted, fields: DETAILS.fields, omitted: 2, complete: false };
  expect(await asker.find(await held(asking))).toEqual(asking);
  const [first, second] = answers();
  expect(first?.length).toBe(second?.length as number);
  const large = await held(LARGE);
  expect(await asker.find(large)).toEqual(LARGE);
  expect(answers().length).toBeGreaterThan(8);
  for (const each of channel.messages) expect(each.length).toBeLessThan(8000);
  const all = channel.messages.join('\n');
  for (const text of [SECRET, Buffer.from(SECRET).toString('base64url').slice(0, -2)])
    expect(all).not.toContain(text);
  // On a busy machine a question is asked again, and each is answered once.
  expect(holder.figures.answered).toBeGreaterThanOrEqual(3);
  expect(holder.figures.answered).toBeLessThanOrEqual(channel.of('question').length);
});

test('parts may come in any order and more than once', async () => {
  const late: string[] = [];
  channel.transport = word => {
    if (!word.startsWith('details-answer ')) return [word];
    late.unshift(word);
    return isLast(word) ? [...late, ...late] : [];
  };
  // They fill some ten parts, which arrive in time on a busy machine too.
  const several: Details = { ...DETAILS, fields: [{ path: 'p', value: '\u0001'.repeat(8000) }] };
  expect(await asker.find(await held(several))).toEqual(several);
  expect(late.length).toBeGreaterThan(4);
  expect(channel.of('question')).toHaveLength(1);
});

function isLast(word: string): boolean {
  const [, , , index, count] = word.split(' ');
  return Number(index) + 1 === Number(count);
}

test('details of a replica of an older version are complete only if it cut nothing', async () => {
  const written = async (before: unknown[]) => {
    const record = approvalRecord({ expiresAt: NOW + 3_600_000 });
    await store.db.transaction({}, async tx => insertApproval(tx, record, newId()));
    channel.transport = word => {
      if (!word.startsWith('details-question ')) return [word];
      const question = readQuestion(channel.vault, KIND, word.slice('details-question '.length), NOW);
      if (question === null) throw new Error('a replica asked wrongly');
      const bytes = Buffer.from(JSON.stringify(before));
      return Array.from(answerTo(channel.vault, KIND, question, bytes), each => `details-answer ${each}`);
    };
    return (await asker.find(record))?.complete;
  };
  expect(await written([null, [], 0, 'a', 'x'])).toBe(true);
  expect(await written([null, [], 2, 'a', 'x'])).toBe(false);
  expect(await written([null, [], 0, 'a', 'x … (cut, 501 characters)'])).toBe(false);
  expect(await written(['Run x … (cut, 501 characters)?', [{ from: 4, to: 29 }], 0])).toBe(false);
});

test('a part that was lost is asked for again', async () => {
  let lost = 0;
  channel.transport = word => (word.startsWith('details-answer ') && lost++ === 0 ? [] : [word]);
  const large = await held(LARGE);
  expect(await asker.find(large)).toEqual(LARGE);
  expect(channel.of('question')).toHaveLength(2);
});

test('a question is answered only if a replica asks it, now, and for the first time', async () => {
  const { question } = newQuestion(channel.vault, KIND, approval.id, NOW);
  const other = await held(DETAILS);
  const own = newQuestion(FOREIGN, KIND, approval.id, NOW).question;
  const wrong: Record<string, string> = {
    'a forged one': own.text,
    'another reference': question.text.replace(approval.id, other.id),
    'another key': question.text.replace(question.key, own.key),
    'another time': question.text.replace(` ${NOW} `, ` ${NOW + 1} `),
    'another id': question.text.replace(question.id, own.id),
    'a cut one': question.text.slice(0, -1),
    'more text': `${question.text} `,
    'an old one': newQuestion(channel.vault, KIND, approval.id, NOW - 120_001).question.text,
    'one of the future': newQuestion(channel.vault, KIND, approval.id, NOW + 120_001).question.text,
    'the MAC of another message': `${question.text.slice(0, -43)}${endedMessage(channel.vault, KIND, approval.id).slice(-43)}`,
    nothing: '',
    'no words': '\u0000'.repeat(7000),
  };
  for (const text of Object.values(wrong)) channel.send(`details-question ${text}`);
  for (let again = 0; again < 3; again++) channel.send(`details-question ${question.text}`);
  await until('an answer', () => answers().length > 0);
  // Whatever else is answered would come before the answer to the last question.
  expect(await asker.find(other)).toEqual(DETAILS);
  const asked = [question.id, channel.of('question').at(-1)?.split(' ')[1]];
  expect(answers().map(each => each.split(' ')[0])).toEqual(asked as string[]);
  // It stays answered for as long as it would count as fresh.
  channel.now += 119_000;
  channel.send(`details-question ${question.text}`);
  expect(await asker.find(other)).toEqual(DETAILS);
  expect(await asker.find(approval)).toEqual(DETAILS);
  expect(answers()).toHaveLength(4);
});

test('nothing is answered about an approval that has ended in the store or by its time', async () => {
  const resolved = { status: 'denied', at: NOW, by: 'admin', grantExpiresAt: null } as const;
  await store.db.transaction({}, tx => resolveApproval(tx, approval.id, resolved));
  const late = await held(DETAILS, { expiresAt: NOW });
  const open = await held(DETAILS);
  for (const { id } of [approval, late, open])
    channel.send(`details-question ${newQuestion(channel.vault, KIND, id, NOW).question.text}`);
  await until('an answer', () => answers().length > 0);
  expect(answers().map(each => each.split(' ')[0])).toEqual([
    channel.of('question')[2]?.split(' ')[1] as string,
  ]);
});

test('whatever else comes as an answer is ignored, and the true one is still taken', async () => {
  const other = await held({ question: 'of another call', fields: [], complete: true });
  await asker.find(other);
  const replayed = answers();
  channel.transport = word => {
    if (!word.startsWith('details-question ')) return [word];
    const question = readQuestion(channel.vault, KIND, word.slice('details-question '.length), NOW);
    if (question === null) throw new Error('a replica asked wrongly');
    const lie = Buffer.from(JSON.stringify({ question: 'a lie', fields: [] }));
    const forged = [...answerTo(FOREIGN, KIND, question, lie)];
    const [, key = '', , , data = '', mac = ''] = forged[0]?.split(' ') ?? [];
    const [ofReplica = ''] = answerTo(channel.vault, KIND, question, lie);
    const wrong = [
      ...forged,
      ...replayed,
      replayed[0]?.replace(/^\S+/, question.id),
      ofReplica.replace(/ 0 1 /, ' 0 2 '),
      ofReplica.replace(/.{50}$/, 'x'.repeat(50)),
      `${question.id} ${key} 0 99 ${data} ${mac}`,
      `${question.id} ${key} 1 1 ${data} ${mac}`,
      `${question.id} `,
      question.id,
    ];
    return [...wrong.map(each => `details-answer ${each}`), word];
  };
  expect(await asker.find(approval)).toEqual(DETAILS);
  expect(channel.of('question')).toHaveLength(2);
});

test('an answer that a replica made for another question does not open', async () => {
  const { question } = newQuestion(channel.vault, KIND, approval.id, NOW);
  const [part = ''] = answerTo(channel.vault, KIND, question, Buffer.from(JSON.stringify(DETAILS)));
  let id = '';
  channel.transport = word => {
    if (word.startsWith('details-question ')) id = word.split(' ')[2] as string;
    return [word];
  };
  holder.drop(approval.id);
  const finding = asker.find(approval);
  // Even with a MAC, which only a replica could compute, it is encrypted for another key.
  const moved = part.replace(question.id, id).slice(0, -44);
  channel.send(`details-answer ${moved} ${channel.vault.messageMac(`details answer ${moved}`)}`);
  expect(await finding).toBeNull();
});

test('two replicas that hold the same call both answer, and the first answer is taken', async () => {
  channel.replica().hold(approval.id, DETAILS, approval.expiresAt);
  expect(await asker.find(approval)).toEqual(DETAILS);
  await until('both answers', () => answers().length === 2);
  expect(asker.figures).toMatchObject({ held: 1, found: { elsewhere: 1 } });
});

test('people who look at the same time ask once, and what is missing is not asked for again at once', async () => {
  const found = await Promise.all(Array.from({ length: 20 }, () => asker.find(approval)));
  expect(found).toEqual(Array(20).fill(DETAILS));
  expect(channel.of('question')).toHaveLength(1);
  const gone = approvalRecord({ expiresAt: NOW + 3_600_000 });
  expect(await Promise.all([asker.find(gone), asker.find(gone)])).toEqual([null, null]);
  expect(channel.of('question')).toHaveLength(3);
  expect(await asker.find(gone)).toBeNull();
  expect(channel.of('question')).toHaveLength(3);
  holder.hold(gone.id, DETAILS, gone.expiresAt);
  await store.db.transaction({}, async tx => insertApproval(tx, gone, newId()));
  channel.now += 3000;
  expect(await asker.find(gone)).toEqual(DETAILS);
});

test('many look-ups at once take turns, so that all of them are answered', async () => {
  const all = await Promise.all(Array.from({ length: 200 }, () => held(DETAILS)));
  // A question that is answered late is asked again. What is counted are the calls that are asked about.
  const asked = new Map<string, string>();
  const unanswered = new Set<string>();
  let most = 0;
  channel.transport = word => {
    const [kind, first = '', second = ''] = word.split(' ');
    if (kind === 'details-question') {
      asked.set(second, first);
      unanswered.add(first);
    } else unanswered.delete(asked.get(first) ?? '');
    most = Math.max(most, unanswered.size);
    return [word];
  };
  const found = await Promise.all(all.map(each => asker.find(each)));
  expect(found).toEqual(Array(200).fill(DETAILS));
  expect(most).toBeLessThanOrEqual(64);
  expect(asker.figures.found).toEqual({ here: 0, elsewhere: 200, nowhere: 0 });
});

test('a copy lives for a minute and is not given on', async () => {
  expect(await asker.find(approval)).toEqual(DETAILS);
  holder.close();
  expect(await asker.find(approval)).toEqual(DETAILS);
  const third = channel.replica();
  expect(await third.find(approval)).toBeNull();
  channel.now += 60_000;
  expect(asker.figures.held).toBe(1);
  await asker.tend();
  expect(asker.figures).toMatchObject({ held: 0, bytes: 0 });
});

test('copies make room for what only this replica holds, and never take its place', async () => {
  const size = JSON.stringify([null, [], { complete: true }, 'a', SECRET]).length + 400;
  const small = channel.replica(2 * size);
  const own = approvalRecord({ expiresAt: NOW + 3_600_000 });
  small.hold(own.id, DETAILS, own.expiresAt);
  const others = [await held(DETAILS), await held(DETAILS)];
  for (const each of others) expect(await small.find(each)).toEqual(DETAILS);
  expect(small.figures).toMatchObject({ held: 2, evicted: 0 });
  // The newest copy is the one that is kept.
  const asked = channel.of('question').length;
  expect(await small.find(others[1] as ApprovalRecord)).toEqual(DETAILS);
  expect(channel.of('question')).toHaveLength(asked);
  const second = approvalRecord({ expiresAt: NOW + 3_600_000 });
  small.hold(second.id, DETAILS, second.expiresAt);
  for (const each of [own, second]) expect(await small.find(each)).toEqual(DETAILS);
  expect(await small.find(others[0] as ApprovalRecord)).toEqual(DETAILS);
  expect(small.figures).toMatchObject({ held: 2, evicted: 0 });
});

test('an approval that ends is let go everywhere, and only a replica can say that it ended', async () => {
  await asker.find(approval);
  for (const text of [
    approval.id,
    endedMessage(FOREIGN, KIND, approval.id),
    `${approval.id} ${'A'.repeat(43)}`,
  ])
    channel.send(`details-ended ${text}`);
  const other = await held(DETAILS);
  expect(await asker.find(other)).toEqual(DETAILS);
  expect([holder.figures.held, asker.figures.held]).toEqual([2, 2]);
  channel.replica().drop(approval.id);
  await until('both have let it go', () => holder.figures.held === 1 && asker.figures.held === 1);
});

test('an approval that ends during a look-up leaves nothing behind', async () => {
  const ending = asker.find(approval);
  asker.drop(approval.id);
  expect(await ending).toBeNull();
  expect(asker.figures).toMatchObject({ held: 0, bytes: 0 });
});

test('a flood of forged messages is forgotten, and others are still answered', async () => {
  const forged = newQuestion(FOREIGN, KIND, approval.id, NOW).question;
  const [part] = answerTo(FOREIGN, KIND, forged, Buffer.from('{}'));
  for (let number = 0; number < 2000; number++) {
    channel.send(`details-question ${forged.text}`);
    channel.send(`details-answer ${part}`);
  }
  expect(await asker.find(approval)).toEqual(DETAILS);
});
