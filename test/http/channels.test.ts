// Named channels of the server file: each is read strictly, and shown without what is secret in it.

import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, loadConfig } from '../../src/settings/config.ts';
import { BUN, ROOT } from '../support/service.ts';

const folder = mkdtempSync(join(tmpdir(), 'toolgate-channels-'));
const file = join(folder, 'toolgate.yaml');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SECRET = 'canary-of-a-secret';
const MAIL = { TOOLGATE_SMTP_URL: 'smtp://mail.example.com', TOOLGATE_MAIL_FROM: 'toolgate@example.com' };

function load(channels: unknown, env: Record<string, string> = MAIL) {
  writeFileSync(file, JSON.stringify({ channels }));
  return loadConfig(env, folder).config;
}

/** The sentence that stops a start with these channels. */
function complaint(channels: unknown, env: Record<string, string> = MAIL): string {
  try {
    load(channels, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error(`they were accepted: ${JSON.stringify(channels)}`);
}

const URL = `https://example.com/hooks/${SECRET}/`;
const ALL = {
  'finance-mail': { type: 'email', to: ['a@example.com', 'b@example.com'] },
  incoming: { type: 'slack', webhookUrl: URL, details: true },
  // Names of parts that every object has are names like others.
  constructor: { type: 'teams', url: URL, details: false },
  On_call2: { type: 'http', url: URL, headers: { Authorization: `Bearer ${SECRET}`, 'X-Team': '' } },
};

test('every type is read as it is declared, and carries no details unless it says so', () => {
  const { channels } = load(ALL);
  expect({ ...channels }).toEqual({
    'finance-mail': { type: 'email', to: ['a@example.com', 'b@example.com'], details: false },
    incoming: { type: 'slack', webhookUrl: URL, details: true },
    constructor: { type: 'teams', url: URL, details: false },
    On_call2: {
      type: 'http',
      url: URL,
      headers: { Authorization: `Bearer ${SECRET}`, 'X-Team': '' },
      details: false,
    },
  } as never);
  expect({ ...load({}, {}).channels }).toEqual({});
  const fifty = { type: 'email', to: Array(50).fill('a@example.com') };
  expect(load({ fifty }).channels['fifty']).toMatchObject({ to: fifty.to });
});

test('the command `config` lists them without addresses of webhooks and values of headers', () => {
  load(ALL);
  const run = Bun.spawnSync([BUN, join(ROOT, 'src/cli/main.ts'), 'config'], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...MAIL },
  });
  const shown = run.stdout.toString();
  expect(shown).toContain('finance-mail: email, to a@example.com, b@example.com\n');
  expect(shown).toContain('incoming: slack, webhookUrl ********, with details\n');
  expect(shown).toContain('On_call2: http, url ********, Authorization: ********, X-Team: ********\n');
  expect(shown).not.toContain(SECRET);
});

test('a file with the address of a webhook holds a secret; one with e-mail addresses does not', () => {
  const secret = (channels: Record<string, unknown>) =>
    load({ ...channels, mail: ALL['finance-mail'] }).serverFile?.secret;
  expect(secret({})).toBe(false);
  for (const name of ['incoming', 'constructor', 'On_call2'] as const)
    expect(secret({ a: ALL[name] })).toBe(true);
});

test('with a channel for mail, nobody else has to get mail', () => {
  expect(load(ALL).approverEmails).toEqual([]);
  expect(complaint({})).toContain('TOOLGATE_APPROVER_EMAILS');
  expect(complaint({ ops: ALL['finance-mail'] }, {})).toBe(
    'channels.ops sends e-mail but TOOLGATE_SMTP_URL is not set: set it to your mail server, for example ' +
      'smtp://user:password@host:587.',
  );
});

test('a channel in Slack needs the app’s two secrets, or the service’s webhook for links', () => {
  const ops = { type: 'slack', channel: '#approvals' };
  const app = { TOOLGATE_SLACK_BOT_TOKEN: 'xoxb-1', TOOLGATE_SLACK_SIGNING_SECRET: 'abc' };
  expect(load({ ops }, app).channels['ops']).toEqual({ ...ops, details: false } as never);
  expect(load({ ops }, { TOOLGATE_SLACK_WEBHOOK_URL: URL }).slackBotToken).toBeNull();
  expect(complaint({ ops }, {})).toBe(
    'channels.ops posts to Slack but nothing says how: set TOOLGATE_SLACK_BOT_TOKEN and TOOLGATE_SLACK_SIGNING_SECRET to ' +
      'those of your Slack app, or TOOLGATE_SLACK_WEBHOOK_URL to an incoming webhook.',
  );
  for (const one of Object.entries(app))
    expect(complaint({}, Object.fromEntries([one]))).toBe(
      'TOOLGATE_SLACK_BOT_TOKEN and TOOLGATE_SLACK_SIGNING_SECRET go together: set both, or neither.',
    );
});

const url = SECRET;
const MISTAKES: [unknown, says: string][] = [
  [[], 'channels must be an object'],
  [{ default: ALL.incoming }, 'channels.default cannot be declared'],
  [{ 'on call': ALL.incoming }, '"on call" is no name'],
  [{ '-a': ALL.incoming }, '"-a" is no name'],
  [{ [`a${'b'.repeat(64)}`]: ALL.incoming }, 'is no name'],
  [
    Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`c${n}`, ALL.incoming])),
    'has 101 channels: at most 100',
  ],
  [{ a: 'email' }, 'channels.a must be an object'],
  [{ a: { to: ['a@example.com'] } }, 'channels.a needs "type": one of email, slack, teams, http.'],
  [
    { a: { type: 'emial' } },
    'channels.a.type is "emial": it must be one of email, slack, teams, http. Did you mean "email"?',
  ],
  [{ a: { type: 7 } }, 'channels.a.type is 7'],
  [{ a: { type: 'email' } }, 'channels.a needs "to"'],
  [{ a: { type: 'email', to: [] } }, 'channels.a.to must be a list of 1 to 50'],
  [{ a: { type: 'email', to: 'a@example.com' } }, 'channels.a.to must be a list'],
  [{ a: { type: 'email', to: Array(51).fill('a@example.com') } }, 'channels.a.to must be a list'],
  [
    { a: { type: 'email', to: ['a@example.com', 'nobody'] } },
    'channels.a.to has "nobody", which is no e-mail',
  ],
  [{ a: { type: 'email', to: ['a@example.com, b@example.com'] } }, 'which is no e-mail address'],
  [{ a: { type: 'email', url } }, 'unknown field "url"; known with type email: type, to, details.'],
  [
    { a: { type: 'slack', webhookURL: url } },
    'unknown field "webhookURL"; known with type slack: type, webhookUrl, channel, details. Did you mean "webhookUrl"?',
  ],
  [{ a: { type: 'slack' } }, 'channels.a needs "webhookUrl", an incoming webhook, or "channel"'],
  [{ a: { type: 'slack', webhookUrl: URL, channel: '#ops' } }, 'has both "webhookUrl" and "channel"'],
  [{ a: { type: 'slack', webhookUrl: url } }, 'channels.a.webhookUrl must be an http:// or https:// address'],
  // In YAML, what follows # is a comment.
  [{ a: { type: 'slack', channel: null } }, 'in quotation marks: "#approvals"'],
  [{ a: { type: 'slack', channel: 'two words' } }, 'channels.a.channel must be the name or the id'],
  [{ a: { type: 'teams' } }, 'channels.a needs "url", the address of the workflow.'],
  [{ a: { type: 'teams', url: `ftp://${SECRET}` } }, 'channels.a.url must be an http:// or https:// address'],
  [{ a: { type: 'http', url: `https://me:${SECRET}@example.com` } }, 'without a user name or password'],
  [{ a: { type: 'http', url: [URL] } }, 'channels.a.url must be'],
  [{ a: { type: 'http', url: URL, headers: [] } }, 'channels.a.headers must be an object'],
  [{ a: { type: 'http', url: URL, headers: { 'a b': url } } }, '"a b", which is no name of a header'],
  [{ a: { type: 'http', url: URL, headers: { Host: url } } }, '"Host", which the service sets itself'],
  [
    { a: { type: 'http', url: URL, headers: { A: `${SECRET}\r\nB: 1` } } },
    'channels.a.headers.A must be a text',
  ],
  [{ a: { type: 'http', url: URL, headers: { A: 1 } } }, 'channels.a.headers.A must be a text'],
  [
    { a: { type: 'http', url: URL, headers: { A: 'x'.repeat(8193) } } },
    'channels.a.headers.A must be a text',
  ],
  [
    {
      a: {
        type: 'http',
        url: URL,
        headers: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`H${n}`, ''])),
      },
    },
    'has 21 headers: at most 20',
  ],
  [{ a: { ...ALL.incoming, details: 'yes' } }, 'channels.a.details must be true or false'],
];

describe('a mistake stops the start, says where, and quotes no secret', () => {
  test.each(MISTAKES)('%j', (channels, says) => {
    const said = complaint(channels);
    expect(said).toStartWith(`${file}: channels`);
    expect(said).toContain(says);
    expect(said).not.toContain(SECRET);
  });
});
