// What transcripts cannot show: where the admin token comes from and where it never goes, what an apply leaves
// in the service, following the log, and exports that break off.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN_TOKEN, startService, type TestService } from '../support/service.ts';
import { Shell } from './shell.ts';

let service: TestService;
let shell: Shell;
beforeAll(async () => {
  service = await startService();
  shell = new Shell({ TOOLGATE_BASE_URL: service.url, TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN });
});
afterAll(async () => {
  shell.close();
  await service.close();
});

async function changes(): Promise<number> {
  return (await service.admin('GET', '/changes?limit=1000')).body.changes.length;
}

describe('the admin token', () => {
  test('is found in the data folder on the same machine', async () => {
    const bare = { TOOLGATE_ADMIN_TOKEN: '', TOOLGATE_DATA_DIR: service.dataDir };
    expect((await shell.run('toolgate keys list', bare)).code).toBe(64);
    writeFileSync(join(service.dataDir, 'admin.token'), `${ADMIN_TOKEN}\n`);
    expect((await shell.run('toolgate keys list', bare)).code).toBe(0);
  });

  test('of the data folder is shown to no other host', async () => {
    writeFileSync(join(service.dataDir, 'admin.token'), `${ADMIN_TOKEN}\n`);
    const elsewhere = { TOOLGATE_ADMIN_TOKEN: '', TOOLGATE_DATA_DIR: service.dataDir };
    const { code, stderr } = await shell.run('toolgate keys list --base-url http://192.0.2.1', elsewhere);
    expect([code, stderr]).toEqual([64, expect.stringContaining('No admin token')]);
  });

  test('does not follow a redirect', async () => {
    const seen: (string | null)[] = [];
    const other = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: request => {
        seen.push(request.headers.get('authorization'));
        return Response.json({ keys: [], nextCursor: null });
      },
    });
    const first = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => Response.redirect(`${other.url}admin/v1/keys`, 307),
    });
    const { code } = await shell.run(`toolgate keys list --base-url ${first.url}`);
    await Promise.all([first.stop(true), other.stop(true)]);
    expect([code, seen]).toEqual([3, []]);
  });
});

describe('apply', () => {
  const file = JSON.stringify({
    policies: [{ name: 'apply-twice', rules: [{ tool: '*', action: 'deny', reason: 'No.' }] }],
    keys: [
      {
        name: 'twice',
        policy: 'apply-twice',
        expiresAt: '2040-01-01T01:00:00+01:00',
        notify: { slackWebhookUrl: 'https://hooks.slack.com/services/a/b' },
        forward: ['prompts', 'resources'],
      },
    ],
    webhooks: [{ url: 'http://127.0.0.1:9/twice', key: 'twice' }, { url: 'http://127.0.0.1:9/twice' }],
  });

  test('twice changes nothing the second time', async () => {
    shell.file('twice.json', file);
    const before = await changes();
    const first = await shell.run('toolgate apply -f twice.json --yes --json');
    expect(JSON.parse(first.stdout)).toMatchObject({ applied: true, secrets: [{}, {}, {}] });
    const after = await changes();
    expect(after).toBe(before + 4);
    const second = await shell.run('toolgate apply -f twice.json --yes --json');
    const { applied, plan, secrets } = JSON.parse(second.stdout);
    expect([applied, plan.map((step: { action: string }) => step.action), secrets]).toEqual([
      false,
      ['none', 'none', 'none', 'none'],
      [],
    ]);
    expect([await changes(), second.code]).toEqual([after, 0]);
  });

  test('with --dry-run changes nothing', async () => {
    shell.file('dry.json', JSON.stringify({ policies: [{ name: 'dry', rules: [] }] }));
    const before = await changes();
    const { code, stdout } = await shell.run('toolgate apply -f dry.json --dry-run');
    expect([code, stdout, await changes()]).toEqual([0, '+ policy dry\n', before]);
  });

  test('that fails on the way still shows the secrets it made', async () => {
    shell.file(
      'fails.json',
      JSON.stringify({
        keys: [{ name: 'half', policy: 'default' }],
        webhooks: [{ url: 'http://169.254.169.254/', key: 'half' }],
      }),
    );
    const text = await shell.run('toolgate apply -f fails.json --yes');
    expect([text.code, text.stdout]).toEqual([1, expect.stringMatching(/^key half: tg_key_\w{49}$/m)]);
    expect(text.stderr).toStartWith('toolgate: ');
  });
});

describe('audit tail', () => {
  test('shows each new entry once, and ends with Ctrl-C', async () => {
    const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
    for (let call = 0; call < 5; call++) await service.check(key, 'before', `t${call}`);
    const child = shell.start('exec toolgate audit tail -n 2 --interval 1 --json');
    let text = '';
    const reading = (async () => {
      const decoder = new TextDecoder();
      for await (const chunk of child.stdout) text += decoder.decode(chunk, { stream: true });
    })();
    const tools = () =>
      text
        .split('\n')
        .slice(0, -1)
        .map(line => JSON.parse(line).toolName);
    await until(() => tools().length === 2);
    for (let call = 0; call < 3; call++) await service.check(key, 'after', `u${call}`);
    await until(() => tools().length >= 5);
    await service.check(key, 'after', 'last');
    await until(() => tools().includes('last'));
    child.kill('SIGINT');
    expect(await child.exited).toBe(0);
    await reading;
    expect(tools()).toEqual(['t3', 't4', 'u0', 'u1', 'u2', 'last']);
  });
});

async function until(condition: () => boolean): Promise<void> {
  const end = Date.now() + 60_000;
  while (!condition()) {
    if (Date.now() > end) throw new Error('it did not happen in time');
    await Bun.sleep(20);
  }
}

describe('audit export', () => {
  test('gives every entry, as the service streams it', async () => {
    const { key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]);
    await Promise.all(Array.from({ length: 2500 }, (_, call) => service.check(key, 's', `t${call}`)));
    const { code } = await shell.run(`toolgate audit export --key-id ${keyId} --output all.jsonl`);
    const lines = readFileSync(join(shell.folder, 'all.jsonl'), 'utf8').trim().split('\n');
    const tools = new Set(lines.map(line => JSON.parse(line).toolName));
    expect([code, lines.length, tools.size]).toEqual([0, 2500, 2500]);
    const piped = await shell.run(`toolgate audit export --key-id ${keyId} | cksum; cksum < all.jsonl`);
    const [first, second] = piped.stdout.trim().split('\n');
    expect(first).toBe(second as string);
  });

  test('that breaks off leaves no file, and says so', async () => {
    const { promise: cut, resolve } = Promise.withResolvers<void>();
    const fake = Bun.listen({
      port: 0,
      hostname: '127.0.0.1',
      socket: {
        data: socket => {
          socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n');
          socket.flush();
          // It has begun to write what it got.
          until(() => readdirSync(shell.folder).includes('cut.jsonl.part')).then(() => {
            socket.terminate();
            resolve();
          });
        },
      },
    });
    const ran = await shell.run(
      `toolgate audit export --output cut.jsonl --base-url http://127.0.0.1:${fake.port}`,
    );
    await cut;
    fake.stop(true);
    expect([ran.code, ran.stderr]).toEqual([3, expect.stringContaining('broke off')]);
    expect(existsSync(join(shell.folder, 'cut.jsonl'))).toBe(false);
    expect(readdirSync(shell.folder).filter(name => name.startsWith('cut'))).toEqual([]);
  });
});

test('no command prints a secret that was made before', async () => {
  const { key } = await service.newKey([{ tool: '*', action: 'require_approval' }]);
  const hook = (await service.admin('POST', '/webhooks', { url: 'http://127.0.0.1:9/secret' })).body;
  const session = (await service.json('POST', '/v1/sessions', key, {})).body;
  await service.check(key, 's', 't');
  const lists = ['keys list', 'webhooks list', 'sessions list', 'approvals list', 'changes', 'audit search'];
  for (const list of lists) {
    const { stdout, stderr } = await shell.run(`toolgate ${list} --all; toolgate ${list} --all --json`);
    for (const secret of [key, hook.secret, session.token, ADMIN_TOKEN]) {
      expect(stdout + stderr).not.toContain(secret);
    }
  }
});
