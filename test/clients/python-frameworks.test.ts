// The Python adapters with the frameworks themselves and the real service. The cases are in clients/python/tests/real.

import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { frameworksEnv, frameworksPython, pythonFrameworks } from '../support/python-frameworks.ts';
import { ADMIN_TOKEN, ROOT, startService } from '../support/service.ts';

const installed = pythonFrameworks();

describe.if(installed.length > 0)('the Python adapters', () => {
  test(`with the real ${installed.join(', ')}`, async () => {
    const service = await startService();
    try {
      const modules = installed.map(each => `tests.real.${each}`);
      const child = Bun.spawn([frameworksPython, '-m', 'unittest', ...modules], {
        cwd: join(ROOT, 'clients/python'),
        env: {
          PATH: process.env['PATH'] ?? '',
          HOME: process.env['HOME'] ?? '',
          ...frameworksEnv,
          TOOLGATE_BASE_URL: service.url,
          TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN,
        },
        stdout: 'ignore',
        stderr: 'pipe',
      });
      const [said, status] = await Promise.all([new Response(child.stderr).text(), child.exited]);
      expect(status, said).toBe(0);
      const ran = Number(said.match(/^Ran (\d+) tests/m)?.[1]);
      expect(ran, said).toBeGreaterThanOrEqual(7 * installed.length);
      expect(said).not.toContain('skipped');
    } finally {
      await service.close();
    }
  }, 300_000);
});
