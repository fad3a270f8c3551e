// docs/approvals.md as a reader would follow it: its commands run in one shell, in order, against the service
// started as it says, with the ports changed only; its receiver runs on plain Node.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { newDataDir, until } from '../support/faults.ts';
import { need } from '../support/need.ts';
import { Receiver } from '../support/receiver.ts';
import { onPath, ROOT, startService, type TestService } from '../support/service.ts';

const PAGE = readFileSync(join(ROOT, 'docs/approvals.md'), 'utf8');

interface Block {
  language: string;
  text: string;
}

const BLOCKS: Block[] = [...PAGE.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(
  ([, language = '', text = '']) => ({
    language,
    text,
  }),
);

/** The blocks of a language in which a text occurs; there must be exactly one. */
function block(language: string, having: string): string {
  const found = BLOCKS.filter(each => each.language === language && each.text.includes(having));
  if (found.length !== 1) throw new Error(`${found.length} blocks of ${language} with ${having}`);
  return found[0]?.text ?? '';
}

/** The JSON that a command printed; what runs in the background may print around it. */
// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came
function jsonIn(output: string): any {
  return JSON.parse(/\{".*\}/.exec(output)?.[0] ?? 'null');
}

/** A shell that stays, as a person's does. */
class Shell {
  readonly #child: Bun.Subprocess<'pipe', 'pipe', 'pipe'>;
  #steps = 0;
  output = '';

  constructor(folder: string) {
    this.#child = Bun.spawn(['bash', '--norc'], {
      cwd: folder,
      env: { PATH: process.env['PATH'] ?? '', HOME: folder },
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
    });
    this.#collect(this.#child.stdout);
    this.#collect(this.#child.stderr);
  }

  /** What the commands printed. */
  async run(commands: string): Promise<string> {
    const from = this.output.length;
    const mark = `--done-${++this.#steps}--`;
    this.#child.stdin.write(`${commands}\necho; echo ${mark}\n`);
    await this.#child.stdin.flush();
    await until(`the end of ${commands}`, () => this.output.includes(mark, from));
    return this.output.slice(from, this.output.indexOf(mark, from)).trim();
  }

  async close(): Promise<void> {
    this.#child.stdin.write('kill $(jobs -p)\nexit\n');
    this.#child.stdin.end();
    await this.#child.exited;
  }

  async #collect(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of stream) this.output += decoder.decode(chunk, { stream: true });
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise(resolve => server.close(resolve));
  return port;
}

const TOOLS = ['bash', 'curl', 'node'];

describe.if(need(TOOLS.every(onPath), TOOLS.join(', ')))('docs/approvals.md', () => {
  const folder = newDataDir();
  const ports = new Map<string, number>();
  let service: TestService;
  let shell: Shell;

  /** The text with this run's ports. */
  function here(text: string): string {
    let changed = text;
    for (const [port, ours] of ports)
      changed = changed.replaceAll(`:${port}`, `:${ours}`).replaceAll(`(${port}`, `(${ours}`);
    return changed;
  }

  async function start(settings = ''): Promise<void> {
    const pairs = [...here(settings).matchAll(/^(TOOLGATE_\w+)=(\S+)/gm)].map(([, name = '', value = '']) => [
      name,
      value,
    ]);
    const own = {
      TOOLGATE_DATA_DIR: join(folder, 'data'),
      TOOLGATE_ADMIN_TOKEN: '',
      TOOLGATE_MASTER_KEY: '',
    };
    const env = { ...own, TOOLGATE_PORT: String(ports.get('8787')), ...Object.fromEntries(pairs) };
    service = await startService({ dataDir: folder, env });
  }

  const run = (having: string) => shell.run(here(block('sh', having)));

  beforeAll(async () => {
    ports.set('8787', await freePort());
    ports.set('9000', await freePort());
    ports.set('2525', await freePort());
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(
      join(folder, 'receiver.mjs'),
      here(block('js', 'createServer').replace('listen(9000', `listen(${ports.get('9000')}`)),
    );
    await start();
    shell = new Shell(folder);
  });
  afterAll(async () => {
    await shell?.close();
    await service?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('a policy, a key, a webhook and its receiver', async () => {
    await run('ADMIN=$(cat');
    await run('POLICY=$(');
    await run('SECRET=$(admin POST /webhooks -d');
    expect(await shell.run('echo "$POLICY $KEY $SECRET"')).toMatch(
      /^[0-9a-f-]{36} tg_key_\w{49} whsec_\S{44}$/,
    );
    await run('node receiver.mjs');
    await until('the receiver listens', () =>
      fetch(`http://127.0.0.1:${ports.get('9000')}`, { method: 'POST', body: '{}' }).then(
        reply => reply.status === 401,
        () => false,
      ),
    );
  });

  test('a call that waits, answered by its link, told by the webhook', async () => {
    expect(jsonIn(await run('tee verdict.json'))).toMatchObject({ decision: 'pending' });
    const link = /Approve +(http\S+)/;
    await until('the link is printed', () => link.test(service.output));
    const shown = block('text', 'Approval needed').split('\n');
    for (const line of shown) expect(service.output).toContain(line.split('http')[0]?.split('2026')[0] ?? '');
    await until('approval.created', () => shell.output.includes("type: 'approval.created'"));
    await shell.run(`LINK='${link.exec(service.output)?.[1]}'`);
    expect(jsonIn(await run('${LINK%%'))).toMatchObject({ status: 'approved', grantExpiresAt: null });
    await until('approval.resolved', () => shell.output.includes("type: 'approval.resolved'"));
    expect(shell.output).toContain("status: 'approved'");
  });

  test('the approval is spent once', async () => {
    expect(jsonIn(await run('REFERENCE=$(field referenceId < verdict.json)')).decision).toBe('allow');
    expect(jsonIn(await run('REFERENCE=$(field referenceId < verdict.json)')).decision).toBe('pending');
  });

  test('a grant frees until it is ended', async () => {
    expect(await run('"duration": "1h"')).toMatch(/^allow$/m);
    expect(await run('GRANT=$(')).toMatch(/^pending$/m);
  });

  test('a delivery can be looked at and sent again, a secret changed', async () => {
    const before = shell.output.split("type: 'approval.").length;
    const shown = await run('/redeliver');
    expect(jsonIn(shown).deliveries[0].attempts[0].status).toBe(204);
    await until('it came again', () => shell.output.split("type: 'approval.").length > before);
    await run('rotate-secret');
    expect(await shell.run('echo $SECRET')).toStartWith('whsec_');
  });

  test('the receiver takes nothing that is not signed', async () => {
    const post = (headers: Record<string, string>) =>
      fetch(`http://127.0.0.1:${ports.get('9000')}`, { method: 'POST', body: '{}', headers }).then(
        reply => reply.status,
      );
    const at = String(Math.floor(Date.now() / 1000));
    expect(await post({})).toBe(401);
    expect(await post({ 'webhook-id': 'x', 'webhook-timestamp': at, 'webhook-signature': 'v1,AAAA' })).toBe(
      401,
    );
  });

  test('by mail, with the settings as printed, and for one key', async () => {
    await run('SMTPServer');
    await service.kill('SIGTERM');
    await start(block('shell', 'TOOLGATE_SMTP_URL'));
    expect(await run(`"toolName": "deploy"}' | field decision`)).toContain('pending');
    await until('the mail', () => shell.output.includes('To: you@example.com'));
    await until('its link', () => shell.output.includes('/v1/approve/tg_apr_'));
    expect(jsonIn(await run('KEY_ID=')).notify).toEqual({ emails: ['lead@example.com'] });
    await run(`"toolName": "deploy"}' | field decision`);
    await until('the other mail', () => shell.output.includes('To: lead@example.com'));
    const { notifications } = jsonIn(await run('/notifications?limit'));
    expect(notifications[0]).toMatchObject({ channel: 'email' });
    await shell.run(`admin PATCH "/keys/$KEY_ID" -d '{"notify": null}'`);
  });

  for (const [name, setting] of [
    ['Slack', 'TOOLGATE_SLACK_WEBHOOK_URL'],
    ['a notifier', 'TOOLGATE_NOTIFY_URL'],
  ] as const) {
    test(`by ${name}, with the setting as printed but for its address`, async () => {
      const target = await Receiver.start();
      try {
        await service.kill('SIGTERM');
        await start(block('shell', setting).replace(/https?:\/\/[^/]+/, target.url));
        await run(`"toolName": "deploy"}' | field decision`);
        await until('the question', () => target.arrivals.length > 0);
        expect(target.arrivals[0]?.text).toContain('/v1/approve/tg_apr_');
        if (setting !== 'TOOLGATE_NOTIFY_URL') return;
        const printed = JSON.parse(block('json', '"keyName"'));
        expect(Object.keys(target.arrivals[0]?.json)).toEqual(Object.keys(printed));
      } finally {
        await target.close();
      }
    });
  }

  test('every command of the page was run here, and events have the fields it prints', async () => {
    const ran = BLOCKS.filter(each => each.language === 'sh').length;
    expect(ran).toBe(15);
    const printed = JSON.parse(block('json', '"type": "approval.resolved"'));
    const [approval] = jsonIn(await shell.run("admin GET '/approvals?limit=1'")).approvals;
    expect(Object.keys(printed.data)).toEqual(Object.keys(approval));
    expect(existsSync(join(folder, 'data/admin.token'))).toBe(true);
  });
});
