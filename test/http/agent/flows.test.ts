// Runs, marks and known values over HTTP: which calls share a run, what a marking call means for those after it, what
// makes values known, and what operators see of it.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Rule } from '../../../src/core/policy/policy.ts';
import { engines, type Reply, startService, type TestService } from '../../support/service.ts';

const RULES: Rule[] = [
  { tool: 'web__fetch', action: 'allow', marks: 'untrusted' },
  { tool: 'crm__*', action: 'allow', known: 'results' },
  { tool: 'mail__send', action: 'allow', when: '!("untrusted" in marks)' },
  { tool: 'mail__send', action: 'allow', when: 'known(args.to)' },
  { tool: 'mail__send', action: 'require_approval', show: ['to'] },
  { tool: 'iban__pay', action: 'allow', when: 'known(args.amount) && known(args.iban)' },
];

for (const engine of await engines()) {
  describe(engine, () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startService({ engine });
    });
    afterAll(() => service.close());

    const ask = (token: string, tool: string, args: object = {}, run?: string): Promise<Reply> => {
      const [serverName, toolName] = tool.split('__');
      const headers: Record<string, string> = {
        Authorization: `Bearer ${token}`,
        'Content-Type': 'application/json',
      };
      if (run !== undefined) headers['Toolgate-Run'] = run;
      return service.request('POST', '/v1/check', {
        headers,
        body: JSON.stringify({ serverName, toolName, args }),
      });
    };
    const decision = async (token: string, tool: string, args: object = {}, run?: string) =>
      (await ask(token, tool, args, run)).body.decision;
    const tell = (token: string, body: object, run?: string) =>
      service.request('POST', '/v1/told', {
        headers: {
          Authorization: `Bearer ${token}`,
          'Content-Type': 'application/json',
          ...(run !== undefined && { 'Toolgate-Run': run }),
        },
        body: JSON.stringify(body),
      });
    const session = async (key: string, body: object = {}): Promise<{ token: string; id: string }> =>
      (await service.json('POST', '/v1/sessions', key, body)).body;
    const to = (address: string) => ({ to: address });

    test('a call is decided by the marks of its own run, and of no other', async () => {
      const { key } = await service.newKey(RULES);
      expect(await decision(key, 'mail__send', to('a@x.org'), 'one')).toBe('allow');
      expect(await decision(key, 'web__fetch', {}, 'one')).toBe('allow');
      expect(await decision(key, 'mail__send', to('a@x.org'), 'one')).toBe('pending');
      expect(await decision(key, 'mail__send', to('a@x.org'), 'two')).toBe('allow');
      expect(await decision(key, 'mail__send', to('a@x.org'))).toBe('allow');
      const { token } = await session(key);
      expect(await decision(token, 'mail__send', to('a@x.org'), 'one')).toBe('allow');
      expect(await decision(token, 'web__fetch')).toBe('allow');
      expect(await decision(token, 'mail__send', to('a@x.org'), 'two')).toBe('pending');
      expect(await decision(key, 'mail__send', to('a@x.org'), 'two')).toBe('allow');
    });

    test('a malformed name of a run is refused, beside a session too', async () => {
      const { key } = await service.newKey(RULES);
      const { token } = await session(key);
      for (const name of ['a b', 'x'.repeat(129), ''])
        for (const credential of [key, token])
          expect([name, (await ask(credential, 'web__fetch', {}, name)).status]).toEqual([name, 400]);
      expect((await ask(key, 'web__fetch', {}, 'x'.repeat(128))).status).toBe(200);
    });

    test('values are known that the person, the owner or a trusted tool has named', async () => {
      const { key } = await service.newKey(RULES);
      const { token } = await session(key, { known: ['Write to ann@x.org, please.'] });
      await decision(token, 'web__fetch');
      expect(await decision(token, 'mail__send', to('ann@x.org'))).toBe('allow');
      expect(await decision(token, 'mail__send', to('bob@x.org'))).toBe('pending');
      expect((await tell(token, { text: 'And to <bob@x.org>.' })).status).toBe(202);
      expect(await decision(token, 'mail__send', to('Bob@X.org'))).toBe('allow');
      expect(await decision(token, 'mail__send', { to: ['bob@x.org', 'eve@x.org'] })).toBe('pending');
      const found = (await ask(token, 'crm__find')).body;
      expect(found).toMatchObject({ decision: 'allow', known: 'results' });
      const { toolCallId } = found;
      expect((await tell(token, { toolCallId, structured: { mails: ['eve@x.org'] } })).status).toBe(202);
      expect(await decision(token, 'mail__send', { to: ['bob@x.org', 'eve@x.org'] })).toBe('allow');
      expect(await decision(token, 'iban__pay', { amount: 98.7, iban: 'GB29 NWBK 6016 1331 9268 19' })).toBe(
        'deny',
      );
      await tell(token, { text: 'Pay 98.70 to GB29NWBK60161331926819!' });
      expect(await decision(token, 'iban__pay', { amount: 98.7, iban: 'GB29 NWBK 6016 1331 9268 19' })).toBe(
        'allow',
      );
    });

    test('a run knows 65,536 values, single words first, and what had no room is counted', async () => {
      const { key, keyId } = await service.newKey(RULES);
      const words = Array.from({ length: 16_384 }, (_, at) => word(at));
      await decision(key, 'web__fetch');
      expect((await tell(key, { text: words.join(' ') })).status).toBe(202);
      expect(await decision(key, 'mail__send', to(words.at(-1) as string))).toBe('allow');
      expect(await decision(key, 'mail__send', to(words.slice(0, 2).join(' ')))).toBe('allow');
      expect(await decision(key, 'mail__send', to(words.slice(-8).join(' ')))).toBe('pending');
      // A text of n words has 8 n - 28 stretches of 1 to 8 words.
      const [run] = (await service.admin('GET', `/runs?keyId=${keyId}`)).body.runs;
      expect([run.known, run.dropped]).toEqual([65_536, 8 * 16_384 - 28 - 65_536]);
    }, 60_000);

    test('a result is taken only of a call of the caller that a rule trusts', async () => {
      const { key } = await service.newKey(RULES);
      const other = await service.newKey(RULES);
      const trusted = (await ask(key, 'crm__find')).body.toolCallId;
      const untrusted = (await ask(key, 'web__fetch')).body.toolCallId;
      const { token } = await session(key);
      const problem = (reply: Reply) => [reply.status, reply.body.detail];
      const unknown = problem(await tell(key, { toolCallId: crypto.randomUUID(), text: 'x' }));
      expect(unknown[0]).toBe(404);
      expect(problem(await tell(key, { toolCallId: untrusted, text: 'x' }))).toEqual(unknown);
      expect(problem(await tell(other.key, { toolCallId: trusted, text: 'x' }))).toEqual(unknown);
      expect(problem(await tell(token, { toolCallId: trusted, text: 'x' }))).toEqual(unknown);
      expect((await tell(key, { toolCallId: trusted, text: 'x' })).status).toBe(202);
      expect((await tell(key, { text: 'x'.repeat(65_536) })).status).toBe(202);
      expect((await tell(key, { text: 'x'.repeat(65_537) })).status).toBe(413);
      for (const body of [
        {},
        { text: 1 },
        { structured: 1 },
        { text: 'x', more: 1 },
        { toolCallId: trusted },
      ])
        expect((await tell(key, body)).status).toBe(400);
      expect((await tell(key, {})).body.detail).toEndWith(
        'must be { text }, { toolCallId, text } or { toolCallId, structured }; toolCallId is a UUID',
      );
    });

    test('a result is not taken of a credential that was revoked since', async () => {
      const { key, keyId } = await service.newKey(RULES);
      const { token, id } = await session(key);
      const called = async (credential: string) => (await ask(credential, 'crm__find')).body.toolCallId;
      const [ofSession, ofKey] = [await called(token), await called(key)];
      const report = async (credential: string, toolCallId: string) =>
        (await tell(credential, { toolCallId, text: 'ann@x.org' })).status;
      expect(await report(token, ofSession)).toBe(202);
      expect((await service.json('DELETE', `/v1/sessions/${id}`, key)).status).toBe(204);
      expect(await report(token, ofSession)).toBe(401);
      expect(await report(key, ofKey)).toBe(202);
      expect((await service.admin('DELETE', `/keys/${keyId}`)).status).toBe(204);
      expect(await report(key, ofKey)).toBe(401);
    });

    test('a session takes as many known values as it may, of any letters', async () => {
      const { key } = await service.newKey(RULES);
      const minted = (known: string[]) => service.json('POST', '/v1/sessions', key, { known });
      for (const letter of ['a', '\u{1f600}'])
        expect((await minted(new Array(256).fill(letter.repeat(512)))).status).toBe(201);
      expect((await minted(new Array(257).fill('a'))).status).toBe(400);
    });

    test('what a person approved is known once the call is made', async () => {
      const { key } = await service.newKey(RULES);
      await decision(key, 'web__fetch');
      const { referenceId } = (await ask(key, 'mail__send', to('ann@x.org'))).body;
      const approved = await service.admin('POST', `/approvals/${referenceId}/resolve`, {
        action: 'approve',
        seen: (await service.admin('GET', `/approvals/${referenceId}`)).body.details.digest,
      });
      expect(approved.status).toBe(200);
      expect(await decision(key, 'mail__send', to('ann@x.org'))).toBe('pending');
      const freed = await service.check(key, 'mail', 'send', { args: to('ann@x.org'), referenceId });
      expect(freed.body.decision).toBe('allow');
      expect(await decision(key, 'mail__send', to('ann@x.org'))).toBe('allow');
    });

    test('operators see runs, find calls by a mark, and clear the marks', async () => {
      const { key, keyId } = await service.newKey(RULES);
      await decision(key, 'mail__send', to('a@x.org'), 'seen');
      const marking = (await ask(key, 'web__fetch', {}, 'seen')).body.toolCallId;
      await tell(key, { text: 'two words' }, 'seen');
      const marked = (await ask(key, 'mail__send', to('a@x.org'), 'seen')).body;
      await decision(key, 'mail__send', to('a@x.org'), 'unmarked');
      const { runs } = (await service.admin('GET', `/runs?keyId=${keyId}&marked=true`)).body;
      expect(runs).toEqual([
        {
          runId: expect.any(String),
          keyId,
          surface: 'check',
          name: 'seen',
          marks: [
            {
              name: 'untrusted',
              since: expect.any(String),
              serverName: 'web',
              toolName: 'fetch',
              toolCallId: marking,
            },
          ],
          known: 3,
          dropped: 0,
          lastCallAt: expect.any(String),
          endsAt: expect.any(String),
        },
      ]);
      const { runId } = runs[0];
      const all = (await service.admin('GET', `/runs?keyId=${keyId}&limit=1`)).body;
      expect([all.runs.length, all.nextCursor === null]).toEqual([1, false]);
      const { entries } = (await service.admin('GET', `/audit?keyId=${keyId}&mark=untrusted`)).body;
      expect(entries).toMatchObject([{ id: marked.toolCallId, runId, marks: ['untrusted'] }]);
      expect((await service.admin('GET', `/approvals/${marked.referenceId}`)).body.runId).toBe(runId);
      expect((await service.admin('POST', `/runs/${runId}/clear`)).status).toBe(204);
      expect(await decision(key, 'mail__send', to('a@x.org'), 'seen')).toBe('allow');
      expect((await service.admin('GET', `/runs/${runId}`)).body).toMatchObject({ marks: [], known: 3 });
      const { changes } = (await service.admin('GET', '/changes?limit=1')).body;
      expect(changes).toMatchObject([
        { action: 'run.clear', target: runId, detail: { marks: ['untrusted'] } },
      ]);
      expect((await service.admin('POST', `/runs/${crypto.randomUUID()}/clear`)).status).toBe(404);
    });

    test('the run of a session that was revoked has ended: nobody reads or clears it, and it learns no more', async () => {
      const { key, keyId } = await service.newKey(RULES);
      const { token, id } = await session(key);
      await decision(token, 'web__fetch');
      const { toolCallId } = (await ask(token, 'crm__find')).body;
      const [{ runId }] = (await service.admin('GET', `/runs?keyId=${keyId}`)).body.runs;
      expect((await service.admin('GET', `/runs/${runId}`)).status).toBe(200);
      expect((await service.json('DELETE', `/v1/sessions/${id}`, key)).status).toBe(204);
      expect((await service.admin('GET', `/runs?keyId=${keyId}`)).body.runs).toEqual([]);
      expect((await service.admin('GET', `/runs/${runId}`)).status).toBe(404);
      expect((await service.admin('POST', `/runs/${runId}/clear`)).status).toBe(404);
      expect((await tell(key, { toolCallId, text: 'x' })).status).toBe(404);
    });

    test('conditions see the attributes of a session', async () => {
      const { key } = await service.newKey([
        { tool: 'read', action: 'allow', when: 'args.customer == session.attributes.customer' },
      ]);
      const attributes = { customer: 'c_17', nested: { a: { b: [1] } } };
      const { token } = await session(key, { attributes });
      expect(await decision(token, 'crm__read', { customer: 'c_17' })).toBe('allow');
      expect(await decision(token, 'crm__read', { customer: 'c_18' })).toBe('deny');
      expect(await decision((await session(key)).token, 'crm__read', { customer: 'c_17' })).toBe('deny');
      const { sessions } = (await service.json('GET', '/v1/sessions', key)).body;
      expect(sessions.map((each: { attributes?: object }) => each.attributes)).toEqual([
        undefined,
        attributes,
      ]);
      for (const wrong of [[], 'x', null, { a: { b: { c: { d: {} } } } }, { long: 'x'.repeat(4096) }])
        expect((await service.json('POST', '/v1/sessions', key, { attributes: wrong })).status).toBe(400);
    });

    test('a policy that uses none of it has no runs', async () => {
      const { key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]);
      await decision(key, 'web__fetch', {}, 'named');
      expect((await tell(key, { text: 'hello there' }, 'named')).status).toBe(202);
      expect((await service.admin('GET', `/runs?keyId=${keyId}`)).body.runs).toEqual([]);
      const [entry] = (await service.admin('GET', `/audit?keyId=${keyId}`)).body.entries;
      expect('runId' in entry || 'marks' in entry).toBe(false);
    });

    test('a session that was made with known values has a run by any policy, because that may change', async () => {
      const { key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]);
      const { id } = await session(key, { known: ['ann@x.org'] });
      await session(key);
      const { runs } = (await service.admin('GET', `/runs?keyId=${keyId}`)).body;
      expect(runs).toEqual([
        expect.objectContaining({ sessionId: id, surface: 'check', known: 1, marks: [] }),
      ]);
    });
  });
}

/** Different words of three letters. */
function word(at: number): string {
  const letter = (power: number) => String.fromCharCode(97 + (Math.floor(at / 26 ** power) % 26));
  return letter(2) + letter(1) + letter(0);
}
