// Settings: a wrong one stops the start and says how to right it; `toolgate config` shows them all.

import { afterAll, describe, expect, test } from 'bun:test';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, loadConfig } from '../../src/settings/config.ts';
import { SETTINGS } from '../../src/settings/settings.ts';
import { withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { need } from '../support/need.ts';
import { BUN, failToStart, onPath, ROOT, startService } from '../support/service.ts';

const folder = mkdtempSync(join(tmpdir(), 'toolgate-config-'));
const newFolder = () => mkdtempSync(join(folder, 'data-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What a start had opened cannot be closed after it failed. */
const UNCLOSED: Patch = {
  file: 'src/main.ts',
  find: 'opening.defer(() => db.close());',
  replace: "opening.defer(() => Promise.reject(new Error('unclosed')));",
};

function toolgate(args: string[], env: Record<string, string> = {}, cwd = folder) {
  const run = Bun.spawnSync([BUN, join(ROOT, 'src/cli/main.ts'), ...args], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...env },
  });
  return { code: run.exitCode, out: run.stdout.toString(), err: run.stderr.toString() };
}

/** The sentence that stops a start with this environment. */
function complaint(env: Record<string, string>): string {
  try {
    loadConfig(env, folder);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error(`it was accepted: ${JSON.stringify(env)}`);
}

const WRONG: Record<string, [string[], remedy: string]> = {
  TOOLGATE_PORT: [['http', '65536', '-1', '80.5', ' 80'], 'a whole number from 0 to 65535'],
  TOOLGATE_PUBLIC_URL: [['example.com', 'ftp://x'], 'an http:// or https:// address'],
  TOOLGATE_DATABASE_URL: [['mysql://x', 'toolgate.db', 'sqlite:'], 'sqlite:<path> or postgres://'],
  TOOLGATE_LOG_LEVEL: [['verbose', 'INFO'], 'one of trace, debug, info, warn, error, silent'],
  TOOLGATE_QUEUE_LIMIT: [['0', 'many'], 'a whole number from 1 to'],
  TOOLGATE_CHECK_BODY_LIMIT: [['1MB', '10'], 'a whole number from 1024'],
  TOOLGATE_APPROVAL_TIMEOUT: [['1 hour', '60', '0m'], 'a duration such as 90s, 60m, 24h or 7d'],
  TOOLGATE_APPROVE_PAGE: [['manual'], 'one of auto, confirm'],
  TOOLGATE_TRUSTED_PROXIES: [['10.0.0.0/33', 'localhost'], 'networks such as 10.0.0.0/8'],
  TOOLGATE_APPROVER_EMAILS: [['nobody'], 'e-mail addresses, comma-separated'],
  TOOLGATE_ALLOW_PRIVATE_NETWORKS: [['yes', '1'], 'one of true, false'],
  TOOLGATE_TOOLS_LIST: [['some'], 'one of all, callable'],
};

const WRONG_SECRETS: Record<string, [string[], remedy: string]> = {
  TOOLGATE_MASTER_KEY: [['c2hvcnQ=', 'x'.repeat(44)], 'openssl rand -base64 32'],
  TOOLGATE_ADMIN_TOKEN: [['too-short-admin-token'], 'at least 32 characters'],
  TOOLGATE_SMTP_URL: [['http://user:pw@mail'], 'smtp://user:password@host:587'],
  TOOLGATE_SLACK_WEBHOOK_URL: [['hooks.slack.com/SECRET'], 'an http:// or https:// address'],
  TOOLGATE_CHECKPOINT_S3_KEY: [['AKIAEXAMPLE', 'AKIAEXAMPLE: s3cret'], '<access key id>:<secret access key>'],
};

describe('a wrong value', () => {
  for (const [name, [values, remedy]] of Object.entries(WRONG)) {
    test(`of ${name} is named with its value and what would be right`, () => {
      for (const value of values) {
        const sentence = complaint({ [name]: value });
        expect(sentence).toStartWith(`${name} is ${JSON.stringify(value)}: it must be`);
        expect(sentence).toContain(remedy);
      }
    });
  }

  for (const [name, [values, remedy]] of Object.entries(WRONG_SECRETS)) {
    test(`of ${name} is named without the value`, () => {
      for (const value of values) {
        const sentence = complaint({ [name]: value });
        expect(sentence).toStartWith(name);
        expect(sentence).toContain(remedy);
        expect(sentence).not.toContain(value);
      }
    });
  }

  test('stops the start with exit code 1, no trace of the stack, before anything is made', async () => {
    const output = await failToStart({ dataDir: newFolder(), env: { TOOLGATE_PORT: 'eighty' } });
    expect(output).toContain('ended with 1');
    expect(output).toContain(
      'toolgate: TOOLGATE_PORT is "eighty": it must be a whole number from 0 to 65535.',
    );
    expect(output).not.toMatch(/\n\s+at /);
  });

  test('mail without a sender or approvers is incomplete', () => {
    const smtp = { TOOLGATE_SMTP_URL: 'smtp://localhost' };
    expect(complaint(smtp)).toContain('TOOLGATE_MAIL_FROM');
    expect(complaint({ ...smtp, TOOLGATE_MAIL_FROM: 'a@b.c' })).toContain('TOOLGATE_APPROVER_EMAILS');
  });

  test('checkpoints go out under one credential', () => {
    const both = { TOOLGATE_CHECKPOINT_AUTHORIZATION: 'Bearer x', TOOLGATE_CHECKPOINT_S3_KEY: 'id:secret' };
    expect(complaint(both)).toContain('both set');
  });

  test('a port in use is said so', async () => {
    const service = await startService();
    const { port } = new URL(service.url);
    const env = { TOOLGATE_PORT: port };
    expect(await failToStart({ dataDir: newFolder(), env })).toContain('TOOLGATE_PORT');
    const said = await withMutant([UNCLOSED], root => failToStart({ root, dataDir: newFolder(), env }));
    expect(said).toContain('TOOLGATE_PORT');
    await service.close();
  });

  test('a database that cannot be reached stops the start', async () => {
    const output = await failToStart({
      dataDir: newFolder(),
      databaseUrl: 'postgres://x:hunter2@127.0.0.1:1/none',
    });
    expect(output).toContain('toolgate: PostgreSQL at 127.0.0.1:1 cannot be reached');
    expect(output).toContain('TOOLGATE_DATABASE_URL');
    expect(output).not.toContain('hunter2');
  });

  test('a data folder that cannot be written is reported, with the user who cannot write it', async () => {
    const dataDir = newFolder();
    chmodSync(dataDir, 0o500);
    // Root writes everywhere, unless it is told not to.
    const root = process.getuid?.() === 0;
    if (root && !need(onPath('setpriv'), 'setpriv')) return;
    const wrap = root ? ['setpriv', '--bounding-set=-dac_override', '--inh-caps=-dac_override'] : [];
    const output = await failToStart({ dataDir, wrap });
    expect(output).toContain(`The data folder ${dataDir} cannot be written by user ${process.getuid?.()}`);
    expect(output).toContain('TOOLGATE_DATA_DIR');
  });
});

describe('toolgate config', () => {
  test('lists every setting with its meaning, default, value and origin', () => {
    const { code, out } = toolgate(['config'], { TOOLGATE_PORT: '9000' });
    expect(code).toBe(0);
    for (const { env, meaning } of Object.values(SETTINGS)) {
      expect(out).toContain(env);
      expect(out).toContain(meaning);
    }
    expect(out).toMatch(/TOOLGATE_PORT = 9000 .*environment.*8787/);
    const all = JSON.parse(toolgate(['config', '--json']).out) as { env: string; origin: string }[];
    expect(all.map(each => each.env)).toEqual(Object.values(SETTINGS).map(each => each.env));
    expect(new Set(all.map(each => each.origin))).toEqual(new Set(['default']));
  });

  test('masks every secret, also a password inside an address', () => {
    const env = {
      TOOLGATE_MASTER_KEY: Buffer.alloc(32, 9).toString('base64'),
      TOOLGATE_ADMIN_TOKEN: 'an-admin-token-that-is-long-enough-1',
      TOOLGATE_SMTP_URL: 'smtp://u:smtp-password@mail.example.com',
      TOOLGATE_MAIL_FROM: 'toolgate@example.com',
      TOOLGATE_APPROVER_EMAILS: 'ops@example.com',
      TOOLGATE_SLACK_WEBHOOK_URL: 'https://hooks.slack.com/services/slack-secret',
      TOOLGATE_SLACK_BOT_TOKEN: 'xoxb-bot-secret',
      TOOLGATE_SLACK_SIGNING_SECRET: 'signing-secret',
      TOOLGATE_NOTIFY_URL: 'https://notify.example.com/notify-secret',
      TOOLGATE_DATABASE_URL: 'postgres://toolgate:database-password@db.example.com/toolgate',
    };
    for (const args of [['config'], ['config', '--json']]) {
      const { code, out, err } = toolgate(args, env);
      expect(code).toBe(0);
      const secrets = [
        env.TOOLGATE_MASTER_KEY,
        env.TOOLGATE_ADMIN_TOKEN,
        'smtp-password',
        'slack-secret',
        'bot-secret',
        'signing-secret',
        'notify-secret',
      ];
      for (const secret of [...secrets, 'database-password']) expect(out + err).not.toContain(secret);
    }
  });

  test('says what is wrong and exits with 1', () => {
    const { code, err, out } = toolgate(['config'], { TOOLGATE_LOG_LEVEL: 'loud' });
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('TOOLGATE_LOG_LEVEL is "loud"');
  });

  test('points at names that nobody reads', () => {
    expect(toolgate(['config'], { TOOLGATE_PROT: '1' }).out).toContain('TOOLGATE_PROT');
  });
});

describe('the server file', () => {
  const write = (name: string, text: string) => {
    const path = join(mkdtempSync(join(folder, 'file-')), name);
    writeFileSync(path, text);
    return path;
  };
  const load = (text: string, env: Record<string, string> = {}) =>
    loadConfig({ TOOLGATE_CONFIG: write('any.yaml', text), ...env }, folder);

  test('sets what the environment does not', () => {
    const text = 'port: 9001\nlogLevel: warn\napproverEmails: [a@x.y, b@x.y]\nallowPrivateNetworks: false\n';
    const { config } = load(text, { TOOLGATE_PORT: '9002' });
    expect(config).toMatchObject({ port: 9002, logLevel: 'warn', approverEmails: ['a@x.y', 'b@x.y'] });
    expect(config.allowPrivateNetworks).toBe(false);
    const origin = (name: string) => config.origins.find(each => each.name === name)?.origin;
    expect([origin('port'), origin('logLevel'), origin('host')]).toEqual(['environment', 'file', 'default']);
  });

  test('is toolgate.yaml in the working folder unless TOOLGATE_CONFIG points elsewhere', () => {
    const path = write('toolgate.yaml', 'port: 9003\n');
    const cwd = join(path, '..');
    expect(loadConfig({}, cwd)).toMatchObject({ file: path, config: { port: 9003 } });
    expect(toolgate(['config'], {}, cwd).out).toMatch(/TOOLGATE_PORT = 9003 .*file/);
    expect(complaint({ TOOLGATE_CONFIG: 'missing.yaml' })).toContain('there is no such file');
  });

  test('declares stdio servers', () => {
    const text =
      'stdioServers:\n  files:\n    command: npx\n    args: [-y, server]\n    env: { ROOT: /srv }\n  bare: { command: x }\n';
    expect(Object.fromEntries(load(text).config.stdioServers.all)).toEqual({
      files: { command: 'npx', args: ['-y', 'server'], env: { ROOT: '/srv' } },
      bare: { command: 'x', args: [], env: {} },
    });
  });

  test('with a mistake stops the start and says where', () => {
    const mistakes: Record<string, string> = {
      'prot: 1\n': 'unknown setting "prot"',
      'port: many\n': 'port is "many"',
      '- port\n': 'expected settings',
      'port: [\n': 'cannot be read',
      'stdioServers: []\n': 'stdioServers must be an object',
      'stdioServers: { a: { args: [] } }\n': 'stdioServers.a needs "command"',
      'stdioServers: { a: { command: x, args: [1] } }\n': 'stdioServers.a.args',
      'stdioServers: { a: { command: x, env: { N: 1 } } }\n': 'stdioServers.a.env',
      'stdioServers: { a: { command: x, cwd: / } }\n': 'unknown field "cwd"',
    };
    for (const [text, part] of Object.entries(mistakes)) {
      expect(complaint({ TOOLGATE_CONFIG: write('wrong.yaml', text) })).toContain(part);
    }
  });
});
