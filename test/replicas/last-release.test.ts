// A replica from before the newest migration and one of this version on one store: the new one migrates while the old one
// serves, writes entries with traces, and ships the log; the old one seals those entries, and knows the same people.
// Nothing is lost, both verify the log, and when the old one has gone the new one seals on.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newPerson, signIn } from '../operators/people.ts';
import { newDataDir, sql, until } from '../support/faults.ts';
import { lastRelease } from '../support/last-release.ts';
import { Receiver } from '../support/receiver.ts';
import { failToStart, programOf, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const ENV = { TOOLGATE_CHECKPOINT_INTERVAL: '1s' };
const CALLERS = 3;

const onPostgres = (await enginesWhenChanged('src/store/**', 'src/guard/**')).includes('postgres');
const release = onPostgres ? lastRelease() : null;

if (release !== null)
  describe('a replica of the last release beside one of this version', () => {
    const { root } = release;
    const dataDir = newDataDir();
    let old: TestService;
    let next: TestService;
    let receiver: Receiver;
    let key: string;
    /** The ids of all calls that were answered, and what was not answered with an allow. */
    const answered: string[] = [];
    const failed: string[] = [];

    const ask = async (service: TestService, headers: Record<string, string> = {}) => {
      const { status, body, text } = await service.request('POST', '/v1/check', {
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ serverName: 'github', toolName: 'get_issue' }),
      });
      if (status === 200 && body.decision === 'allow') answered.push(body.toolCallId);
      else failed.push(`${status} ${text}`);
      return body.toolCallId as string;
    };
    const sealed = async (service: TestService) => (await service.admin('GET', '/audit/sealing')).body;
    const allSealed = (service: TestService) =>
      until(
        'everything is sealed and signed',
        async () => (await sealed(service)).checkpoint?.size === answered.length,
      );

    beforeAll(async () => {
      receiver = await Receiver.start();
      old = await startService({ engine: 'postgres', root, env: ENV });
      ({ key } = await old.newKey([{ tool: '*', action: 'allow' }]));
      await ask(old);
      await old.admin('GET', '/audit');
      const config = join(dataDir, 'toolgate.yaml');
      writeFileSync(config, `shipping: { lake: { type: http, url: "${receiver.url}/lake" } }\n`);
      let going = true;
      const load = Array.from({ length: CALLERS }, async () => {
        while (going) await ask(old);
      });
      next = await startService({
        databaseUrl: old.databaseUrl,
        dataDir,
        env: { ...ENV, TOOLGATE_CONFIG: config, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
      });
      await Promise.all(Array.from({ length: 20 }, () => ask(next)));
      going = false;
      await Promise.all(load);
    });
    afterAll(async () => {
      await next?.close();
      await old?.close();
      await receiver?.close();
      release.remove();
      rmSync(dataDir, { recursive: true, force: true });
    });

    test('the old one serves on while the new one migrates, and both see all entries', async () => {
      expect(failed).toEqual([]);
      const rows = await sql<{ id: string }>(old.databaseUrl, 'SELECT id FROM audit');
      expect(rows.map(row => row.id).sort()).toEqual([...answered].sort());
      const listed = await Promise.all([old, next].map(each => each.admin('GET', '/audit?limit=100')));
      const [onOld, onNew] = listed.map(({ body }) => body.entries.map((entry: { id: string }) => entry.id));
      expect(onOld).toEqual(onNew);
      const counted = await Promise.all([old, next].map(each => each.admin('GET', '/stats')));
      expect(counted.map(({ body }) => body.totals.allow)).toEqual([answered.length, answered.length]);
    });

    test('the old one seals entries with traces, and both verify them', async () => {
      const id = await ask(next, { traceparent: `00-${TRACE_ID}-b7ad6b7169203331-01` });
      const shown = await Promise.all([old, next].map(each => each.admin('GET', `/audit/${id}`)));
      expect(shown.map(({ body }) => body.traceId)).toEqual([TRACE_ID, TRACE_ID]);
      await allSealed(old);
      // Each replica writes down the checkpoints that it signed itself.
      expect(readFileSync(join(old.dataDir, 'checkpoints.txt'), 'utf8')).toContain(`\n${answered.length}\n`);
      expect(await verify(next)).toBe('');
      expect(await verify(old, root)).toBe('');
    });

    test('somebody who joins at one can sign in and be reset at the other', async () => {
      for (const [here, there] of [
        [old, next],
        [next, old],
      ] as const) {
        const { id, email } = await newPerson(here, 'approver');
        expect((await signIn(there, email)).status).toBe(200);
        expect((await there.admin('POST', `/operators/${id}/reset`)).status).toBe(200);
        expect((await signIn(here, email)).status).toBe(401);
      }
    });

    test('what the old one sealed is shipped by the new one, once and in order', async () => {
      const lines = () =>
        receiver.arrivals
          .filter(each => each.path === '/lake')
          .flatMap(each =>
            each.text
              .trim()
              .split('\n')
              .map(line => JSON.parse(line)),
          );
      await until('everything is shipped', () => lines().length >= answered.length);
      expect(lines().map(line => line.seq)).toEqual(answered.map((_, seq) => seq));
      expect(
        lines()
          .map(line => line.id)
          .sort(),
      ).toEqual([...answered].sort());
      expect(lines().filter(line => line.traceId === TRACE_ID)).toHaveLength(1);
    });

    test('once the old one has stopped, it cannot start again, and the new one seals on', async () => {
      await old.kill('SIGTERM');
      expect(await failToStart({ databaseUrl: old.databaseUrl, root })).toContain(
        'The store has schema version',
      );
      await ask(next);
      // The lease of the old one would end after ten seconds.
      await sql(next.databaseUrl, 'UPDATE sealing SET leased_until = 0');
      await allSealed(next);
      expect(await verify(next)).toBe('');
    });

    /** What `audit verify` has to say against the log. */
    async function verify(service: TestService, program?: string): Promise<string> {
      const child = Bun.spawn(
        [
          ...programOf(program === undefined ? {} : { root: program }),
          'audit',
          'verify',
          '--database-url',
          service.databaseUrl,
        ],
        { env: { PATH: process.env['PATH'] ?? '', TOOLGATE_DATA_DIR: service.dataDir }, stderr: 'pipe' },
      );
      const said = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text());
      return (await child.exited) === 0 ? '' : said;
    }
  });
