// Notifications as they arrive: by a real mail server, by HTTP receivers, and as text for a terminal.

import { afterAll, describe, expect, test } from 'bun:test';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { http } from '../../../../src/core/channels/http.ts';
import { approvalLinks, clipped, type NotificationMessage } from '../../../../src/core/channels/message.ts';
import { webhookPost } from '../../../../src/core/channels/slack.ts';
import { visible } from '../../../../src/core/text/visible.ts';
import { sendEmail } from '../../../../src/guard/approvals/notify/email.ts';
import { htmlText, plainText } from '../../../../src/guard/approvals/notify/mail-text.ts';
import { sendPost } from '../../../../src/guard/approvals/notify/send.ts';
import { terminalText } from '../../../../src/guard/approvals/notify/terminal.ts';

const closing: (() => unknown)[] = [];
afterAll(() => Promise.all(closing.map(close => close())));

const TOKEN = `tg_apr_${'a'.repeat(49)}`;
const message: NotificationMessage = {
  referenceId: '0198c0de-0000-7000-8000-000000000001',
  keyName: 'prod agent',
  sessionLabel: 'nightly run',
  personEmail: null,
  serverName: 'github',
  toolName: 'create_issue',
  reason: 'Rule 3 of policy "prod" requires approval for github__create_issue.',
  ...approvalLinks('https://gate.example', TOKEN),
  expiresAt: '2026-08-01T12:34:56.000Z',
  id: '0198c0de-0000-7000-8000-000000000002',
  approverGroup: null,
  votesNeeded: 1,
  proof: null,
  details: null,
  reviewFirst: false,
  marks: [],
  askedAt: '2026-08-01T11:34:56.000Z',
};
const RTL = '\u202e';
const hostile: NotificationMessage = {
  ...message,
  keyName: 'k"\r\nBcc: evil@example.com\r\n\r\nbody',
  sessionLabel: `<b>bold</b>\u200b${RTL}`,
  serverName: 'git\nhub',
  toolName: '<img src=x onerror="alert(1)">&<!channel> *x*\u0007',
  reason: `<script>alert('x')</script>${RTL}`,
};
const rules = { allowPrivate: true };
const ROUTE = { from: 'Toolgate <gate@example.com>', to: ['ops@example.com', 'ana@example.com'] };

async function failure(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (each: unknown) => each,
  );
  expect(error).toBeInstanceOf(Error);
  return (error as Error).message;
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('waited a minute in vain');
    await Bun.sleep(5);
  }
}

describe('the message', () => {
  test('links carry the token and the action', () => {
    expect(approvalLinks('https://gate.example', TOKEN)).toEqual({
      approveUrl: `https://gate.example/v1/approve/${TOKEN}?action=approve`,
      denyUrl: `https://gate.example/v1/approve/${TOKEN}?action=deny`,
      reviewUrl: `https://gate.example/v1/approve/${TOKEN}`,
    });
  });

  test('characters one cannot see are spelt out, others stay', () => {
    expect(visible(`a${RTL}b\u200b\u200d\u2066\ufeff\u00ad\u0000\n\u0085\u2028\u{e0041}\u3164`)).toBe(
      'a\\u{202E}b\\u{200B}\\u{200D}\\u{2066}\\u{FEFF}\\u{00AD}\\u{0000}\\u{000A}\\u{0085}\\u{2028}\\u{E0041}\\u{3164}',
    );
    expect(visible('lone \ud800 surrogate')).toBe('lone \\u{D800} surrogate');
    expect(visible('Größe 東京 🎉 a_b*c')).toBe('Größe 東京 🎉 a_b*c');
  });

  test('clipping keeps characters and their spellings whole', () => {
    expect(clipped('abc', 3)).toBe('abc');
    expect(clipped('abcd', 3)).toBe('ab…');
    expect(clipped('🎉🎉🎉', 4)).toBe('🎉…');
    expect(clipped('a&b', 5, char => (char === '&' ? '&amp;' : char))).toBe('a…');
  });

  test('plain text and HTML each hold every fact and all links', () => {
    const html = htmlText(message).replaceAll('&#34;', '"').replaceAll('&#39;', "'");
    for (const text of [plainText(message), html]) {
      const { referenceId, keyName, sessionLabel, serverName, toolName, reason } = message;
      const links = [
        message.approveUrl,
        message.denyUrl,
        `${message.reviewUrl}${text === html ? '"' : '\n'}`,
      ];
      const named = [referenceId, keyName, sessionLabel, serverName, toolName, reason];
      for (const fact of [...named, ...links, '2026-08-01 12:34:56 UTC']) {
        expect(text).toContain(fact as string);
      }
    }
  });

  test('both say what the links do, and what happens without them', () => {
    for (const text of [plainText(message), htmlText(message)]) {
      expect(text).toContain(
        'Approving frees this one call. The links work once; do not pass this message on. If you do nothing, the call stays blocked.',
      );
    }
  });

  test('both links of the HTML are buttons, each in a colour of its own', () => {
    const style =
      'display:inline-block;padding:12px 28px;margin:0 8px 8px 0;border-radius:8px;color:#ffffff;font-weight:600;text-decoration:none';
    const html = htmlText(message);
    expect(html).toContain(`<a href="${message.approveUrl}" style="${style};background:#15803d">Approve</a>`);
    expect(html).toContain(`<a href="${message.denyUrl}" style="${style};background:#b91c1c">Deny</a>`);
  });

  test('a call without a session shows none, one without a label says so', () => {
    expect(plainText({ ...message, sessionLabel: null })).not.toContain('Session');
    expect(plainText({ ...message, sessionLabel: '' })).toMatch(/Session: +\(no label\)/);
  });

  test('hostile names make neither markup, nor lines, nor invisible text', () => {
    const html = htmlText(hostile);
    expect(html).not.toMatch(/<(script|img|b|!channel)\b/);
    const lines = plainText(hostile).split('\n').length;
    expect(lines).toBe(plainText(message).split('\n').length);
    for (const text of [html, plainText(hostile), terminalText(hostile)]) {
      expect(text).not.toMatch(/[\u202e\u200b\u0007\r]/);
      expect(text).toContain('\\u{202E}');
      expect(text).toContain('git\\u{000A}hub');
    }
  });

  test('a terminal gets the question, both links and the time', () => {
    const text = terminalText(message);
    expect(text.split('\n')[0]).toBe('Approval needed: github__create_issue');
    expect(text).toContain(message.approveUrl);
    expect(text).toContain(message.denyUrl);
    expect(text).toContain('2026-08-01 12:34:56 UTC');
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(8);
  });
});

interface Mail {
  from: string;
  to: string[];
  head: string;
  parts: { type: string; text: string }[];
}

interface MailServer {
  url: string;
  mails: Mail[];
  open: () => number;
}

async function mailServer(refuse: (address: string) => boolean = () => false): Promise<MailServer> {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    logger: false,
    onAuth: (auth, _session, done) =>
      auth.password === 'right' ? done(null, { user: 'u' }) : done(new Error('no such user s3cret')),
    onRcptTo: (address, _session, done) => done(refuse(address.address) ? new Error('no such box') : null),
    onData: async (stream, session, done) => {
      const source = await new Response(stream as unknown as ReadableStream).text();
      const from = session.envelope.mailFrom;
      mails.push({
        from: from === false ? '' : from.address,
        to: session.envelope.rcptTo.map(each => each.address),
        ...readMail(source),
      });
      done();
    },
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => new Promise<void>(resolve => server.close(() => resolve())));
  const { port } = server.server.address() as AddressInfo;
  return { url: `127.0.0.1:${port}`, mails, open: () => server.connections.size };
}

/** The head with its folded lines joined, and the parts decoded. */
function readMail(source: string): { head: string; parts: Mail['parts'] } {
  const [head, ...rest] = source.split('\r\n\r\n');
  const boundary = /boundary="([^"]+)"/.exec(source)?.[1] ?? '';
  const parts = rest
    .join('\r\n\r\n')
    .split(`--${boundary}`)
    .filter(part => part.includes('Content-Type'))
    .map(part => {
      const [partHead, ...body] = part.split('\r\n\r\n') as [string, ...string[]];
      return {
        type: /Content-Type: ([^;]+)/.exec(partHead)?.[1] ?? '',
        text: decoded(partHead, body.join('\r\n\r\n')),
      };
    });
  return { head: (head ?? '').replace(/\r\n[ \t]+/g, ' '), parts };
}

function decoded(partHead: string, body: string): string {
  if (/base64/i.test(partHead)) return Buffer.from(body, 'base64').toString();
  if (!/quoted-printable/i.test(partHead)) return body;
  const bytes = body
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

function header(mail: Mail, name: string): string | undefined {
  const value = new RegExp(`^${name}: (.*)$`, 'im').exec(mail.head)?.[1];
  return value
    ?.replace(/\?= =\?/g, '?==?')
    .replace(/=\?UTF-8\?Q\?(.*?)\?=/gi, (_, text) => decoded('quoted-printable', text.replaceAll('_', ' ')))
    .replace(/=\?UTF-8\?B\?(.*?)\?=/gi, (_, text) => Buffer.from(text, 'base64').toString());
}

/** A mail server that only says what it is told to, and counts its connections. */
async function rawMailServer(behave: (socket: Socket) => void) {
  const seen = { port: 0, opened: 0, closed: 0 };
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    seen.opened++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => seen.closed++);
    socket.resume();
    behave(socket);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  seen.port = (server.address() as AddressInfo).port;
  return seen;
}

describe('by e-mail', () => {
  test('arrives as plain text and HTML, each with all facts and both links', async () => {
    const server = await mailServer();
    expect(await sendEmail({ smtpUrl: `smtp://${server.url}`, ...ROUTE }, message)).toEqual({ rejected: [] });
    const [mail] = server.mails as [Mail];
    expect([mail.from, mail.to]).toEqual(['gate@example.com', ROUTE.to]);
    expect(header(mail, 'Content-Type')).toStartWith('multipart/alternative');
    expect(mail.parts.map(part => part.type)).toEqual(['text/plain', 'text/html']);
    expect(mail.parts[0]!.text.replaceAll('\r\n', '\n').trim()).toBe(plainText(message).trim());
    expect(mail.parts[1]!.text.replaceAll('\r\n', '\n').trim()).toBe(htmlText(message).trim());
    expect(mail.parts[1]!.text).toContain(`<a href="${message.approveUrl}"`);
    expect(mail.parts[1]!.text).toContain(`<a href="${message.denyUrl}"`);
  });

  test('says in its head what it is, with one Message-ID for every attempt', async () => {
    const server = await mailServer();
    for (let attempt = 0; attempt < 2; attempt++) {
      await sendEmail({ smtpUrl: `smtp://${server.url}`, ...ROUTE }, message);
    }
    const [first, second] = server.mails as [Mail, Mail];
    expect(header(first, 'Subject')).toBe('Approve github__create_issue? (key "prod agent")');
    expect(header(first, 'From')).toBe('Toolgate <gate@example.com>');
    expect(header(first, 'To')).toBe('ops@example.com, ana@example.com');
    expect(header(first, 'Auto-Submitted')).toBe('auto-generated');
    expect(header(first, 'Message-ID')).toBe(`<notification.${message.id}@example.com>`);
    expect(header(second, 'Message-ID')).toBe(header(first, 'Message-ID')!);
    await until(() => server.open() === 0);
  });

  test('hostile names reach neither the head nor the recipients', async () => {
    const server = await mailServer();
    const smtpUrl = `smtp://${server.url}`;
    await sendEmail({ smtpUrl, ...ROUTE }, hostile);
    await sendEmail(
      { smtpUrl, ...ROUTE },
      { ...hostile, toolName: RTL.repeat(128), keyName: 'ü'.repeat(200) },
    );
    for (const mail of server.mails) {
      expect(mail.to).toEqual(ROUTE.to);
      expect(mail.head).not.toMatch(/^bcc:/im);
      expect(header(mail, 'Subject')!).not.toMatch(/[\r\n\u202e]/);
      expect(header(mail, 'Subject')!.length).toBeLessThan(250);
      expect(mail.parts).toHaveLength(2);
    }
    expect(header(server.mails[0]!, 'Subject')).toContain('git\\u{000A}hub__<img');
  });

  test('an address is one address, whatever is in it', async () => {
    const server = await mailServer();
    for (const to of ['a@example.com, evil@example.com', 'a@example.com\r\nBcc: evil@example.com']) {
      const route = { smtpUrl: `smtp://${server.url}`, from: 'gate@example.com', to: [to] };
      expect(await failure(sendEmail(route, message))).toContain('refused');
    }
    expect(server.mails).toEqual([]);
  });

  test('signs in with the credentials of the URL, and never repeats them', async () => {
    const server = await mailServer();
    await sendEmail({ smtpUrl: `smtp://me:right@${server.url}`, ...ROUTE }, message);
    expect(server.mails).toHaveLength(1);
    const wrong = sendEmail({ smtpUrl: `smtp://me:s3cret@${server.url}`, ...ROUTE }, message);
    expect(await failure(wrong)).toBe('the mail server refused the user name or password (535)');
    await until(() => server.open() === 0);
  });

  test('one refused recipient is told of, all of them are a failure', async () => {
    const some = await mailServer(address => address.startsWith('ana'));
    expect(await sendEmail({ smtpUrl: `smtp://${some.url}`, ...ROUTE }, message)).toEqual({
      rejected: ['ana@example.com'],
    });
    const none = await mailServer(() => true);
    expect(await failure(sendEmail({ smtpUrl: `smtp://${none.url}`, ...ROUTE }, message))).toBe(
      'the mail server refused the sender or every recipient (550)',
    );
    await until(() => some.open() + none.open() === 0);
  });

  const STALLS: [string, (socket: Socket) => void][] = [
    ['says nothing', () => {}],
    ['greets and then says nothing', socket => void socket.write('220 hello\r\n')],
    [
      'trickles its replies',
      socket => {
        socket.write('220 hello\r\n');
        const timer = setInterval(() => socket.write('250-still here\r\n'), 20);
        socket.on('close', () => clearInterval(timer));
      },
    ],
  ];
  for (const [what, behave] of STALLS) {
    test(`a server that ${what} is given up in time, and its connection closed`, async () => {
      const server = await rawMailServer(behave);
      const route = { smtpUrl: `smtp://127.0.0.1:${server.port}`, ...ROUTE, timeoutMs: 200 };
      let tries = 0;
      // In so short a time a machine that stalls may not get as far as to connect.
      do {
        tries++;
        expect(await failure(sendEmail(route, message))).toBe('no answer from the mail server within 0.2 s');
      } while (server.opened === 0);
      await until(() => server.closed === server.opened);
      expect(server.opened).toBeLessThanOrEqual(tries);
    });
  }

  test('a server that refuses, closes or resets fails by name, after one try', async () => {
    const refusing = await rawMailServer(socket => socket.end('554 go away\r\n'));
    const closed = await rawMailServer(socket => socket.end());
    const reset = await rawMailServer(socket => socket.resetAndDestroy());
    for (const server of [refusing, closed, reset]) {
      const work = sendEmail({ smtpUrl: `smtp://127.0.0.1:${server.port}`, ...ROUTE }, message);
      expect(await failure(work)).toMatch(/mail server/);
      await until(() => server.closed === 1);
      expect(server.opened).toBe(1);
    }
    const nobody = sendEmail({ smtpUrl: 'smtp://127.0.0.1:1', ...ROUTE }, message);
    expect(await failure(nobody)).toBe('no connection to the mail server');
    const nowhere = sendEmail({ smtpUrl: 'smtp://no-such-host.invalid', ...ROUTE }, message);
    expect(await failure(nowhere)).toBe('the name of the mail server could not be resolved');
  });
});

function httpReceiver(status = 200, body = 'ok') {
  const seen: { type: string | null; key: string | null; json: unknown }[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async request => {
      const text = await request.text();
      const { headers } = request;
      seen.push({
        type: headers.get('content-type'),
        key: headers.get('x-key'),
        json: JSON.parse(text),
      });
      return new Response(body === 'echo' ? text : body, { status });
    },
  });
  closing.push(() => server.stop(true));
  return { url: `http://127.0.0.1:${server.port}/in`, seen };
}

describe('by HTTP', () => {
  test('is exactly the documented JSON', async () => {
    const { url, seen } = httpReceiver(204, '');
    const extra = { ...hostile, token: TOKEN, args: { secret: 1 } };
    await sendPost(http.post({ url }, extra), rules);
    const {
      id: _,
      approverGroup: __,
      votesNeeded: ___,
      details: ____,
      personEmail: _____,
      proof: ______,
      marks: _______,
      askedAt: ________,
      ...always
    } = hostile;
    expect(seen).toEqual([{ type: 'application/json', json: always, key: null }]);
    const details = { question: 'Refund 5?', fields: [{ path: 'amount', value: '5' }], complete: true };
    const personEmail = 'ann@example.com';
    const more = { sessionLabel: null, personEmail, approverGroup: 'finance', votesNeeded: 2, details };
    const signed = { ...more, proof: 'passkey' as const };
    const two = { ...message, ...signed };
    await sendPost(http.post({ url, headers: { 'X-Key': 'abc' } }, two), rules);
    expect(seen[1]).toMatchObject({ key: 'abc', json: signed });
  });

  test('only a 2xx is success, and an echo of the links stays out of the error', async () => {
    const last = httpReceiver(299);
    await sendPost(http.post({ url: last.url }, message), rules);
    await sendPost(webhookPost(last.url, message), rules);
    expect(last.seen).toHaveLength(2);
    for (const status of [300, 302, 400, 404, 500]) {
      const { url } = httpReceiver(status, 'echo');
      expect(await failure(sendPost(http.post({ url }, message), rules))).toBe(
        `the notifier answered ${status}`,
      );
      expect(await failure(sendPost(webhookPost(url, message), rules))).toBe(`Slack answered ${status}`);
    }
  });

  test('the rules on addresses and the time limit hold', async () => {
    const { url, seen } = httpReceiver();
    const strict = { allowPrivate: false };
    expect(await failure(sendPost(http.post({ url }, message), strict))).toContain('loopback');
    expect(await failure(sendPost(webhookPost(url, message), strict))).toContain('loopback');
    expect(seen).toEqual([]);
    const silent = await rawMailServer(() => {});
    const stuck = `http://127.0.0.1:${silent.port}/`;
    expect(await failure(sendPost(http.post({ url: stuck }, message), rules, 200))).toBe(
      'no answer within 0.2 s',
    );
    expect(await failure(sendPost(webhookPost(stuck, message), rules, 200))).toBe('no answer within 0.2 s');
  });
});

interface SlackText {
  type: string;
  text: string;
}

interface SlackJson {
  text: string;
  blocks: { type: string; text?: SlackText; fields?: SlackText[]; elements?: object[] }[];
}

async function slackJson(about: NotificationMessage): Promise<SlackJson> {
  const { url, seen } = httpReceiver();
  await sendPost(webhookPost(url, about), rules);
  return seen[0]!.json as SlackJson;
}

describe('by Slack', () => {
  test('shows the facts, link buttons and a text for those who see no blocks', async () => {
    const { text, blocks } = await slackJson(message);
    expect(text).toBe('Approve github__create_issue? Lapses 2026-08-01 12:34:56 UTC.');
    const fields = blocks.flatMap(block => block.fields ?? []).map(field => field.text);
    expect(fields).toContain('Key: prod agent');
    expect(fields).toContain('Session: nightly run');
    expect(fields).toContain(`Reason: ${message.reason}`);
    const buttons = blocks.find(block => block.type === 'actions')?.elements;
    expect(buttons).toMatchObject([
      { type: 'button', text: { text: 'Approve' }, url: message.approveUrl, style: 'primary' },
      { type: 'button', text: { text: 'Deny' }, url: message.denyUrl, style: 'danger' },
      { type: 'button', text: { text: 'Review' }, url: message.reviewUrl },
    ]);
  });

  test('hostile names are plain text, escaped, and within what Slack takes', async () => {
    const long = { toolName: '&'.repeat(128), keyName: RTL.repeat(200), reason: '<'.repeat(5000) };
    for (const about of [hostile, { ...hostile, ...long }]) {
      const { text, blocks } = await slackJson(about);
      const texts = blocks.flatMap(block => [...(block.text ? [block.text] : []), ...(block.fields ?? [])]);
      for (const each of texts) {
        expect(each.type).toBe('plain_text');
        expect(each.text.length).toBeLessThanOrEqual(2000);
      }
      const all = [text, ...texts.map(each => each.text)].join('\n');
      expect(all).not.toMatch(/[<>\u202e\u200b\u0007]|&(?!(amp|lt|gt);)/);
    }
  });

  test('its own word for an error is repeated', async () => {
    const { url } = httpReceiver(404, 'no_service');
    expect(await failure(sendPost(webhookPost(url, message), rules))).toBe('Slack answered 404 (no_service)');
  });
});
