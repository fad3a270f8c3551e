// What every door has to do, tested through a real service: it allows, denies and holds, it refuses what it cannot
// judge in its own language, it records one entry or none, and arguments are seen nowhere. A door says how it asks and
// what its answers mean; all its cases share one service, and several doors may share it too.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Decision } from '../../src/core/decision/decide.ts';
import type { Rule } from '../../src/core/policy/policy.ts';
import { mintToken } from '../../src/guard/secrets.ts';
import { lockDatabase, renameTable } from '../faults/audit-faults.ts';
import { Canaries, searchFor } from '../faults/canaries.ts';
import { sql, until } from '../support/faults.ts';
import { type Reply, startService, type TestService, unlessStalled } from '../support/service.ts';

/** What the policy says about a call: rules find it by the name of the tool, or as the door says. */
export const TOOLS = { allow: 'allowed', deny: 'denied', pending: 'asked' } as const;
export type Tool = (typeof TOOLS)[Decision];

export type Case =
  | 'allow'
  | 'deny'
  | 'pending'
  | 'freed'
  | 'malformed'
  | 'too large'
  | 'unauthenticated'
  | 'revoked'
  | 'audit failure'
  | 'overload';

export interface TestedDoor {
  path: string;
  /** POST if it is not given. */
  method?: string;
  /** Headers besides the key and the content type. */
  headers?: Record<string, string>;
  surface: string;
  /** The request about a call of this tool; a text is sent as it is. The arguments have to be somewhere in it. */
  body(call: { tool: Tool; args: Record<string, string> }): unknown;
  /** The path, if it differs from call to call. */
  pathOf?(call: { tool: Tool }): string;
  /** The full name under which the call is recorded. */
  recorded(tool: Tool): string;
  /** The rules, for a door whose calls do not carry the names of TOOLS. */
  rules?: Rule[];
  /** Whether an answer lets the call proceed. */
  allows(reply: Reply): boolean;
  /** The status of each answer; 200 where nothing is said. */
  status?(on: Case): number;
  /** What is expected of an answer besides: its words, its shape. */
  expects?(on: Case, reply: Reply): void;
  /** The reference in an answer that holds a call, or null if this protocol has no place for one. */
  reference(reply: Reply): string | null;
  /** More bodies that cannot be read as a call. */
  malformed?: unknown[];
  /** A pending call is not put to approvers (`pending=ask`), so that it cannot be freed by repeating it. */
  opensNone?: boolean;
}

const RULES: Rule[] = [
  { tool: TOOLS.allow, action: 'allow' },
  { tool: TOOLS.pending, action: 'require_approval' },
];

/** So few may wait that a test can fill the queue. */
const ENV = { TOOLGATE_QUEUE_LIMIT: '1' };
/** One check waits for the store and another for its turn. */
const FULL = 2;

const NOT_JSON = ['', '{', 'null', '[]', '"text"', '{}', `{"a":${'['.repeat(200)}${']'.repeat(200)}}`];

interface Entry {
  surface: string;
  decision: Decision;
  name: string;
  reference_id: string | null;
}

/** One door through all its cases. */
export function testDoor(name: string, door: TestedDoor): void {
  testDoors({ [name]: door });
}

/** Several doors, each through all its cases, in one service. */
export function testDoors(doors: Record<string, TestedDoor>): void {
  const seen: Seen = { canaries: new Canaries(), replies: [], service: null };
  describe(Object.keys(doors).join(', '), () => {
    beforeAll(async () => {
      seen.service = await startService({ env: ENV });
    });
    afterAll(() => seen.service?.close());

    for (const [name, door] of Object.entries(doors)) describe(name, () => testCases(door, seen));

    test('no argument is in the store, in the log, in a metric or in an answer', async () => {
      const service = seen.service as TestService;
      const metrics = await service.request('GET', '/metrics');
      const texts = [service.output, metrics.text, ...seen.replies];
      expect(searchFor(seen.canaries, [service.dataDir], texts)).toEqual([]);
    });
  });
}

/** What the doors of one service share. */
interface Seen {
  canaries: Canaries;
  replies: string[];
  service: TestService | null;
}

function testCases(door: TestedDoor, seen: Seen): void {
  const { canaries, replies } = seen;
  let service: TestService;
  let key: string;
  let keyId: string;
  beforeAll(async () => {
    service = seen.service as TestService;
    ({ key, keyId } = await service.newKey(door.rules ?? RULES));
  });

  const request = async (token: string | null, body: unknown, path = door.path): Promise<Reply> => {
    const headers = {
      'Content-Type': 'application/json',
      ...(token !== null && { Authorization: `Bearer ${token}` }),
      ...door.headers,
    };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const reply = await service.request(door.method ?? 'POST', path, { headers, body: text });
    replies.push(reply.text, JSON.stringify([...reply.headers]));
    return reply;
  };
  const ask = (tool: Tool, args: Record<string, string>, token: string | null = key): Promise<Reply> =>
    request(token, door.body({ tool, args }), door.pathOf?.({ tool }));
  const marked = (place: string) => ({ marker: canaries.at(`an argument of a call that is ${place}`) });
  const entries = (): Promise<Entry[]> =>
    sql<Entry>(
      service.databaseUrl,
      `SELECT surface, decision, server_name || '__' || tool_name AS name, reference_id FROM audit
         WHERE key_id = '${keyId}' ORDER BY id`,
    );
  /** The entries that a request leaves, and its answer. */
  const during = async (act: () => Promise<Reply>): Promise<{ reply: Reply; added: Entry[] }> => {
    const before = (await entries()).length;
    const reply = await act();
    return { reply, added: (await entries()).slice(before) };
  };
  const expectAnswer = (on: Case, reply: Reply, allowed: boolean): void => {
    expect([on, reply.status, reply.text]).toEqual([on, door.status?.(on) ?? 200, reply.text]);
    expect([on, door.allows(reply), reply.text]).toEqual([on, allowed, reply.text]);
    door.expects?.(on, reply);
  };

  for (const decision of ['allow', 'deny', 'pending'] as const) {
    test(`${decision}: its own answer and one entry`, async () => {
      const tool = TOOLS[decision];
      const args = marked(tool);
      const { reply, added } = await during(() =>
        unlessStalled(
          () => ask(tool, args),
          answer => decision === 'allow' && !door.allows(answer),
        ),
      );
      expectAnswer(decision, reply, decision === 'allow');
      expect(added).toMatchObject([{ surface: door.surface, decision, name: door.recorded(tool) }]);
      const reference = decision === 'pending' ? door.reference(reply) : null;
      if (reference !== null) expect(added[0]?.reference_id).toBe(reference);
    });
  }

  test.skipIf(door.opensNone === true)(
    'freed: the same call again opens no second approval, and proceeds once when it is approved',
    async () => {
      const args = marked('freed');
      await ask(TOOLS.pending, args);
      const { reply, added } = await during(() => ask(TOOLS.pending, args));
      expectAnswer('pending', reply, false);
      const open = await sql<{ id: string }>(
        service.databaseUrl,
        `SELECT id FROM approvals WHERE key_id = '${keyId}' ORDER BY id DESC`,
      );
      const referenceId = open[0]?.id as string;
      expect(added).toMatchObject([{ decision: 'pending', reference_id: referenceId }]);
      const resolved = await service.admin('POST', `/approvals/${referenceId}/resolve`, {
        action: 'approve',
      });
      expect(resolved.status).toBe(200);
      const freed = await during(() => ask(TOOLS.pending, args));
      expectAnswer('freed', freed.reply, true);
      expect(freed.added).toMatchObject([{ decision: 'allow', reference_id: referenceId }]);
      const again = await ask(TOOLS.pending, args);
      expect(door.allows(again)).toBe(false);
    },
  );

  test('malformed: refused, and no entry', async () => {
    const { tool, args } = { tool: TOOLS.allow, args: marked('cut off') };
    const whole = door.body({ tool, args });
    const text = typeof whole === 'string' ? whole : JSON.stringify(whole);
    for (const body of [text.slice(0, -1), `${text}x`, ...NOT_JSON, ...(door.malformed ?? [])]) {
      const { reply, added } = await during(() => request(key, body));
      expectAnswer('malformed', reply, false);
      expect([body, added]).toEqual([body, []]);
    }
    const huge = marked('too large');
    const { reply, added } = await during(() => ask(tool, { ...huge, padding: 'x'.repeat(2 * 1024 * 1024) }));
    expectAnswer('too large', reply, false);
    expect(added).toEqual([]);
  });

  test('unauthenticated: refused, and no entry', async () => {
    for (const token of [null, 'garbage', mintToken('key').token]) {
      const { reply, added } = await during(() => ask(TOOLS.allow, marked('of nobody'), token));
      expectAnswer('unauthenticated', reply, false);
      expect(added).toEqual([]);
    }
  });

  test('revoked: refused, and no entry', async () => {
    const { token, id } = (await service.json('POST', '/v1/sessions', key)).body;
    const first = await during(() => ask(TOOLS.allow, marked('of a session'), token));
    expect(door.allows(first.reply)).toBe(true);
    expect(first.added).toHaveLength(1);
    const ended = await service.json('DELETE', `/v1/sessions/${id}`, key);
    expect(ended.status).toBe(204);
    const { reply, added } = await during(() => ask(TOOLS.allow, marked('revoked'), token));
    expectAnswer('revoked', reply, false);
    expect(added).toEqual([]);
  });

  test('audit failure: refused, and no entry', async () => {
    const before = (await entries()).length;
    const end = await renameTable(service);
    const reply = await ask(TOOLS.allow, marked('not recorded')).finally(end);
    expectAnswer('audit failure', reply, false);
    expect((await entries()).length).toBe(before);
    const after = await unlessStalled(
      () => ask(TOOLS.allow, marked('after that')),
      answer => !door.allows(answer),
    );
    expect(door.allows(after)).toBe(true);
  });

  test('overload: refused, and no entry', async () => {
    const mine = async () => (await entries()).filter(each => each.name !== 'files__waits').length;
    const before = await mine();
    const unlock = await lockDatabase(service);
    let filling = true;
    const fill = async () => {
      for (; filling; await Bun.sleep(20))
        await service.json('POST', '/v1/check', key, { serverName: 'files', toolName: 'waits' });
    };
    const fillers = Array.from({ length: 2 * FULL }, fill);
    try {
      // Until the queue is full, the door gives up because the store is locked.
      const args = marked('refused by overload');
      let reply = await ask(TOOLS.allow, args);
      await until('a refusal by overload', async () => {
        if (reply.headers.get('X-Toolgate-Error') === 'overloaded') return true;
        reply = await ask(TOOLS.allow, args);
        return false;
      });
      expectAnswer('overload', reply, false);
    } finally {
      filling = false;
      await unlock();
      await Promise.all(fillers);
    }
    expect(await mine()).toBe(before);
    const { added } = await during(() => ask(TOOLS.deny, marked('after overload')));
    expect(added).toHaveLength(1);
  });
}
