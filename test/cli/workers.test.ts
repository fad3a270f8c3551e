// toolgate serve --workers: processes that share a port on PostgreSQL. All of them answer and are counted, one that is
// killed comes back, a stop ends all of them and loses no verdict, and none outlives the parent.

import { expect, test } from 'bun:test';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { againstLog, until, type Verdict } from '../support/faults.ts';
import {
  ADMIN_TOKEN,
  engines,
  failToStart,
  type ServiceOptions,
  startService,
  type TestService,
} from '../support/service.ts';

const WORKERS = 3;
const MANY: ServiceOptions = { engine: 'postgres', args: ['--workers', String(WORKERS)] };
const withPostgres = (await engines()).includes('postgres');

/** Processes whose parent is this one. */
function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .filter(name => {
      try {
        return new RegExp(`^PPid:\\s${pid}$`, 'm').test(readFileSync(`/proc/${name}/status`, 'utf8'));
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** How many workers the metrics speak of, and how many verdicts they count. */
async function counted(service: TestService): Promise<{ workers: number; verdicts: number }> {
  const { text } = await service.request('GET', '/metrics', { headers: { Connection: 'close' } });
  const samples = [...text.matchAll(/^toolgate_verdicts_total\{worker="(\d)".*\} (\d+)$/gm)];
  const verdicts = samples.reduce((sum, [, , count]) => sum + Number(count), 0);
  return { workers: new Set(samples.map(([, worker]) => worker)).size, verdicts };
}

const allServe = (service: TestService) =>
  until('all workers serve', async () => (await counted(service)).workers === WORKERS);

/** Each on a connection of its own, so that the system hands them to different workers. */
async function check(service: TestService, key: string): Promise<Verdict | null> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Connection: 'close' };
  const body = JSON.stringify({ serverName: 'github', toolName: 'get_issue' });
  const reply = await service.request('POST', '/v1/check', { headers, body }).catch(() => null);
  return reply?.status === 200 ? reply.body : null;
}

/** What the workers say is declared, each name once. */
async function declaredIn(service: TestService): Promise<string[]> {
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, Connection: 'close' };
  const asked = Array.from({ length: 40 }, () => service.request('GET', '/admin/v1/settings', { headers }));
  return [...new Set((await Promise.all(asked)).flatMap(reply => reply.body.stdioServers))];
}

test.skipIf(!withPostgres)('several workers answer, are counted together, come back and stop', async () => {
  const service = await startService(MANY);
  await allServe(service);
  const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
  const answers = await Promise.all(Array.from({ length: 60 }, () => check(service, key)));
  expect(answers.filter(each => each?.decision === 'allow')).toHaveLength(60);
  // A worker that does not tell its count in time is left out of that answer.
  await until('all are counted', async () => (await counted(service)).verdicts >= 60);
  expect((await counted(service)).verdicts).toBeLessThanOrEqual(60);

  const workers = childrenOf(service.process.pid);
  // What the runtime read when it started: without it, 256 slow calls would stop a worker.
  const read = workers.map(pid => readFileSync(`/proc/${pid}/environ`, 'utf8'));
  expect(read.filter(each => each.includes('BUN_CONFIG_MAX_HTTP_REQUESTS=65535'))).toHaveLength(WORKERS);

  const [one] = workers;
  process.kill(one as number, 'SIGKILL');
  await until('it is missed', () => service.output.includes('a worker ended by itself'));
  await allServe(service);
  expect(childrenOf(service.process.pid)).not.toContain(one as number);

  // One worker is asked to read the server file, and all have read it when it answers.
  const declare = (name: string) =>
    writeFileSync(join(service.dataDir, 'toolgate.yaml'), `stdioServers: { ${name}: { command: x } }\n`);
  declare('one');
  expect((await service.admin('POST', '/server-file/reload')).body).toMatchObject({ added: ['one'] });
  expect(await declaredIn(service)).toEqual(['one']);
  declare('two');
  service.process.kill('SIGHUP');
  await until('all have read it', async () => (await declaredIn(service)).join() === 'two');
  const { body } = await service.admin('GET', '/changes?limit=1000');
  const records = (body.changes as { action: string }[]).filter(each => each.action === 'server-file.reload');
  expect(records).toHaveLength(2);

  const received: Verdict[] = [];
  let asking = true;
  const load = Promise.all(
    Array.from({ length: 16 }, async () => {
      while (asking) {
        const verdict = await check(service, key);
        if (verdict !== null) received.push(verdict);
      }
    }),
  );
  await until('verdicts under load', () => received.length > 100);
  expect(await service.kill('SIGTERM')).toBe(0);
  asking = false;
  await load;
  expect(await againstLog(service.databaseUrl, received)).toMatchObject({ lost: 0, twice: 0 });
});

test.skipIf(!withPostgres)('workers do not outlive a parent that is killed', async () => {
  const service = await startService(MANY);
  await allServe(service);
  const workers = childrenOf(service.process.pid);
  expect(workers).toHaveLength(WORKERS);
  await service.kill('SIGKILL');
  const alive = (pid: number) => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  await until('all have ended', () => !workers.some(alive));
});

test('on SQLite, and for an odd number, it says why not', async () => {
  const args = ['--workers', '2'];
  expect(await failToStart({ engine: 'sqlite', args })).toContain('Several workers need PostgreSQL');
  expect(await failToStart({ engine: 'sqlite', args: ['--workers', 'many'] })).toContain('whole number');
});
