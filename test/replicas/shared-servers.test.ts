// A tool server that keys share is changed on one replica while another forwards calls to it: whatever is sent after the
// change was answered goes where the server is now, or nowhere, also if no hint tells the other replica. All calls are
// noted, and compared afterwards.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { newDataDir, until, withMutant } from '../support/faults.ts';
import { LegacyClient, RecordingUpstream, text } from '../support/mcp.ts';
import type { Patch } from '../support/mutant.ts';
import { engines, startService, type TestService } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came
type Any = any;

const onPostgres = (await engines()).includes('postgres');
const CALLERS = 6;
const CHANGES = 20;

const NO_HINTS: Patch = {
  file: 'src/mcp/hub.ts',
  find: "onHint(deps.db, 'tool-server', id => this.#serverChanged(id));",
  replace: '',
};
/** Whether a call goes to what its key has now is not asked in the audit commit. */
const NO_LOOK: Patch = {
  file: 'src/guard/check/facts.ts',
  find: 'if (connectedTool === undefined) return true;',
  replace: 'return true;',
};

const says = (name: string) =>
  new RecordingUpstream({ onCall: () => ({ content: [{ type: 'text', text: name }] }) });

describe.if(onPostgres)('two replicas', () => {
  const upstreams = [says('0'), says('1')] as const;
  afterAll(() => Promise.all(upstreams.map(each => each.stop())));

  let one: TestService;
  let two: TestService;
  let end: () => Promise<void>;
  beforeAll(async () => {
    ({ one, two, end } = await started());
  });
  afterAll(() => end());

  async function started(root?: string) {
    const dataDir = newDataDir();
    const from = root === undefined ? {} : { root };
    const one = await startService({ engine: 'postgres', ...from });
    const two = await startService({ databaseUrl: one.databaseUrl, dataDir, ...from });
    const end = async () => {
      await one.close();
      await two.close();
      rmSync(dataDir, { recursive: true, force: true });
    };
    return { one, two, end };
  }

  /** The same, measured on two replicas of a mutant. */
  const movedOn = (...patches: Patch[]) =>
    withMutant(patches, async root => {
      const { one, two, end } = await started(root);
      return moved(one, two).finally(end);
    });

  async function newServer(one: TestService, two: TestService, name: string) {
    const made = { name, transport: 'http', url: upstreams[0].url };
    const { body } = await one.admin('POST', '/tool-servers', made);
    const clients: LegacyClient[] = [];
    const links: { keyId: string; id: string }[] = [];
    for (let n = 0; n < 2; n++) {
      const { key, keyId } = await one.newKey([{ tool: '*', action: 'allow' }]);
      const link = await one.admin('POST', `/keys/${keyId}/connected-tools`, { toolServerId: body.id });
      links.push({ keyId, id: link.body.id });
      clients.push(await LegacyClient.open(two, key));
    }
    return { id: body.id as string, clients, links };
  }

  /** Calls without end, numbered in the order in which they are sent. */
  function calling(clients: readonly LegacyClient[], name: string) {
    let goesOn = true;
    const log: { n: number; said: string }[] = [];
    const at = { sent: 0, underWay: new Set<number>() };
    const callers = Array.from({ length: CALLERS }, async (_, caller) => {
      while (goesOn) {
        const n = at.sent++;
        at.underWay.add(n);
        const answer: Any = await clients[caller % clients.length]!.call(name, { n });
        at.underWay.delete(n);
        log.push({ n, said: answer.error?.message ?? text(answer) });
      }
    });
    const end = async () => {
      goesOn = false;
      await Promise.all(callers);
      return log;
    };
    return { at, log, end };
  }

  /** How many calls failed, and how many went to where the server was before. */
  async function moved(one: TestService, two: TestService) {
    const { id, clients } = await newServer(one, two, 'moving');
    for (const each of upstreams) each.heard.length = 0;
    const { at, log, end } = calling(clients, 'moving__echo');
    /** How many calls had been sent when each change began and when it was answered, and which were under way. */
    const changes = [{ began: 0, underWay: new Set<number>(), answered: 0 }];
    for (let n = 1; n <= CHANGES; n++) {
      const now = upstreams[n % 2] as RecordingUpstream;
      const [began, underWay] = [at.sent, new Set(at.underWay)];
      expect((await one.admin('PATCH', `/tool-servers/${id}`, { url: now.url })).status).toBe(200);
      const from = at.sent;
      changes.push({ began, underWay, answered: from });
      await until('calls went on', () => log.filter(each => each.n >= from).length >= CALLERS * 3);
    }
    const noted = await end();
    let late = 0;
    for (const [which, upstream] of upstreams.entries())
      for (const { params } of upstream.calls) {
        const { n } = params.arguments;
        const since = changes.findLastIndex(({ answered }) => answered <= n);
        const next = changes[since + 1];
        // Those that had no answer when the next change began may go to either.
        const isEarly = next === undefined || (n < next.began && !next.underWay.has(n));
        if (since % 2 !== which && isEarly) late++;
      }
    const failed = noted.filter(({ said }) => !['0', '1'].includes(said)).length;
    console.log(`${noted.length} calls, ${CHANGES} changes, ${failed} failed, ${late} late`);
    return { failed, late, calls: noted.length };
  }

  test('a change is in force when it is answered', async () => {
    const { failed, late, calls } = await moved(one, two);
    expect([failed, late]).toEqual([0, 0]);
    expect(calls).toBeGreaterThan(CHANGES * CALLERS * 3);
  });

  whenChanged(NO_HINTS, NO_LOOK)('it is, also where no hint tells of it', async () => {
    const { failed, late } = await movedOn(NO_HINTS);
    expect([failed, late]).toEqual([0, 0]);
  });

  whenChanged(NO_HINTS, NO_LOOK)('a mutant that does not look in the audit commit is found out', async () => {
    const { late } = await movedOn(NO_HINTS, NO_LOOK);
    expect(late).toBeGreaterThan(0);
  });

  test('a Connected Tool that was removed gets no call of its key, and the other key goes on', async () => {
    const { id, clients, links } = await newServer(one, two, 'leaving');
    const [gone, kept] = clients as [LegacyClient, LegacyClient];
    const [first] = links as [{ keyId: string; id: string }];
    const { at, log, end } = calling([gone], 'leaving__echo');
    await until('calls went on', () => log.length > CALLERS);
    const removed = await one.admin('DELETE', `/keys/${first.keyId}/connected-tools/${first.id}`);
    expect(removed.status).toBe(204);
    const from = at.sent;
    await until('calls went on', () => log.filter(each => each.n >= from).length >= CALLERS * 3);
    const after = (await end()).filter(each => each.n >= from);
    expect(new Set(after.map(each => each.said))).toEqual(new Set(['Unknown tool: leaving__echo']));
    expect(text(await kept.call('leaving__echo', {}))).toBe('0');
    expect((await one.admin('GET', `/tool-servers/${id}`)).body.keys).toBe(1);
  });
});
