// What the bot's messages say and what their buttons do. Whatever an agent has written: Slack accepts every message, what
// Slack sends back stays below the bound, and nothing hides, reorders or begins a line of its own.

import { afterAll, expect, test } from 'bun:test';
import type { Details } from '../../../../src/core/approvals/details.ts';
import { SlackApi, type SlackMessage } from '../../../../src/guard/approvals/notify/slack-bot/api.ts';
import {
  type About,
  endedMessage,
  questionMessage,
  type Shown,
} from '../../../../src/guard/approvals/notify/slack-bot/message.ts';
import { approvalRecord } from '../../../store/stores.ts';
import {
  type Block,
  buttonsOf,
  FakeSlack,
  type Posted,
  phpJson,
  readableIn,
} from '../../../support/slack.ts';

const slack = new FakeSlack();
afterAll(() => slack.stop());
const api = new SlackApi(slack.env['TOOLGATE_SLACK_API_URL'] ?? '', slack.token);

function about(approval: Partial<About['approval']> = {}, more: Partial<About> = {}): About {
  const record = approvalRecord(approval);
  return {
    approval: record,
    referenceId: record.id,
    keyName: 'release agent',
    sessionLabel: 'nightly',
    personEmail: null,
    serverName: 'payments',
    toolName: 'refund',
    reason: 'Refunds need a person.',
    expiresAt: '2026-11-16T10:00:00.000Z',
    approvedBy: [],
    pageUrl: `https://gate.example/dashboard/approvals/${record.id}`,
    ...more,
  };
}

const asPosted = (message: SlackMessage): Posted => ({
  ...message,
  blocks: message.blocks as Block[],
  channel: '',
  ts: '',
  edits: 0,
  deleted: false,
});
const read = (message: SlackMessage) => readableIn(asPosted(message));
const buttons = (message: SlackMessage) => buttonsOf(asPosted(message));

const DETAILS: Details = {
  question: 'Refund 120 EUR to Ann?',
  fields: [
    { path: 'amount', value: '120' },
    { path: 'customer.name', value: 'Ann' },
  ],
  folder: '/srv/shop',
  complete: true,
};

test('a question says what is known, and its buttons name the approval and nothing secret', () => {
  const subject = about();
  const message = questionMessage(subject, 'none');
  expect(read(message)).toContain('An agent asks to call payments__refund');
  for (const fact of ['Key: release agent', 'Session: nightly', 'Reason: Refunds need a person.'])
    expect(read(message)).toContain(fact);
  expect(buttons(message)).toMatchObject([
    { action_id: 'toolgate_approve', value: subject.approval.id, style: 'primary' },
    { action_id: 'toolgate_deny', value: subject.approval.id, style: 'danger' },
    { action_id: 'toolgate_open', url: subject.pageUrl },
  ]);
  expect(JSON.stringify(message)).not.toMatch(/tg_apr_|\/v1\/approve/);
  expect(JSON.stringify(message)).not.toContain('confirm');
});

test('details are shown; where they are not all shown, the page leads and nobody approves in Slack', () => {
  const shown = questionMessage(about(), DETAILS);
  expect(read(shown)).toContain('Refund 120 EUR to Ann?');
  expect(read(shown)).toContain('Working folder: /srv/shop\namount: 120\ncustomer.name: Ann');
  const ids = (message: ReturnType<typeof questionMessage>) => buttons(message).map(each => each.action_id);
  expect(ids(shown)).toEqual(['toolgate_open', 'toolgate_approve', 'toolgate_deny']);
  expect(ids(questionMessage(about(), 'none'))[0]).toBe('toolgate_approve');
  const long = { question: null, fields: [{ path: 'a', value: '&'.repeat(8000) }], complete: true };
  const unseen: Shown[] = ['on the page', 'gone', { ...DETAILS, complete: false }, long];
  for (const each of unseen) {
    const message = questionMessage(about(), each);
    expect(buttons(message)[0]).toMatchObject({ action_id: 'toolgate_open', style: 'primary' });
    expect(ids(message)).toEqual(['toolgate_open', 'toolgate_deny']);
  }
  expect(read(questionMessage(about(), 'gone'))).toContain('because the service was restarted. Deny it');
});

test('votes and the group are named', () => {
  const message = questionMessage(
    about({ votesNeeded: 2, approverGroup: 'finance' }, { approvedBy: ['operator:ana@example.com'] }),
    'none',
  );
  expect(read(message)).toContain('1 of 2 approvals: ana@example.com.');
  expect(read(message)).toContain('Needs: 2 approvals by different people of the group "finance"');
});

test('where a passkey has to sign, no button approves', () => {
  const message = questionMessage(about({ proof: 'passkey' }), 'none');
  expect(read(message)).toContain('Needs: an approval by an approver, signed with a passkey');
  expect(JSON.stringify(message)).not.toContain('toolgate_approve');
  expect(JSON.stringify(message)).toContain('toolgate_deny');
});

test('an ended question says how, by whom and why, and has no button', () => {
  const by = { resolvedBy: 'operator:ana@example.com', resolvedAt: 1, note: 'Too much.' };
  const cases: [Partial<About['approval']>, string][] = [
    [{ status: 'denied', ...by }, 'Denied by ana@example.com: payments__refund'],
    [
      { status: 'approved', ...by, resolvedBy: 'link' },
      'Approved by somebody with the link: payments__refund',
    ],
    [{ status: 'approved', ...by, resolvedBy: 'admin' }, 'Approved by the admin token: payments__refund'],
    [{ status: 'timed_out' }, 'Nobody answered in time: payments__refund'],
    [{ status: 'withdrawn' }, 'The agent withdrew the call: payments__refund'],
  ];
  for (const [approval, sentence] of cases) {
    const message = endedMessage(about(approval));
    expect(read(message)).toStartWith(`${sentence}\n`);
    expect(buttons(message)).toEqual([]);
    expect(read(message).includes('Note: Too much.')).toBe(approval.note !== undefined);
    expect(read(message)).not.toContain('Lapses');
  }
  const granted = endedMessage(about({ status: 'approved', ...by, grantExpiresAt: Date.UTC(2026, 10, 16) }));
  expect(read(granted)).toContain('allowed until 2026-11-16 00:00:00 UTC.');
});

test('the person in whose name an agent asks has a line of their own, also when it has ended', () => {
  const subject = about({ status: 'denied' }, { personEmail: 'ann@example.com' });
  for (const message of [questionMessage(subject, 'none'), endedMessage(subject)])
    expect(read(message)).toContain('payments__refund\nfor ann@example.com');
  expect(read(questionMessage(about(), 'none'))).not.toContain('for ');
});

const NASTY = ['&', '<', '"', '\u202e', '\n', '🏴', '\u{e0061}', '中', 'a'];

test('Slack accepts what any agent makes of it, and what it sends back stays below 128 KiB', async () => {
  for (const char of NASTY) {
    const most = char.repeat(Math.floor(500 / char.length));
    const fields = Array.from({ length: Math.ceil(8192 / (Buffer.byteLength(most) + 4)) }, (_, index) => ({
      path: `f${index}`,
      value: most,
    }));
    const names = { keyName: most, sessionLabel: most, serverName: most, toolName: most, reason: most };
    const group = { approverGroup: most, votesNeeded: 5, note: most };
    const approvedBy = Array(5).fill(`operator:${most.slice(0, 200)}@example.com`);
    const subject = about(group, { ...names, personEmail: most.slice(0, 320), approvedBy });
    const question = questionMessage(subject, { question: most, fields, omitted: 3, complete: false });
    const ended = endedMessage({ ...subject, approval: { ...subject.approval, status: 'denied' } });
    for (const message of [question, ended]) {
      await api.post('#approvals', message);
      expect(read(message)).not.toMatch(/[\u202e\u{e0061}]/u);
      const sentBack = new URLSearchParams({ payload: phpJson(message) }).toString();
      expect(Buffer.byteLength(sentBack)).toBeLessThan(120 * 1024);
    }
  }
});

test('a value cannot pass for a line of its own', () => {
  const fields = [{ path: 'memo', value: 'ok\namount: 1' }];
  expect(read(questionMessage(about(), { question: null, fields, complete: true }))).toContain(
    'memo: ok\\u{000A}amount: 1',
  );
});

test('what the run has read stands before what the call would do', () => {
  const line = 'This run has read: untrusted (mail__search, 10:02 UTC)';
  const fields = [{ path: 'to', value: 'eve@x.org', known: false }];
  const text = read(questionMessage(about(), { ...DETAILS, fields }, [line]));
  expect(text.indexOf(line)).toBeGreaterThan(0);
  expect(text.indexOf(line)).toBeLessThan(text.indexOf('to (not named by the person): eve@x.org'));
  expect(read(questionMessage(about(), DETAILS))).not.toContain('has read');
});
