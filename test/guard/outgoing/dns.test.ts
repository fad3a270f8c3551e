// Names looked up by the real resolver, against a name server of the test's own: the files and the search domains of
// the system count, and a name whose servers are silent delays neither other names nor the runtime's threads.

import { afterAll, expect, test } from 'bun:test';
import { copyFileSync, mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canCompile } from '../../support/clock.ts';
import { NameServer } from '../../support/names.ts';
import { need } from '../../support/need.ts';
import { BUN, ROOT } from '../../support/service.ts';

const LIMIT_MS = 1000;

if (need(canCompile(), 'a C compiler (cc)')) {
  const names = await NameServer.start('10.1.2.3');
  afterAll(() => names.close());

  /** A process of its own, which looks names up and tells of each in a line. */
  const begin = (script: string, more: Record<string, string>, command: string[] = []) => {
    const lookUp = `const { lookUp } = await import(${JSON.stringify(join(ROOT, 'src/guard/outgoing/dns.ts'))});
      const told = (name, limit) => lookUp(name, limit).then(
        found => console.log(name, ...found.map(each => each.address)),
        error => console.log(name, error.message),
      );`;
    const env = { PATH: process.env['PATH'] ?? '', ...more };
    const whole = [...command, BUN, '-e', lookUp + script];
    return Bun.spawn(whole, { env, stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' });
  };

  /** What it prints, with the name server of all tests. */
  const run = async (script: string): Promise<string[]> =>
    (await new Response(begin(script, names.env).stdout).text()).trim().split('\n');

  test('by the hosts file, by name servers, and in the search domains', async () => {
    // The process ends with the answers: no time limit outlives them.
    const script = `for (const name of ['localhost', 'tools.example', 'short']) await told(name, 300_000);`;
    const [localhost, ...others] = await run(script);
    expect(localhost).toStartWith('localhost 127.0.0.1');
    expect(others).toEqual(['tools.example 10.1.2.3', 'short 10.1.2.3']);
    expect(names.asked).toContain('short.corp.test');
  });

  test('a silent name is given up', async () => {
    const lines = await run(`await told('a.silent.test', ${LIMIT_MS}); process.exit();`);
    expect(lines).toEqual(['a.silent.test no name server answered within 1 s']);
  });

  test('a question that fails after everybody has given it up is nobody’s failure', async () => {
    const failing = await NameServer.start();
    const child = begin(`await told('a.silent.test', ${LIMIT_MS});`, failing.env);
    const lines: string[] = [];
    for await (const line of child.stdout) {
      lines.push(new TextDecoder().decode(line));
      // The process goes on until the question has come to its end.
      failing.failSilent();
    }
    expect(lines).toEqual(['a.silent.test no name server answered within 1 s\n']);
    expect(await child.exited).toBe(0);
    failing.close();
  });

  test('silent names hold up no other name, and no sync of a file in the thread pool', async () => {
    const script = `
      const { open } = await import('node:fs/promises');
      for (let n = 0; n < 50; n++) told(n + '.silent.test', 300_000);
      await told('tools.example', 300_000);
      const file = await open(process.execPath);
      await file.datasync();
      await file.close();
      console.log('synced');
      process.exit();`;
    expect(await run(script)).toEqual(['tools.example 10.1.2.3', 'synced']);
  });

  test('one look-up per name, however many callers wait for it', async () => {
    names.asked.splice(0);
    const script = `await Promise.all(Array.from({ length: 20 }, () => told('once.example')));`;
    expect(await run(script)).toEqual(Array(20).fill('once.example 10.1.2.3'));
    // One for each kind of address.
    expect(names.asked).toEqual(['once.example', 'once.example']);
  });

  const BOUND = ['unshare', '--mount', 'sh', '-c', 'mount --bind "$0" /etc/resolv.conf && exec "$@"'];
  const { exitCode } = Bun.spawnSync([...BOUND, '/dev/null', 'true']);

  test.if(need(exitCode === 0, 'the right to mount a file'))(
    'name servers that the system changes are asked from then on',
    async () => {
      const others = await NameServer.start('10.9.8.7');
      const folder = mkdtempSync(join(tmpdir(), 'toolgate-servers-'));
      const servers = join(folder, 'resolv.conf');
      copyFileSync(names.servers, servers);
      const script = `
        await told('first.example');
        for await (const _ of process.stdin) await told('second.example');`;
      const child = begin(script, {}, [...BOUND, servers]);
      const lines: string[] = [];
      for await (const line of child.stdout) {
        if (lines.push(new TextDecoder().decode(line)) > 1) break;
        copyFileSync(others.servers, servers);
        utimesSync(servers, 1, 1);
        child.stdin.write('\n');
        child.stdin.end();
      }
      expect(lines).toEqual(['first.example 10.1.2.3\n', 'second.example 10.9.8.7\n']);
      await child.exited;
      others.close();
      rmSync(folder, { recursive: true });
    },
  );

  test('past a bound of names, further ones are refused at once', async () => {
    const script = `
      const silent = Array.from({ length: 501 }, (_, n) => told(n + '.silent.test', 60_000));
      await silent.at(-1);
      process.exit();`;
    expect(await run(script)).toEqual(['500.silent.test too many names are being looked up']);
  });
}
