// What transcripts cannot show: where the admin token comes from and where it never goes, what an apply leaves
// in the service, following the log, and exports that break off.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from '../support/faults.ts';
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

describe('calls of which it is not known whether they ran', () => {
  /** An allowed call whose process ended before the answer came. */
  async function lost(toolName: string): Promise<string> {
    const { key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }], {
      name: `key of ${toolName}`,
    });
    const { toolCallId } = (await service.check(key, 'bank', toolName)).body;
    const now = Date.now();
    await sql(
      service.databaseUrl,
      `INSERT INTO executions (tool_call_id, key_id, at, unknown_at) VALUES ('${toolCallId}', '${keyId}', ${now}, ${now})`,
      `INSERT INTO outcomes (tool_call_id, outcome, duration_ms, at) VALUES ('${toolCallId}', 'outcome_unknown', 0, ${now})`,
    );
    return toolCallId;
  }

  test('are listed until somebody settles them, once', async () => {
    const [paid, unpaid] = [await lost('pay'), await lost('refund')];
    const { stdout } = await shell.run('toolgate calls list --unknown');
    expect(stdout.split('\n')[0]).toMatch(/^TOOL CALL ID +TOOL +KEY +FORWARDED +UNKNOWN SINCE$/);
    expect(stdout).toMatch(new RegExp(`^${unpaid} +bank__refund +key of refund +\\d`, 'm'));
    const listed = JSON.parse((await shell.run('toolgate calls list --unknown --json')).stdout);
    expect(listed.calls.map((each: { toolCallId: string }) => each.toolCallId)).toEqual([unpaid, paid]);
    expect(listed.calls[1]).toMatchObject({ serverName: 'bank', toolName: 'pay', settled: null });
    const settle = `toolgate calls settle ${unpaid} --did-not-run --note "Not in the list."`;
    const { code, stderr } = await shell.run(settle);
    expect([code, stderr]).toEqual([
      0,
      'It is recorded that bank__refund did not run. Nobody runs it again.\n',
    ]);
    const again = await shell.run(settle);
    expect([again.code, again.stderr]).toEqual([1, 'toolgate: This call was settled before. (409)\n']);
    const ran = await shell.run(`toolgate calls settle ${paid} --ran --json`);
    expect(JSON.parse(ran.stdout)).toMatchObject({
      toolCallId: paid,
      settled: { ran: true, by: 'admin', note: null },
    });
    expect((await shell.run('toolgate calls list --unknown')).stderr).toBe(
      'Of every call it is known whether it ran, or somebody has settled it.\n',
    );
    const { settled, forwarded } = (await service.admin('GET', `/audit/${unpaid}`)).body;
    expect(forwarded.outcome).toBe('outcome_unknown');
    expect(settled).toMatchObject({ ran: false, by: 'admin', note: 'Not in the list.' });
    const [change] = (await service.admin('GET', '/changes?limit=1')).body.changes;
    expect(change).toMatchObject({
      action: 'call.settle',
      target: paid,
      detail: { tool: 'bank__pay', ran: true },
    });
  });

  test('that ended, or never were, are not settled, and an answer is needed', async () => {
    const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
    const { toolCallId } = (await service.check(key, 'bank', 'pay')).body;
    const settle = (id: string, how: string) => shell.run(`toolgate calls settle ${id} ${how}`);
    expect(await settle(toolCallId, '--ran')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not unknown, so there is nothing to settle'),
    });
    const nobodys = '01890000-0000-7000-8000-000000000000';
    expect(await settle(nobodys, '--ran')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no call with this toolCallId.'),
    });
    for (const how of ['', '--ran --did-not-run'])
      expect(await settle(toolCallId, how)).toMatchObject({
        code: 64,
        stderr: 'toolgate: Give either --ran or --did-not-run.\n',
      });
    expect((await shell.run('toolgate calls list')).code).toBe(64);
  });
});
