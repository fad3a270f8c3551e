// A client on another machine: an admin makes a command, which works once, for 15 minutes. The script runs in a real shell,
// with a home of its own.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newPerson, send } from '../../operators/people.ts';
import { sql } from '../../support/faults.ts';
import { type Engine, ROOT, startService, type TestService } from '../../support/service.ts';
import { enginesWhenChanged } from '../../support/when-changed.ts';

interface Ticket {
  command: string;
  platform: string | null;
}

describe.each(await enginesWhenChanged('src/store/**'))('on %s', (engine: Engine) => {
  let service: TestService;
  let policyId: string;
  const homes: string[] = [];
  beforeAll(async () => {
    service = await startService({ engine });
    policyId = (await service.admin('GET', '/policies')).body['policies'][0].id;
  });
  afterAll(async () => {
    await service.close();
    for (const home of homes) rmSync(home, { recursive: true, force: true });
  });

  async function ticket(client = 'claude-code'): Promise<Ticket> {
    const { status, body } = await service.admin('POST', '/connect-tickets', { client, policyId });
    expect(status).toBe(201);
    return body as unknown as Ticket;
  }
  const tokenIn = ({ command }: Ticket) => /token=([\w-]+)/.exec(command)?.[1] ?? '';
  const key = (token: string) =>
    service.request('POST', '/connect/key?host=box', { headers: { Authorization: `Bearer ${token}` } });

  /** A machine with a shell and curl, and with this program or without. */
  function machine(hasProgram: boolean): {
    home: string;
    run: (command: string) => { code: number; text: string };
  } {
    const home = mkdtempSync(join(tmpdir(), 'toolgate-other-'));
    homes.push(home);
    const bin = join(home, 'bin');
    mkdirSync(bin);
    if (hasProgram) symlinkSync(join(ROOT, 'bin/toolgate'), join(bin, 'toolgate'));
    const env = { HOME: home, PATH: `${bin}:/usr/local/bin:/usr/bin:/bin` };
    const run = (command: string) => {
      const { exitCode, stdout, stderr } = Bun.spawnSync(['sh', '-c', command], { env, cwd: home });
      return { code: exitCode, text: `${stdout}${stderr}` };
    };
    return { home, run };
  }

  test('the command connects the client with a key of its own, once', async () => {
    const { home, run } = machine(true);
    const made = await ticket();
    const { code, text } = run(made.command);
    expect([code, text]).toEqual([0, expect.stringContaining('Claude Code is connected.')]);
    expect(text).not.toContain(tokenIn(made));
    const stored = JSON.parse(readFileSync(join(home, '.config/toolgate/clients.json'), 'utf8'));
    expect(stored['claude-code'].baseUrl).toBe(service.url);
    const headers = {
      Authorization: `Bearer ${stored['claude-code'].key}`,
      'Content-Type': 'application/json',
    };
    const call = JSON.stringify({ serverName: 'github', toolName: 'get_issue' });
    expect((await service.request('POST', '/v1/check', { headers, body: call })).body['decision']).toBe(
      'allow',
    );
    if (made.platform !== null) expect(statSync(join(home, '.local/bin/toolgate')).mode & 0o777).toBe(0o755);

    const again = machine(true);
    expect(again.run(made.command).text).toContain('410');
    expect(existsSync(join(again.home, '.config'))).toBe(false);
    const { changes } = (await service.admin('GET', '/changes?limit=2')).body;
    expect(changes.map(({ action }: { action: string }) => action)).toEqual(['key.create', 'connect.ticket']);
    expect(JSON.stringify(changes)).not.toContain(tokenIn(made));
  });

  test('without a program for the machine it says what to install, and stays good', async () => {
    const made = await ticket('codex');
    const { home, run } = machine(false);
    const uname = join(home, 'bin/uname');
    await Bun.write(uname, '#!/bin/sh\ncase "$1" in -n) echo "box; x" ;; *) echo Plan9 ;; esac\n');
    chmodSync(uname, 0o755);
    const { code, text } = run(made.command);
    expect([code, text]).toEqual([
      1,
      expect.stringContaining('The service has no executable for Plan9-Plan9. Install'),
    ]);
    expect((await key(tokenIn(made))).text).toMatch(/^tg_key_\w+\n$/);
  });

  test('a program that is not the one of the service is not installed', async () => {
    const made = await ticket();
    const { home, run } = machine(true);
    const { text: script } = await service.request('GET', `/connect.sh?token=${tokenIn(made)}`, {});
    const platform = `${process.platform}-${process.arch}`;
    const other = script.replace(/offered=.*/, `offered='${platform}'`).replace(/sha256='.*/, `sha256='00'`);
    await Bun.write(join(home, 'other.sh'), other);
    const { code, text } = run('sh other.sh');
    expect(code).not.toBe(0);
    expect(text).toContain(
      made.platform === null ? '404' : 'What was downloaded is not what the service has.',
    );
    expect(existsSync(join(home, '.local'))).toBe(false);
    expect(existsSync(join(home, '.config'))).toBe(false);
  });

  test('two at once get one key; a stranger, an old ticket and a sign-in’s name get none', async () => {
    const both = tokenIn(await ticket());
    const replies = await Promise.all([key(both), key(both)]);
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 410]);
    for (const token of ['', 'tg_con_x', ADMIN_LIKE]) {
      expect((await key(token)).status).toBe(410);
      expect((await service.request('GET', `/connect.sh?token=${token}`, {})).status).toBe(410);
      const headers = { Authorization: `Bearer ${token}` };
      expect((await service.request('GET', '/connect/toolgate', { headers })).status).toBe(410);
    }
    const old = tokenIn(await ticket());
    await sql(service.databaseUrl, 'UPDATE return_targets SET expires_at = 1');
    expect((await key(old)).status).toBe(410);
  });

  test('is worth nothing once whoever made it may make no keys', async () => {
    const [admin, other] = [await newPerson(service, 'admin'), await newPerson(service, 'admin')];
    const body = { client: 'cursor', policyId };
    const { body: made } = await send(
      service,
      'POST',
      '/admin/v1/connect-tickets',
      { cookie: admin.cookie },
      body,
    );
    const token = tokenIn(made as unknown as Ticket);
    expect((await service.request('GET', `/connect.sh?token=${token}`, {})).status).toBe(200);
    const demoted = await send(
      service,
      'PATCH',
      `/admin/v1/operators/${admin.id}`,
      { cookie: other.cookie },
      { role: 'viewer' },
    );
    expect(demoted.status).toBe(200);
    expect([401, 403]).toContain((await key(token)).status);
  });

  test('the script is one for any POSIX shell, and quotes what it is filled with', async () => {
    const script = await service.request('GET', `/connect.sh?token=${tokenIn(await ticket())}`, {});
    expect(script.headers.get('cache-control')).toBe('no-store');
    expect(Bun.spawnSync(['sh', '-n', '-c', script.text]).exitCode).toBe(0);
    expect(script.text).not.toMatch(/\[\[|\n *local |function /);
  });
});

const ADMIN_LIKE = 'tg_adm_0123456789abcdef0123456789abcdef';
