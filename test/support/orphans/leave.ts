// What a test may leave behind: a service, a program that knows nothing of us, and one out of our process group. Says
// which processes they are, then fails or waits for its end, as orphans.test.ts wants it.

import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { startService } from '../service.ts';

export async function leaveBehind(): Promise<void> {
  const service = await startService();
  const program = Bun.spawn(['sleep', '600']);
  const apart = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
  const pids = [process.pid, service.process.pid, program.pid, apart.pid];
  appendFileSync(process.env['LEFT'] ?? '', `${pids.join(' ')}\n`);
  if (process.env['THEN'] === 'wait') await new Promise(() => {});
  throw new Error('as wanted');
}
