// Taking one's own place with a higher bound on outbound requests: once, with the same words, and never at the cost of
// serving at all.

import { expect, test } from 'bun:test';
import { join } from 'node:path';

const MODULE = join(import.meta.dir, '../../src/cli/outbound.ts');

async function run(before: string, env: Record<string, string | undefined> = {}): Promise<string> {
  const program = `${before}; const { raiseOutbound } = await import(${JSON.stringify(MODULE)}); raiseOutbound();
    console.log(process.env.BUN_CONFIG_MAX_HTTP_REQUESTS ?? 'as it was');`;
  const child = Bun.spawn([process.execPath, '-e', program], {
    env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: undefined, ...env },
    stdout: 'pipe',
    stderr: 'ignore',
  });
  return (await new Response(child.stdout).text()).trim();
}

test('a program whose file is gone goes on with the bound that it has', async () => {
  expect(await run(`process.execPath = '/there/is/no/such/program'`)).toBe('as it was');
});

test('a bound that somebody chose stays', async () => {
  expect(await run('', { BUN_CONFIG_MAX_HTTP_REQUESTS: '300' })).toBe('300');
});
