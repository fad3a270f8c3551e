// The Python client's own tests, run by the interpreter of this machine against the real service. The cases
// are in clients/python/tests; here it is seen to that none was skipped.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { need } from '../support/need.ts';
import { ADMIN_TOKEN, onPath, ROOT, startService, type TestService } from '../support/service.ts';

const FOLDER = join(ROOT, 'clients/python');

describe.if(need(onPath('python3'), 'python3 (for the Python client)'))('the Python client', () => {
  let service: TestService;
  let key: string;
  beforeAll(async () => {
    service = await startService();
    ({ key } = await service.newKey([{ tool: '*', action: 'allow' }]));
  });
  afterAll(() => service.close());

  test('passes its tests, all of them', async () => {
    const child = Bun.spawn(
      ['python3', '-W', 'error', '-m', 'unittest', 'discover', '-t', '.', '-s', 'tests'],
      {
        cwd: FOLDER,
        env: {
          PATH: process.env['PATH'] ?? '',
          HOME: process.env['HOME'] ?? '',
          PYTHONDONTWRITEBYTECODE: '1',
          TOOLGATE_BASE_URL: service.url,
          TOOLGATE_API_KEY: key,
          TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN,
        },
        stdout: 'pipe',
        stderr: 'pipe',
      },
    );
    const [said, status] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    expect(status, said).toBe(0);
    expect(said).toMatch(/^Ran \d{2,} tests/m);
    expect(said).not.toContain('skipped');
  });
});
