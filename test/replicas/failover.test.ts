// The primary dies under load and its standby takes over: every verdict that anybody got is in the log of the
// standby, nobody gets one meanwhile, and the replicas go on by themselves. And a replica that was led to a
// standby for a moment does not stay with it.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { newDataDir, sql, until } from '../support/faults.ts';
import { need } from '../support/need.ts';
import { startService, type TestService } from '../support/service.ts';
import { Cluster } from '../support/standby.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

const wanted = (await enginesWhenChanged('src/store/**', 'src/guard/**')).includes('postgres');
const cluster = wanted ? await Cluster.start() : null;

if (wanted && need(cluster !== null, 'a PostgreSQL of our own (npm package or system binaries)'))
  describe('a standby', () => {
    const { url } = cluster as Cluster;
    const dataDir = newDataDir();
    let replicas: TestService[];
    let key: string;
    beforeAll(async () => {
      const one = await startService({ databaseUrl: url });
      replicas = [one, await startService({ databaseUrl: url, dataDir })];
      key = (await one.newKey([{ tool: '*', action: 'allow' }])).key;
    });
    afterAll(async () => {
      for (const replica of replicas ?? []) await replica.kill('SIGKILL');
      for (const replica of replicas ?? []) await replica.close();
      await cluster?.close();
      rmSync(dataDir, { recursive: true, force: true });
    });

    const answers = async () =>
      (await Promise.all(replicas.map(each => each.check(key, 'a', 'b')))).map(each => each.status);
    /** How many connections of the replicas a server has that listen, or try to. */
    const listening = async (which: 'primary' | 'standby') => {
      const count = `SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND query LIKE 'LISTEN%'`;
      const [row] = await sql<{ count: number }>((cluster as Cluster).urlOn(which), count);
      return row?.count;
    };
    const allow = async () => (await answers()).every(status => status === 200);

    test('is not stayed with once the way leads to the primary again', async () => {
      cluster?.lead('standby', true);
      await until('everything leads to the standby, and checks fail', async () => {
        return (
          (await answers()).every(status => status === 500) &&
          (await listening('standby')) === replicas.length
        );
      });
      cluster?.lead('primary', false);
      const begun = performance.now();
      await until('checks are answered again', allow);
      await until(
        'every replica listens there again',
        async () => (await listening('primary')) === replicas.length,
      );
      console.log(`left the standby after ${Math.round(performance.now() - begun)} ms`);
    });

    test('takes over from a primary that died, and no verdict is lost', async () => {
      const told: string[] = [];
      const other: number[] = [];
      let going = true;
      const callers = replicas.flatMap(replica =>
        Array.from({ length: 3 }, async () => {
          while (going) {
            const reply = await replica.check(key, 'github', 'get_issue');
            if (reply.status === 200) told.push(reply.body.toolCallId);
            else {
              other.push(reply.status);
              expect(reply.body.decision).toBeUndefined();
            }
          }
        }),
      );
      await until('there is load', () => told.length > 100);
      await cluster?.primary.stop('immediate');
      await until('the outage is noticed', () => other.length > 0);
      await cluster?.promote();
      cluster?.lead('standby', true);
      const [before, begun] = [told.length, performance.now()];
      await until('verdicts come again', () => told.length > before + 50);
      const ms = Math.round(performance.now() - begun);
      going = false;
      await Promise.all(callers);
      const rows = await sql<{ id: string }>(
        (cluster as Cluster).urlOn('standby'),
        'SELECT id FROM audit_entries',
      );
      const kept = new Set(rows.map(each => each.id));
      const lost = told.filter(id => !kept.has(id));
      console.log(
        `failover: ${told.length} verdicts, ${other.length} refused, ${lost.length} lost, back after ${ms} ms`,
      );
      expect(lost).toEqual([]);
      expect(new Set(other).difference(new Set([500, 503]))).toEqual(new Set());
    });
  });
