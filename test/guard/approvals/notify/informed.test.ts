// Messages about calls with details, and about those that several people have to approve, on every channel; and the card
// for Teams, which is checked against what Microsoft documents.

import { afterAll, describe, expect, test } from 'bun:test';
import type { Details } from '../../../../src/core/approvals/details.ts';
import { http } from '../../../../src/core/channels/http.ts';
import { approvalLinks, type NotificationMessage } from '../../../../src/core/channels/message.ts';
import { webhookPost } from '../../../../src/core/channels/slack.ts';
import { teams } from '../../../../src/core/channels/teams.ts';
import { htmlText, plainText } from '../../../../src/guard/approvals/notify/mail-text.ts';
import { sendPost } from '../../../../src/guard/approvals/notify/send.ts';
import { terminalText } from '../../../../src/guard/approvals/notify/terminal.ts';
import { Receiver } from '../../../support/receiver.ts';
import { type Card, readCard } from '../../../support/teams.ts';

const receiver = await Receiver.start();
afterAll(() => receiver.close());

const rules = { allowPrivate: true };
const message: NotificationMessage = {
  id: '0198c0de-0000-7000-8000-000000000002',
  referenceId: '0198c0de-0000-7000-8000-000000000001',
  keyName: 'prod agent',
  sessionLabel: 'nightly run',
  personEmail: null,
  serverName: 'payments',
  toolName: 'refund',
  reason: 'Rule 1 of policy "prod" requires approval for payments__refund.',
  ...approvalLinks('https://gate.example', `tg_apr_${'a'.repeat(49)}`),
  expiresAt: '2026-08-01T12:34:56.000Z',
  approverGroup: null,
  votesNeeded: 1,
  proof: null,
  details: null,
  reviewFirst: false,
  marks: [],
  askedAt: '2026-08-01T11:34:56.000Z',
};
const details: Details = {
  question: 'Refund 120.00 to Ana?',
  fields: [
    { path: 'amount', value: '120.00' },
    { path: 'customer.name', value: 'Ana\u202e\n<b>' },
  ],
  complete: true,
};
const shown: NotificationMessage = { ...message, details };
const hidden: NotificationMessage = { ...message, reviewFirst: true };
/** It shows only the beginning. */
const part: NotificationMessage = {
  ...hidden,
  details: { ...details, omitted: 3, complete: false },
};

async function arrived(send: (url: string) => Promise<void>): Promise<string> {
  await send(receiver.url);
  return receiver.arrivals.at(-1)?.text ?? '';
}
const slackText = (about: NotificationMessage) => arrived(url => sendPost(webhookPost(url, about), rules));
const teamsCard = async (about: NotificationMessage): Promise<Card> =>
  readCard(await arrived(url => sendPost(teams.post({ url }, about), rules)));
const teamsText = async (about: NotificationMessage) => {
  const { lines, actions } = await teamsCard(about);
  return [...lines, ...actions.map(each => `${each.title} ${each.url} `)].join('\n');
};

const TEXTS: Record<string, (about: NotificationMessage) => string | Promise<string>> = {
  'plain text': plainText,
  HTML: htmlText,
  Slack: slackText,
  Teams: teamsText,
  terminal: terminalText,
};

/** Links in the order in which they stand in the text. */
function links(text: string): string[] {
  return Array.from(text.matchAll(/tg_apr_a+(\?action=\w+)?/g), ([, action = '']) =>
    action.slice('?action='.length),
  );
}

describe.each(Object.entries(TEXTS))('%s', (name, textOf) => {
  test('leads with the link that only looks if the call has details, and has no other if it does not show all', async () => {
    expect(links(await textOf(hidden))).toEqual(['']);
    expect(links(await textOf(part))).toEqual(['']);
    expect(links(await textOf(message))).toEqual(['approve', 'deny', '']);
    expect(links(await textOf(shown))).toEqual(['', 'approve', 'deny']);
    if (name === 'terminal') return;
    expect(await textOf(part)).toContain('… and 3 more.');
    expect(await textOf(part)).toContain('This message does not show all that the call would do.');
    expect(await textOf(hidden)).toContain('This message does not show what the call would do.');
    expect(await textOf(message)).not.toContain('does not show');
  });

  test('says whose approvals are needed, and of how many', async () => {
    const plain = async (about: Partial<NotificationMessage>) =>
      (await textOf({ ...message, ...about })).replaceAll('&#34;', '"').replaceAll('\\"', '"');
    expect(await plain({})).not.toContain('group');
    expect(await plain({ approverGroup: 'finance' })).toContain(
      'an approval by somebody of the group "finance"',
    );
    const two = await plain({ approverGroup: 'fin\u202eance', votesNeeded: 2 });
    expect(two).toMatch(/2 approvals by different people of the group "fin\\+u\{202E\}ance"/);
    if (name === 'terminal' || name === 'Slack') return;
    expect(two).toContain('The call is freed once 2 people have approved it; one denial ends it.');
    expect(two).not.toContain('work once');
  });

  test('says for whom the agent asks', async () => {
    const personEmail = 'an\u202en@example.com';
    // In Slack's JSON a line break and a backslash are escaped.
    const lines = (await textOf({ ...message, personEmail })).split(/\n|\\n|<[^>]*>|"/);
    const wanted = /^(for| {2}For {5}) an\\+u\{202E\}n@example\.com$/;
    expect(lines.filter(line => wanted.test(line))).toHaveLength(1);
    expect(await textOf(message)).not.toMatch(/\bfor [^\s"]*@/i);
  });
});

for (const [name, textOf] of Object.entries(TEXTS)) {
  if (name === 'terminal') continue;
  test(`${name} shows the question and each value, and nothing invisible in them`, async () => {
    const text = (await textOf(shown)).replaceAll('\\\\', '\\');
    expect(text).toContain('Refund 120.00 to Ana?');
    expect(text).toContain('amount: 120.00');
    expect(text).toContain('customer.name: Ana\\u{202E}\\u{000A}');
    expect(text).not.toMatch(/\u202e/);
    if (name === 'HTML' || name === 'Slack') expect(text).not.toContain('<b>');
  });
}

const read: NotificationMessage = {
  ...shown,
  details: {
    ...details,
    fields: [
      { path: 'amount', value: '120.00', known: true },
      { path: 'to', value: 'eve@x.org', known: false },
    ],
  },
  marks: [
    { name: 'untrusted', since: '2026-08-01T10:02:00.000Z', serverName: 'mail', toolName: 'search' },
    { name: 'private', since: '2026-07-31T23:00:00.000Z', serverName: 'crm', toolName: '<b>\u202e' },
  ],
};

for (const [name, textOf] of Object.entries(TEXTS)) {
  if (name === 'terminal') continue;
  test(`${name} says what the run has read before what the call would do, and which values nobody named`, async () => {
    const text = (await textOf(read)).replaceAll('\\\\', '\\');
    const tool = { HTML: '&#60;b&#62;', Slack: '&lt;b&gt;' }[name] ?? '<b>';
    const words = `This run has read: untrusted (mail__search, 10:02 UTC), private (crm__${tool}\\u{202E}, 2026-07-31 23:00 UTC)`;
    expect(text).toContain(words);
    expect(text.indexOf(words)).toBeLessThan(text.indexOf('Refund 120.00 to Ana?'));
    expect(text).toContain('amount: 120.00');
    expect(text).toContain('to (not named by the person): eve@x.org');
    expect(text).not.toMatch(/\u202e/);
    expect(await textOf(shown)).not.toMatch(/has read|not named/);
  });
}

test('the longest names of as many tools as a policy can mark leave room for the rest', async () => {
  const long = { since: read.askedAt, serverName: '\u202e'.repeat(128), toolName: '\u202e'.repeat(128) };
  const marks = Array.from({ length: 16 }, (_, at) => ({ name: `m${at}${'x'.repeat(29)}`, ...long }));
  expect(await slackText({ ...read, marks })).toContain('to (not named by the person)');
  expect((await teamsCard({ ...read, marks })).lines.join('\n')).toContain('to (not named by the person)');
});

test('in a mail only what people should press looks like a button', () => {
  const buttons = (about: NotificationMessage) =>
    Array.from(htmlText(about).matchAll(/background:#\w+">([^<]+)<\/a>/g), ([, label]) => label);
  expect(buttons(message)).toEqual(['Approve', 'Deny']);
  expect(buttons(hidden)).toEqual(['Review']);
});

test('a terminal, whose text may end in a log, shows no details', () => {
  expect(terminalText(read)).not.toMatch(/amount|120|has read|mail__/);
});

test('a notifier gets details as data, and nothing of them if it must not', async () => {
  const json = async (about: NotificationMessage) =>
    JSON.parse(await arrived(url => sendPost(http.post({ url }, about), rules)));
  expect((await json(shown)).details).toEqual(details);
  expect(await json(shown)).not.toHaveProperty('marks');
  expect(await json(read)).toMatchObject({ marks: read.marks, details: { fields: read.details?.fields } });
  expect(await json(hidden)).not.toHaveProperty('details');
  expect(await json(hidden)).toMatchObject({ reviewUrl: message.reviewUrl, reviewFirst: true });
  expect((await json(shown)).reviewFirst).toBe(false);
  expect((await json(message)).reviewFirst).toBe(false);
});

const many = (count: number, value: string): Details => ({
  question: null,
  fields: Array.from({ length: count }, (_, index) => ({ path: `items[${index}]`, value })),
  complete: true,
});

test('Slack is sent no more than it takes; what is cut leads to where all of it can be seen', async () => {
  for (const value of ['&'.repeat(500), '\u0007'.repeat(500), '東'.repeat(500)]) {
    const text = await slackText({ ...message, details: many(16, value) });
    const { blocks } = JSON.parse(text) as { blocks: { text?: { text: string } }[] };
    for (const block of blocks) expect(block.text?.text.length ?? 0).toBeLessThanOrEqual(3000);
    expect(blocks.length).toBeLessThanOrEqual(10);
    expect(text).toMatch(/… and \d+ more, behind the link\./);
    expect(links(text)).toEqual(['']);
  }
});

test('in Slack, the end of a long text is shown too, or people are led to where it is', async () => {
  const unseen = (count: number) => `Refund ${'\u200b'.repeat(count)}amount: 1 (END)`;
  const whole = await slackText({
    ...message,
    details: { question: unseen(480), fields: [], complete: true },
  });
  expect([whole.includes('(END)'), links(whole)]).toEqual([true, ['', 'approve', 'deny']]);
  // No part of it can pass for a line of its own.
  const parts = (JSON.parse(whole) as { blocks: { text?: { text: string } }[] }).blocks.slice(1, 3);
  expect(parts.map(each => each.text?.text.slice(0, 2))).toEqual(['Re', '… ']);
  const long = await slackText({
    ...message,
    details: { question: unseen(1900), fields: [], complete: true },
  });
  expect([long.includes('(END)'), links(long)]).toEqual([false, ['']]);
});

describe('the card for Teams', () => {
  test('has a button for each link, the first one marked', async () => {
    const { actions, lines } = await teamsCard(message);
    expect(actions).toMatchObject([
      { title: 'Approve', url: message.approveUrl, style: 'positive' },
      { title: 'Deny', url: message.denyUrl, style: 'destructive' },
      { title: 'Review', url: message.reviewUrl, style: 'default' },
    ]);
    expect(lines.slice(0, 2)).toEqual(['An agent asks to call', 'payments__refund']);
    for (const line of ['Key: prod agent', 'Session: nightly run', 'Lapses: 2026-08-01 12:34:56 UTC'])
      expect(lines).toContain(line);
  });

  test('reads no Markdown in what agents wrote, and names nobody', async () => {
    const markdown = '[click](https://evil.example) **x** _y_\r- z <at>Ana</at>';
    const names = { serverName: markdown, toolName: markdown, keyName: markdown, sessionLabel: markdown };
    const about = {
      ...message,
      ...names,
      reason: markdown,
      details: { question: markdown, fields: [], complete: true },
    };
    // The reader takes runs of text only, in which there is no Markdown.
    const { lines, fallbackText } = await teamsCard(about);
    expect(lines.join('\n')).toContain(
      'Key: [click](https://evil.example) **x** _y_\\u{000D}- z <at>Ana</at>',
    );
    expect(fallbackText).not.toContain('click');
  });

  test('stays within its size, whatever the values are; what is cut leads to where all of it can be seen', async () => {
    const names = {
      toolName: '東'.repeat(128),
      keyName: '"'.repeat(200),
      sessionLabel: '\u202e'.repeat(200),
    };
    const long = { ...message, ...names, reason: '\u0007'.repeat(5000), approverGroup: '東'.repeat(200) };
    for (const value of ['"'.repeat(500), '\u0007'.repeat(500), '東'.repeat(500), '']) {
      for (const count of [0, 5, 16, 400]) {
        const { lines, actions } = await teamsCard({ ...long, details: many(count, value) });
        expect(Buffer.byteLength(receiver.arrivals.at(-1)?.text ?? '')).toBeLessThanOrEqual(20_000);
        const cut = /^… and (\d+) more\. This message does not show all/;
        const said = lines.map(line => Number(cut.exec(line)?.[1] ?? 0)).find(left => left > 0) ?? 0;
        expect(lines.filter(line => line.startsWith('items[')).length + said).toBe(count);
        expect(actions.length).toBe(said > 0 ? 1 : 3);
      }
    }
    // Usual details are shown whole.
    expect((await teamsCard({ ...long, details: many(16, 'x'.repeat(400)) })).actions).toHaveLength(3);
  });

  test('fails by name, without what the receiver repeats', async () => {
    const refused = (url: string) =>
      sendPost(teams.post({ url }, message), rules).then(
        () => 'sent',
        (error: Error) => error.message,
      );
    receiver.answer = () => 413;
    expect(await refused(receiver.url)).toBe('Teams answered 413');
    for (const [status, said] of [
      [202, 'sent'],
      [299, 'sent'],
      [300, 'Teams answered 300'],
    ] as const) {
      receiver.answer = () => status;
      expect(await refused(receiver.url)).toBe(said);
    }
    receiver.answer = () => 200;
    const older = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () =>
        new Response(
          'Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429 with ContextId x',
        ),
    });
    expect(await refused(`http://127.0.0.1:${older.port}/`)).toBe('Teams answered 429');
    await older.stop(true);
    expect(
      await sendPost(teams.post({ url: receiver.url }, message), { allowPrivate: false }).catch(
        (error: Error) => error.message,
      ),
    ).toContain('loopback');
  });
});
