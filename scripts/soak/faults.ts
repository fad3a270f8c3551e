// What goes wrong during a soak: the link of a replica to its database stands still, a replica is killed and
// started again, the database restarts. One after another, with calm between.

import { join } from 'node:path';
import type { TestPostgres } from '../../test/support/postgres.ts';

export interface Link {
  url: string;
  say: (what: 'stall' | 'resume') => void;
  close: () => void;
}

export async function openLink(databaseUrl: string): Promise<Link> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'link.ts'), databaseUrl], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  return {
    url: new TextDecoder().decode(value).trim(),
    say: what => {
      child.stdin.write(`${what}\n`);
      child.stdin.flush();
    },
    close: () => child.kill(),
  };
}

export interface Fault {
  name: string;
  run: () => Promise<void>;
}

const STALL_MS = 4000;

export function faults(postgres: TestPostgres, link: Link, restartReplica: () => Promise<void>): Fault[] {
  return [
    {
      name: 'link stalled for 4 s',
      run: async () => {
        link.say('stall');
        await Bun.sleep(STALL_MS);
        link.say('resume');
      },
    },
    { name: 'replica killed and restarted', run: restartReplica },
    {
      name: 'database stopped at once and restarted',
      run: async () => {
        await postgres.stop('immediate');
        await postgres.start();
      },
    },
  ];
}
