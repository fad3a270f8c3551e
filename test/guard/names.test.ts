// Names looked up by the real resolver, against a name server of the test's own: the files and the search domains of
// the system count, and a name whose servers are silent holds up neither other names nor the runtime's threads.

import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { canCompile } from '../support/clock.ts';
import { NameServer } from '../support/names.ts';
import { need } from '../support/need.ts';
import { BUN, ROOT } from '../support/service.ts';

const LIMIT_MS = 1000;

if (need(canCompile(), 'a C compiler (cc)')) {
  const names = await NameServer.start('10.1.2.3');
  afterAll(() => names.close());

  /** What a process of its own prints, which asks the name server. */
  const run = async (script: string): Promise<string[]> => {
    const lookUp = `const { lookUp } = await import(${JSON.stringify(join(ROOT, 'src/guard/names.ts'))});
      const told = (name, limit) => lookUp(name, limit).then(
        found => console.log(name, ...found.map(each => each.address)),
        error => console.log(name, error.message),
      );`;
    const env = { PATH: process.env['PATH'] ?? '', ...names.env };
    const child = Bun.spawn([BUN, '-e', lookUp + script], { env, stdout: 'pipe', stderr: 'inherit' });
    return (await new Response(child.stdout).text()).trim().split('\n');
  };

  test('by the hosts file, by name servers, and in the search domains', async () => {
    const script = `for (const name of ['localhost', 'tools.example', 'short']) await told(name);`;
    const [localhost, ...others] = await run(script);
    expect(localhost).toStartWith('localhost 127.0.0.1');
    expect(others).toEqual(['tools.example 10.1.2.3', 'short 10.1.2.3']);
    expect(names.asked).toContain('short.corp.test');
  });

  test('a silent name is given up', async () => {
    const lines = await run(`await told('a.silent.test', ${LIMIT_MS}); process.exit();`);
    expect(lines).toEqual(['a.silent.test no name server answered within 1 s']);
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

  test('one question per name, whoever waits for it', async () => {
    names.asked.splice(0);
    const script = `await Promise.all(Array.from({ length: 20 }, () => told('once.example')));`;
    expect(await run(script)).toEqual(Array(20).fill('once.example 10.1.2.3'));
    // One for each kind of address.
    expect(names.asked).toEqual(['once.example', 'once.example']);
  });

  test('past a bound of names, further ones are refused at once', async () => {
    const script = `
      const silent = Array.from({ length: 501 }, (_, n) => told(n + '.silent.test', 60_000));
      await silent.at(-1);
      process.exit();`;
    expect(await run(script)).toEqual(['500.silent.test too many names are being looked up']);
  });
}
