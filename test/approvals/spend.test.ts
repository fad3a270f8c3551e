// Spending an approval: a check that carries its referenceId is allowed once, for the same key, tool and
// arguments and no others; of many at once, on any replica, one.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { until } from '../support/faults.ts';
import { engines } from '../support/service.ts';
import { enginesWhenChanged, sized } from '../support/when-changed.ts';
import { ASK_ALL, type Gate, openGate } from './gate.ts';

/** Where all tests run. Those in which the engine has a part of its own come first, and run on both. */
const whole = await enginesWhenChanged('src/store/**', 'src/guard/check/**', 'src/guard/approvals/**');
for (const engine of await engines()) {
  describe(`spending on ${engine}`, () => {
    let gate: Gate;
    let key: string;
    beforeAll(async () => {
      const env = { TOOLGATE_MAX_OPEN_APPROVALS_PER_KEY: '1000' };
      gate = await openGate({ engine, replicas: engine === 'postgres' ? 2 : 1, env });
      key = await gate.key();
    });
    afterAll(() => gate.close());

    /** An approved call with these arguments, as raw JSON. */
    async function approved(args: string | null, token = key): Promise<string> {
      const held = await send(args, undefined, token);
      const { referenceId } = held.body;
      await gate.approve((await gate.link(referenceId)).token);
      return referenceId;
    }

    const send = (
      args: string | null,
      referenceId?: string,
      token = key,
      tool = 'deploy',
      server = 'prod',
    ) => {
      const parts = [`"serverName":"${server}"`, `"toolName":"${tool}"`];
      if (args !== null) parts.push(`"args":${args}`);
      if (referenceId !== undefined) parts.push(`"referenceId":"${referenceId}"`);
      return gate.service.json('POST', '/v1/check', token, `{${parts.join(',')}}`);
    };
    const decision = async (...args: Parameters<typeof send>) => (await send(...args)).body.decision;

    test('frees the call once and says by what; the next call waits again', async () => {
      const referenceId = await approved('{"a":1}');
      const { body } = await send('{"a":1}', referenceId);
      expect(body.decision).toBe('allow');
      expect(body.reason).toContain(referenceId);
      const { entries } = (await gate.service.admin('GET', '/audit?limit=1')).body;
      expect(entries[0]).toMatchObject({ id: body.toolCallId, referenceId });
      const again = await send('{"a":1}', referenceId);
      expect(again.body.decision).toBe('pending');
      expect(again.body.referenceId).not.toBe(referenceId);
    });

    test('another key, tool or server cannot spend it', async () => {
      const referenceId = await approved('{"a":1}');
      expect(await decision('{"a":1}', referenceId, await gate.key())).toBe('pending');
      expect(await decision('{"a":1}', referenceId, key, 'deploy2')).toBe('pending');
      expect(await decision('{"a":1}', referenceId, key, 'deploy', 'staging')).toBe('pending');
      expect(await decision('{"a":1}', referenceId)).toBe('allow');
    });

    test('of two at once, the one that comes too late is told that it has been used', async () => {
      const given = await approved('{"w":6}');
      const bodies = await Promise.all([1, 2].map(async () => (await send('{"w":6}', given)).body));
      const [late] = bodies.filter(body => body.decision === 'pending');
      expect(bodies.map(body => body.decision).sort()).toEqual(['allow', 'pending']);
      expect(late.reason).toEndWith('does not free this call: it has been used.');
    });

    test('of many that spend it at once exactly one is allowed', async () => {
      for (let round = 0; round < sized(5, 5, 2); round++) {
        const referenceId = await approved('{"r":1}');
        const body = { args: { r: 1 }, referenceId };
        const replies = await Promise.all(
          Array.from({ length: 40 }, (_, index) =>
            gate.services[index % gate.services.length]?.check(key, 'prod', 'deploy', body),
          ),
        );
        const allowed = replies.filter(reply => reply?.body.decision === 'allow');
        const held = replies.filter(reply => reply?.body.decision === 'pending');
        expect([allowed.length, held.length]).toEqual([1, 39]);
      }
    });

    if (!whole.includes(engine)) return;

    test('nothing is freed without naming it', async () => {
      const referenceId = await approved('{"b":1}');
      expect(await decision('{"b":1}')).toBe('pending');
      expect(await decision('{"b":1}', referenceId)).toBe('allow');
    });

    const SAME: [string | null, string | null][] = [
      ['{"a":1,"b":{"c":2,"d":3}}', '{"b":{"d":3,"c":2},"a":1}'],
      ['{"n":100}', '{"n":1e2}'],
      ['{"n":1}', '{"n":1.0}'],
      ['{"n":0.5}', '{"n":5E-1}'],
      ['{"s":"é"}', '{"s":"\\u00e9"}'],
      [null, '{}'],
      ['{}', null],
      ['{"big":9007199254740993}', ' { "big" : 9007199254740993 } '],
    ];
    for (const [asked, spent] of SAME) {
      test(`${asked} and ${spent} are the same call`, async () => {
        expect(await decision(spent, await approved(asked))).toBe('allow');
      });
    }

    const OTHER: [string | null, string | null][] = [
      ['{"a":1}', '{"a":2}'],
      ['{"a":1}', '{"a":"1"}'],
      ['{"a":1}', '{"a":1,"b":null}'],
      ['{"a":[1,2]}', '{"a":[2,1]}'],
      ['{"a":null}', '{}'],
      ['{"a":1}', null],
      ['{"big":9007199254740993}', '{"big":9007199254740992}'],
      ['{"big":12345678901234567890}', '{"big":12345678901234567891}'],
      ['{"s":"é"}', '{"s":"e\\u0301"}'],
      ['{"a":""}', '{"a":" "}'],
    ];
    for (const [asked, spent] of OTHER) {
      test(`${asked} and ${spent} are not, and the approval stays unspent`, async () => {
        const referenceId = await approved(asked);
        expect(await decision(spent, referenceId)).toBe('pending');
        expect(await decision(asked, referenceId)).toBe('allow');
      });
    }

    test('key and sessions may spend for one another, within scope', async () => {
      const session = async (scopeTools?: string[]) =>
        (await gate.service.json('POST', '/v1/sessions', key, scopeTools ? { scopeTools } : {})).body.token;
      const byKey = await approved('{"s":1}');
      expect(await decision('{"s":1}', byKey, await session(['prod__other']))).toBe('deny');
      expect(await decision('{"s":1}', byKey, await session())).toBe('allow');
      const bySession = await approved('{"s":2}', await session());
      expect(await decision('{"s":2}', bySession)).toBe('allow');
    });

    test('a pending or denied approval, an approval that opened a grant, an unknown one: none frees', async () => {
      const pending = (await send('{"p":1}')).body.referenceId;
      expect(await decision('{"p":1}', pending)).toBe('pending');
      const denied = await gate.ask(key, 'deploy', { args: { d: 1 } });
      await gate.answer(denied.token, { action: 'deny' });
      expect(await decision('{"d":1}', denied.referenceId)).toBe('pending');
      expect(await decision('{"p":1}', Bun.randomUUIDv7())).toBe('pending');
      const lasting = await gate.ask(key, 'lasting', { args: { g: 1 } });
      await gate.approve(lasting.token, '1h');
      const { grants } = (await gate.service.admin('GET', '/grants')).body;
      await gate.service.admin('DELETE', `/grants/${grants[0].id}`);
      expect(await decision('{"g":1}', lasting.referenceId, key, 'lasting')).toBe('pending');
    });

    test('one that frees nothing is told why, in the verdict and in the log; another key’s looks like none', async () => {
      const why = async (...args: Parameters<typeof send>) => {
        const { body } = await send(...args);
        expect(body.decision).toBe('pending');
        const [entry] = (await gate.service.admin('GET', '/audit?limit=1')).body.entries;
        expect(entry).toMatchObject({ id: body.toolCallId, reason: body.reason });
        return /^Rule 0 .* requires approval for [^.]+\.(?: The approval that was named does not free this call: (.+)\.)?$/.exec(
          body.reason,
        )?.[1];
      };
      expect(await why('{"w":1}')).toBeUndefined();
      expect(await why('{"w":1}', Bun.randomUUIDv7())).toBe('there is none with this id');
      const pending = (await send('{"w":2}')).body.referenceId;
      expect(await why('{"w":2}', pending)).toBe('nobody has answered it yet');
      const denied = await gate.ask(key, 'deploy', { args: { w: 3 } });
      await gate.answer(denied.token, { action: 'deny' });
      expect(await why('{"w":3}', denied.referenceId)).toBe('it was denied');
      const given = await approved('{"w":4}');
      expect(await why('{"w":4}', given, await gate.key())).toBe('there is none with this id');
      expect(await why('{"w":4}', given, key, 'other')).toBe('it is for another tool');
      expect(await why('{"w":5}', given)).toBe('it is for other arguments');
      expect(await decision('{"w":4}', given)).toBe('allow');
      expect(await why('{"w":4}', given)).toBe('it has been used');
    });

    test('a deny rule that came since is not overcome, and nothing is spent by it', async () => {
      const made = await gate.service.newKey(ASK_ALL);
      const referenceId = await approved('{"a":1}', made.key);
      const put = (rules: object[]) => gate.service.admin('PUT', `/policies/${made.policyId}`, { rules });
      await put([{ tool: 'deploy', action: 'deny' }]);
      expect(await decision('{"a":1}', referenceId, made.key)).toBe('deny');
      await put([{ tool: 'deploy', action: 'allow' }]);
      expect(await decision('{"a":1}', referenceId, made.key)).toBe('allow');
      await put(ASK_ALL);
      expect(await decision('{"a":1}', referenceId, made.key)).toBe('allow');
      expect(await decision('{"a":1}', referenceId, made.key)).toBe('pending');
    });

    test('a revoked key spends nothing', async () => {
      const made = await gate.service.newKey(ASK_ALL);
      const referenceId = await approved('{"a":1}', made.key);
      await gate.service.admin('DELETE', `/keys/${made.keyId}`);
      expect((await send('{"a":1}', referenceId, made.key)).status).toBe(401);
      const [row] = await gate.rows<{ spent: number | null }>(
        `SELECT spent_at AS spent FROM approvals WHERE id = '${referenceId}'`,
      );
      expect(row?.spent).toBeNull();
    });

    test('an invalid referenceId is a 400', async () => {
      for (const referenceId of ['', 'x', 7, null, ['x']])
        expect((await gate.service.check(key, 'prod', 'deploy', { referenceId })).status).toBe(400);
    });
  });

  if (!whole.includes(engine)) continue;
  test(`${engine}: a lapsed approval frees nothing`, async () => {
    const gate = await openGate({ engine });
    try {
      const key = await gate.key();
      const { referenceId } = await gate.ask(key);
      await gate.lapse();
      await until('the approval lapsed', async () => (await gate.statusOf(referenceId)) === 'timed_out');
      const { body } = await gate.service.check(key, 'prod', 'deploy', { referenceId });
      expect(body.decision).toBe('pending');
    } finally {
      await gate.close();
    }
  });
}
