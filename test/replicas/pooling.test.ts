// Two replicas behind a proxy that lends connections by transaction: what is promised holds there too. There is
// no LISTEN through it, so that hints from other replicas are lost, and polling does what they would.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { type Gate, openGate } from '../approvals/gate.ts';
import { inTime, sql } from '../support/faults.ts';
import { need } from '../support/need.ts';
import { hasPgBouncer, type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { failToStart, type TestService } from '../support/service.ts';

const ROUNDS = 20;
const SERVER_CONNECTIONS = 3;
/** So long somebody waits for a connection before it is an error. */
const ACQUIRE_MS = 2000;

const postgres = await sharedPostgres();
const able =
  need(postgres !== null, 'PostgreSQL (npm package, system binaries or TOOLGATE_TEST_PG_URL)') &&
  need(hasPgBouncer, 'PgBouncer (or TOOLGATE_TEST_PGBOUNCER)');

describe.if(able)('behind a proxy that pools by transaction', () => {
  let direct: string;
  let proxy: PgBouncer;
  let gate: Gate;
  let one: TestService;
  let two: TestService;
  beforeAll(async () => {
    direct = (await postgres?.createDatabase()) ?? '';
    proxy = await startPgBouncer(direct, SERVER_CONNECTIONS);
    const env = { TOOLGATE_DATABASE_POOLING: 'transaction' };
    gate = await openGate({ databaseUrl: proxy.url, replicas: 2, env });
    [one, two] = gate.services as [TestService, TestService];
  });
  afterAll(async () => {
    await gate?.close();
    await proxy?.close();
  });

  test('every verdict is recorded, however many share few connections', async () => {
    const { keyId, verdicts, refused } = await inTime(async () => {
      const { key, keyId } = await one.newKey([{ tool: '*', action: 'allow' }]);
      const begun = performance.now();
      const asked = Array.from({ length: 300 }, (_, index) => (index % 2 ? one : two).check(key, 'a', 'b'));
      const read = Array.from({ length: 100 }, (_, index) => (index % 2 ? one : two).admin('GET', '/keys'));
      const verdicts = await Promise.all(asked);
      const all = [...verdicts, ...(await Promise.all(read))];
      const refused = all.filter(each => each.status !== 200).map(each => each.text);
      const late = performance.now() - begun > ACQUIRE_MS ? refused.length : 0;
      return { keyId, verdicts, refused, late };
    });
    expect(refused).toEqual([]);
    expect(new Set(verdicts.map(each => each.body.decision))).toEqual(new Set(['allow']));
    const rows = await sql<{ id: string }>(direct, `SELECT id FROM audit WHERE key_id = '${keyId}'`);
    expect(rows.map(each => each.id).sort()).toEqual(verdicts.map(each => each.body.toolCallId).sort());
  });

  test('details are shown by the replica that judged the call, and the other says that they are gone', async () => {
    const { key } = await one.newKey([{ tool: '*', action: 'require_approval', show: 'all' }]);
    const { referenceId } = (await one.check(key, 'a', 'b', { args: { amount: 5 } })).body;
    const path = `/approvals/${referenceId}`;
    expect((await one.admin('GET', path)).body.details.fields).toEqual([{ path: 'amount', value: '5' }]);
    expect((await two.admin('GET', path)).body.detailsGone).toBe(true);
  });

  test('a revocation on one replica holds on the other at once', async () => {
    const { key } = await one.newKey([{ tool: '*', action: 'allow' }]);
    const late: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const { id, token } = (await one.json('POST', '/v1/sessions', key)).body;
      let gone = false;
      const caller = async () => {
        for (let more = 3; more > 0; ) {
          const sentAfter = gone;
          const reply = await two.check(token, 'a', 'b');
          if (sentAfter && reply.status !== 401) late.push(reply.text);
          if (sentAfter) more--;
        }
      };
      const callers = [caller(), caller(), caller()];
      await Bun.sleep(5);
      expect((await one.json('DELETE', `/v1/sessions/${id}`, key)).status).toBe(204);
      gone = true;
      await Promise.all(callers);
    }
    expect(late).toEqual([]);
  });

  test('an approval is told, answered on the other replica, and answered once', async () => {
    const asked = await gate.ask(await gate.key());
    const all = gate.services.flatMap(service =>
      Array.from({ length: 10 }, () => gate.answer(asked.token, { action: 'approve' }, {}, service)),
    );
    const statuses = (await Promise.all(all)).map(each => each.status);
    expect(statuses.filter(status => status === 200)).toHaveLength(1);
    expect(statuses.filter(status => status === 410)).toHaveLength(19);
    expect(await gate.statusOf(asked.referenceId)).toBe('approved');
  });

  test('no setting of ours stays with a connection that others get', async () => {
    const server = new SQL(proxy.url, { max: SERVER_CONNECTIONS * 2, prepare: false });
    const shown = await Promise.all(
      Array.from({ length: 50 }, () =>
        server.unsafe(`SELECT current_setting('statement_timeout') AS timeout, pg_sleep(0.005)`),
      ),
    );
    await server.close();
    expect(new Set(shown.map(rows => rows[0].timeout))).toEqual(new Set(['0']));
  });

  test('without the setting, the start says which one is missing', async () => {
    const output = await failToStart({ databaseUrl: proxy.url });
    expect(output).toContain('Set TOOLGATE_DATABASE_POOLING=transaction.');
  });
});
