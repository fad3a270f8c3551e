// Approvals in Slack, against a Slack of ours: the question is posted with buttons, a person who may answer answers with
// them, everybody else is told why not, privately, and the message says in the end how the question ended.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Rule } from '../../src/core/policy/policy.ts';
import { invite, newPerson } from '../operators/people.ts';
import { newDataDir, sql, until } from '../support/faults.ts';
import { engines, startService, type TestService } from '../support/service.ts';
import { buttonsOf, FakeSlack, type Posted, readableIn, type SlackPerson } from '../support/slack.ts';
import { type ClockedService, startClocked } from './clocked.ts';
import { dump } from './gate.ts';

const slack = new FakeSlack();
const folder = newDataDir();
const file = join(folder, 'channels.yaml');
const channel = { type: 'slack', channel: '#approvals' };
const away = { type: 'slack', channel: '#elsewhere' };
writeFileSync(
  file,
  JSON.stringify({ channels: { ops: channel, open: { ...channel, details: true }, away } }),
);
const env = { ...slack.env, TOOLGATE_CONFIG: file };
afterAll(async () => {
  await slack.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** It is never asked. */
const PROVIDER = {
  TOOLGATE_OIDC_ISSUER: 'https://idp.example',
  TOOLGATE_OIDC_CLIENT_ID: 'toolgate',
  TOOLGATE_OIDC_GROUPS_CLAIM: 'teams',
};

const asking = (more: Partial<Rule> = {}): Rule[] => [
  { tool: '*', action: 'require_approval', notify: ['ops'], ...more },
];

/** A held call, and the message about it. */
async function ask(
  service: TestService,
  more: Partial<Rule> = {},
  args: Record<string, unknown> = {},
): Promise<{ referenceId: string; message: Posted }> {
  const { key } = await service.newKey(asking(more));
  const { referenceId } = (await service.check(key, 'payments', 'refund', { args })).body;
  await posted(service, referenceId);
  return { referenceId, message: slack.about(referenceId) };
}

const notified = async (service: TestService, referenceId: string) =>
  (await service.admin('GET', `/notifications?referenceId=${referenceId}`)).body.notifications[0];
const posted = (service: TestService, referenceId: string) =>
  until('it is posted', async () => (await notified(service, referenceId)).status === 'sent');
const statusOf = async (service: TestService, referenceId: string) =>
  (await service.admin('GET', `/approvals/${referenceId}`)).body.status;
const ended = (message: Posted) =>
  until('the message says how it ended', () => buttonsOf(message).length === 0, 20_000);
const updatesOf = ({ ts }: Posted) =>
  slack.calls.filter(({ method, args }) => method === 'chat.update' && args['ts'] === ts);
const toldTo = ({ id }: SlackPerson) =>
  slack.whispers.filter(each => each.user === id).map(each => each.text);

const BOTH = ['toolgate_approve', 'toolgate_deny'] as const;

describe('one service', () => {
  let service: ClockedService;
  let approver: SlackPerson;
  beforeAll(async () => {
    service = await startClocked({ ...env, ...PROVIDER });
    const { email } = await newPerson(service, 'approver');
    // Slack keeps addresses as people wrote them.
    approver = slack.person(email.toUpperCase());
  });
  afterAll(() => service.close());

  test('a member approves with a button, once, under their own name', async () => {
    const { referenceId, message } = await ask(service);
    expect(buttonsOf(message).map(each => each.action_id)).toEqual([...BOTH, 'toolgate_open']);
    expect(buttonsOf(message)[2]?.url).toBe(`${service.url}/dashboard/approvals/${referenceId}`);
    const before = slack.whispers.length;
    expect(await slack.press(message, 'toolgate_open', { user: approver, at: service.url })).toEqual([200]);
    expect(await statusOf(service, referenceId)).toBe('pending');
    const press = { user: approver, at: service.url, repeat: true };
    expect(await slack.press(message, 'toolgate_approve', press)).toEqual([200, 200]);
    await ended(message);
    const email = approver.profile.email?.toLowerCase();
    const { body } = await service.admin('GET', `/approvals/${referenceId}`);
    expect(body).toMatchObject({ status: 'approved', resolvedBy: `operator:${email}` });
    expect(readableIn(message)).toContain(`Approved by ${email}: payments__refund`);
    expect(slack.whispers).toHaveLength(before);
    const { changes } = (await service.admin('GET', '/changes')).body;
    const change = { actor: `operator:${email}`, target: referenceId, detail: { via: 'slack' } };
    expect(changes[0]).toMatchObject(change);
  });

  test('everybody else is told why not, and nobody else reads it', async () => {
    const { referenceId, message } = await ask(service);
    const viewer = slack.person((await newPerson(service, 'viewer')).email);
    await invite(service, 'later@example.com', 'approver');
    const email = approver.profile.email ?? '';
    const cases: [SlackPerson, string][] = [
      [slack.person('stranger@example.com'), 'no operator of Toolgate has the e-mail address'],
      [viewer, 'This needs the role approver; yours is viewer.'],
      [slack.person('later@example.com'), 'accept your invitation'],
      [slack.person(null), 'Slack does not tell your e-mail address'],
      [slack.person(email, { is_email_confirmed: false }), 'Slack does not tell your e-mail address'],
      [slack.person(email, { team_id: 'T0OTHER' }), 'you belong to another Slack workspace'],
      [slack.person(email, { is_bot: true }), 'Only a person with an active Slack account'],
      [slack.person(email, { deleted: true }), 'Only a person with an active Slack account'],
      [{ ...slack.person(email), id: 'U0NOBODY' }, 'Slack answered 200 (user_not_found)'],
    ];
    for (const [user, sentence] of cases) {
      for (const button of BOTH)
        expect(await slack.press(message, button, { user, at: service.url })).toEqual([200]);
      const told = toldTo(user);
      expect(told).toHaveLength(2);
      for (const each of told) expect(each).toContain(sentence);
    }
    expect(await statusOf(service, referenceId)).toBe('pending');
    expect([message.edits, buttonsOf(message).length]).toEqual([0, 3]);
  });

  test('an operator who was reset, deleted or made a viewer answers no more', async () => {
    const { referenceId, message } = await ask(service);
    const person = await newPerson(service, 'approver');
    const user = slack.person(person.email);
    const press = () => slack.press(message, 'toolgate_approve', { user, at: service.url });
    await service.admin('PATCH', `/operators/${person.id}`, { role: 'viewer' });
    await press();
    await service.admin('PATCH', `/operators/${person.id}`, { role: 'approver' });
    await service.admin('POST', `/operators/${person.id}/reset`);
    await press();
    await service.admin('DELETE', `/operators/${person.id}`);
    await press();
    expect(toldTo(user)).toEqual([
      expect.stringContaining('needs the role approver'),
      expect.stringContaining('accept your invitation'),
      expect.stringContaining('no operator'),
    ]);
    expect(await statusOf(service, referenceId)).toBe('pending');
  });

  test('a group answers by votes, and the message shows them', async () => {
    const { referenceId, message } = await ask(service, { approvers: { group: 'finance', count: 2 } });
    const people = [await newPerson(service, 'approver'), await newPerson(service, 'admin')];
    for (const { id } of people) await service.admin('PATCH', `/operators/${id}`, { groups: ['finance'] });
    const [one, two] = people.map(({ email }) => slack.person(email)) as [SlackPerson, SlackPerson];
    const press = (user: SlackPerson, repeat = false) =>
      slack.press(message, 'toolgate_approve', { user, at: service.url, repeat });
    expect(readableIn(message)).toContain('0 of 2 approvals.');
    const before = toldTo(approver).length;
    await press(approver);
    expect(toldTo(approver).slice(before)).toEqual([
      'Only operators of the group "finance" may answer this.',
    ]);
    await press(one, true);
    await until('the vote is shown', () => readableIn(message).includes('1 of 2 approvals'));
    expect(readableIn(message)).toContain(`1 of 2 approvals: ${people[0]?.email}.`);
    expect(buttonsOf(message)).toHaveLength(3);
    expect(toldTo(one)).toEqual([]);
    await press(one);
    expect(toldTo(one)).toEqual(['You have approved this call before. Somebody else has to approve it too.']);
    expect(await statusOf(service, referenceId)).toBe('pending');
    await press(two);
    await ended(message);
    expect(await statusOf(service, referenceId)).toBe('approved');
    expect(readableIn(message)).toContain(`2 of 2 approvals: ${people.map(each => each.email).join(', ')}.`);
  });

  test('groups and roles of single sign-on count for as long as a sign-in lasts', async () => {
    const day = 24 * 3_600_000;
    const { id, email } = await newPerson(service, 'approver');
    await service.admin('PATCH', `/operators/${id}`, { groups: ['finance'] });
    const user = slack.person(email);
    const signedOn = (daysAgo: number, decidesRole: number) =>
      sql(
        service.databaseUrl,
        `DELETE FROM identities WHERE operator_id = '${id}'`,
        `INSERT INTO identities (issuer, subject, operator_id, decides_role, created_at, signed_on_at)
         VALUES ('https://idp.example/', '${id}', '${id}', ${decidesRole}, 1, ${Date.now() - daysAgo * day})`,
      );
    const answers = async (more: Partial<Rule>) => {
      const { referenceId, message } = await ask(service, more);
      await slack.press(message, 'toolgate_approve', { user, at: service.url });
      return statusOf(service, referenceId);
    };
    const approvers = { approvers: { group: 'finance' } };
    await signedOn(8, 0);
    expect([await answers(approvers), await answers({})]).toEqual(['pending', 'approved']);
    await signedOn(8, 1);
    expect([await answers(approvers), await answers({})]).toEqual(['pending', 'pending']);
    const told = toldTo(user);
    expect([told.length, told.every(text => text.includes('more than 7 days ago'))]).toEqual([3, true]);
    await signedOn(6, 1);
    expect([await answers(approvers), await answers({})]).toEqual(['approved', 'approved']);
  });

  test('a button counts only on the message that was posted for its approval', async () => {
    const [one, two] = [await ask(service), await ask(service)];
    const press = (forge: (payload: Record<string, unknown>) => Record<string, unknown>) =>
      slack.press(one.message, 'toolgate_approve', { user: approver, at: service.url, forge });
    const before = toldTo(approver).length;
    await press(payload => ({
      ...payload,
      container: { channel_id: 'C0OTHER', message_ts: one.message.ts },
    }));
    await press(payload => ({
      ...payload,
      actions: [{ action_id: 'toolgate_approve', value: two.referenceId }],
    }));
    await press(payload => ({
      ...payload,
      actions: [{ action_id: 'toolgate_approve', value: crypto.randomUUID() }],
    }));
    expect(toldTo(approver).slice(before)).toEqual(
      Array(3).fill(
        'This message is not known to ask a question. Try again in a moment, or answer on the page.',
      ),
    );
    for (const { referenceId } of [one, two]) expect(await statusOf(service, referenceId)).toBe('pending');
  });

  test('what is forged, old or tampered with answers nothing', async () => {
    const { referenceId, message } = await ask(service);
    const to = { user: approver, at: service.url };
    const calls = slack.calls.length;
    const now = Math.floor(Date.now() / 1000);
    for (const bad of [
      { secret: 'guessed' },
      { timestamp: now - 301 - 60 },
      { timestamp: now + 301 + 60 },
      { tamper: (body: string) => body.replace('toolgate_approve', 'toolgate_deny') },
    ])
      expect(await slack.press(message, 'toolgate_approve', { ...to, ...bad })).toEqual([401]);
    expect(slack.calls.slice(calls).filter(each => each.method === 'users.info')).toEqual([]);
    expect(await statusOf(service, referenceId)).toBe('pending');
  });

  test('a channel without the bot says so; a Slack that is slow does not lose the answer', async () => {
    const { key } = await service.newKey(asking({ notify: ['away'] }));
    const { referenceId } = (await service.check(key, 'payments', 'refund')).body;
    const told = () => notified(service, referenceId);
    await until('it was tried', async () => (await told()).attempts > 0);
    expect((await told()).lastError).toContain('Slack knows no such channel');
    const held = await ask(service);
    slack.answerNext('users.info', 1, { slowMs: 2500 });
    const statuses = await slack.press(held.message, 'toolgate_deny', { user: approver, at: service.url });
    expect(statuses).toEqual([200]);
    await ended(held.message);
    expect(await statusOf(service, held.referenceId)).toBe('denied');
  });

  test('the message says how the question ended elsewhere, and a late press is told so', async () => {
    const { referenceId, message } = await ask(service);
    const stale = structuredClone(message);
    const note = 'Ask <finance> first.';
    await service.admin('POST', `/approvals/${referenceId}/resolve`, { action: 'deny', note });
    await ended(message);
    expect(readableIn(message)).toContain('Denied by the admin token: payments__refund');
    expect(readableIn(message)).toContain('Note: Ask &lt;finance&gt; first.');
    const before = toldTo(approver).length;
    await slack.press(stale, 'toolgate_approve', { user: approver, at: service.url });
    expect(toldTo(approver).slice(before)).toEqual(['This approval is already answered or has lapsed.']);
    const lapsed = await ask(service);
    service.advance(2 * 3_600_000);
    await ended(lapsed.message);
    expect(readableIn(lapsed.message)).toContain('Nobody answered in time: payments__refund');
  });

  test('Slack may ask to wait and be away; a message that is gone is given up', async () => {
    slack.answerNext('chat.postMessage', 1, { retryAfter: 600 });
    const { key } = await service.newKey(asking());
    const { referenceId } = (await service.check(key, 'payments', 'refund')).body;
    const told = () => notified(service, referenceId);
    await until('it was tried', async () => (await told()).attempts === 1);
    const { createdAt, nextAttemptAt, lastError } = await told();
    expect(Date.parse(nextAttemptAt) - Date.parse(createdAt)).toBeGreaterThanOrEqual(600_000);
    expect(lastError).toBe('Slack asks to wait, because of too many requests');
    service.advance(600_001);
    await posted(service, referenceId);
    const message = slack.about(referenceId);

    slack.answerNext('chat.update', 1, { status: 503 });
    await service.admin('POST', `/approvals/${referenceId}/resolve`, { action: 'approve' });
    const failed = (status: number) =>
      until('it failed', async () => (await told()).lastError === `Slack answered ${status}`);
    await failed(503);
    slack.answerNext('chat.update', 1, { status: 502 });
    service.advance(60_000);
    await failed(502);
    service.advance(60_000);
    await ended(message);
    await until('that is recorded', async () => (await told()).lastError === null);
    expect(updatesOf(message)).toHaveLength(3);

    const other = await ask(service);
    other.message.deleted = true;
    await service.admin('POST', `/approvals/${other.referenceId}/resolve`, { action: 'approve' });
    const state = () => notified(service, other.referenceId);
    await until('it is given up', async () => (await state()).lastError !== null);
    expect(await state()).toMatchObject({
      status: 'sent',
      lastError: expect.stringContaining('no longer in Slack'),
    });
    service.advance(24 * 3_600_000);
    // Whatever else was due by now has been done once this is.
    const later = await ask(service);
    await service.admin('POST', `/approvals/${later.referenceId}/resolve`, { action: 'approve' });
    await ended(later.message);
    expect(updatesOf(other.message)).toHaveLength(1);
  });
});

test('details reach Slack only by a channel that carries them, and no log and no table', async () => {
  const canary = `canary-${crypto.randomUUID()}`;
  const service = await startService({ env: { ...env, TOOLGATE_LOG_LEVEL: 'trace' } });
  try {
    const rule = { show: ['customer'], ask: 'Refund {customer}?' };
    const args = { customer: canary, other: canary };
    const open = await ask(service, { ...rule, notify: ['open'] }, args);
    slack.answerNext('chat.postMessage', 1, { status: 500 });
    const late = await ask(service, { ...rule, notify: ['open'] }, args);
    for (const { message } of [open, late]) {
      expect(readableIn(message)).toContain(`Refund ${canary}?`);
      expect(readableIn(message)).toContain(`customer: ${canary}`);
      expect(readableIn(message)).not.toContain('other');
    }
    const closed = await ask(service, rule, args);
    expect(JSON.stringify(closed.message)).not.toContain(canary);
    expect(buttonsOf(closed.message).map(each => [each.action_id, each.style])).toEqual([
      ['toolgate_open', 'primary'],
      ['toolgate_deny', 'danger'],
    ]);
    const { email } = await newPerson(service, 'approver');
    const user = slack.person(email);
    // A message of an older version has the button, too: it leads to the page, and answers nothing.
    const forge = (payload: Record<string, unknown>) =>
      JSON.parse(JSON.stringify(payload).replaceAll('toolgate_deny', 'toolgate_approve'));
    await slack.press(closed.message, 'toolgate_deny', { user, at: service.url, forge });
    await until('a whisper', () => toldTo(user).length > 0);
    expect(toldTo(user)[0]).toMatch(/does not show all that .*\/dashboard\/approvals\/[0-9a-f-]{36}$/);
    for (const each of [open, late, closed]) {
      await slack.press(each.message, 'toolgate_deny', { user, at: service.url });
      await ended(each.message);
      expect(JSON.stringify(each.message)).not.toContain(canary);
    }
    expect(JSON.stringify(await dump(service.databaseUrl))).not.toContain(canary);
    expect(service.output).toContain('Slack answered 500');
    for (const secret of [canary, slack.token, slack.signingSecret])
      expect(service.output).not.toContain(secret);
  } finally {
    await service.close();
  }
});

const onPostgres = (await engines()).includes('postgres');
describe.if(onPostgres)('two replicas', () => {
  const dataDir = newDataDir();
  let one: TestService;
  let two: TestService;
  beforeAll(async () => {
    one = await startService({ engine: 'postgres', env });
    two = await startService({ databaseUrl: one.databaseUrl, dataDir, env });
  });
  afterAll(async () => {
    await one.close();
    await two.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  test('buttons answer on either, exactly one answer wins, and the message is changed once', async () => {
    const people = await Promise.all([newPerson(one, 'approver'), newPerson(one, 'admin')]);
    const users = people.map(each => slack.person(each.email));
    for (let round = 0; round < 4; round++) {
      const { referenceId, message } = await ask([one, two][round % 2] as TestService);
      await Promise.all(
        users.map((user, index) =>
          slack.press(message, BOTH[(index + round) % 2] as string, { user, at: [one, two][index]!.url }),
        ),
      );
      await ended(message);
      const { status, resolvedBy } = (await one.admin('GET', `/approvals/${referenceId}`)).body;
      const winner = people.findIndex(each => resolvedBy === `operator:${each.email}`);
      expect(status).toBe((winner + round) % 2 === 0 ? 'approved' : 'denied');
      expect(readableIn(message)).toContain(`by ${people[winner]?.email}: payments__refund`);
      const loser = users[1 - winner] as SlackPerson;
      expect(toldTo(loser).at(-1)).toBe('This approval is already answered or has lapsed.');
      expect(message.edits).toBe(1);
    }
    expect(slack.whispers.length).toBeGreaterThanOrEqual(4);
  });
});
