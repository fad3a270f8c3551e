// POST /v1/results: the result of a call that an agent's code has run, looked at by the policy version that decided the call.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Rule } from '../../../src/core/policy/policy.ts';
import type { ResultEntry } from '../../../src/core/policy/result-fields.ts';
import { Canaries, searchFor } from '../../faults/canaries.ts';
import { sql, until } from '../../support/faults.ts';
import { type Reply, startService, type TestService } from '../../support/service.ts';
import { enginesWhenChanged } from '../../support/when-changed.ts';

const RULES: Rule[] = [
  { tool: 'mail__send', action: 'allow', when: '!("untrusted" in marks)' },
  { tool: 'mail__*', action: 'deny' },
  { tool: 'bank__pay', action: 'require_approval' },
  { tool: '*', action: 'allow' },
];
const RESULTS: ResultEntry[] = [
  { tool: 'crm__*', hide: 'email' },
  { tool: 'web__*', marks: 'untrusted' },
  { tool: 'web__*', when: 'result.text.contains("forbidden")', withhold: true, reason: 'Not this.' },
  { tool: 'args__*', when: 'args.secret == true', withhold: true },
  { tool: 'by__session', when: 'session.label == "mine"', atMost: '10B' },
  { tool: 'known__*', when: '!known(result.structured.to)', withhold: true, reason: 'Not known.' },
];

const text = (said: string) => ({ content: [{ type: 'text', text: said }] });
const withheld = (reason: string) => ({ ...text(reason), isError: true });

for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/check/**'))
  describe(engine, () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startService({ engine });
    });
    afterAll(() => service.close());

    const newKey = () => service.newKey(RULES, {}, { results: RESULTS });
    const check = async (token: string, tool: string, args: object = {}) => {
      const [serverName, toolName] = tool.split('__') as [string, string];
      return (await service.check(token, serverName, toolName, { args })).body;
    };
    const report = (token: string, toolCallId: string, result: unknown): Promise<Reply> =>
      service.json('POST', '/v1/results', token, { toolCallId, result });
    const looked = async (token: string, tool: string, result: unknown, args = {}) =>
      (await report(token, (await check(token, tool, args)).toolCallId, result)).body;

    test('the answer is what may be passed on, and the entry says how often something was hidden', async () => {
      const { key } = await newKey();
      const verdict = await check(key, 'crm__read');
      expect(verdict).toMatchObject({ decision: 'allow', results: true });
      const result = {
        content: [{ type: 'text', text: 'Write to ann@example.org.' }],
        structuredContent: { mail: 'bob@example.org', id: 1234567 },
        _meta: { x: 1 },
      };
      const reply = await report(key, verdict.toolCallId, result);
      expect(reply.status).toBe(200);
      expect(reply.body).toEqual({
        content: [{ type: 'text', text: 'Write to [hidden: email].' }],
        structuredContent: { mail: '[hidden: email]', id: 1234567 },
        _meta: { x: 1 },
      });
      const shown = async () => (await service.admin('GET', `/audit/${verdict.toolCallId}`)).body.forwarded;
      await until('the outcome is recorded', async () => (await shown()) !== null);
      expect(await shown()).toMatchObject({
        outcome: 'ok',
        result: { hidden: { email: 2 }, withheld: false, cut: false },
      });
    });

    test('no other call says that its result is looked at', async () => {
      const { key } = await newKey();
      for (const tool of ['files__read', 'mail__other', 'bank__pay'])
        expect(await check(key, tool)).not.toHaveProperty('results');
      const { toolCallId } = await check(key, 'files__read');
      expect((await report(key, toolCallId, text('ann@example.org'))).body).toEqual(text('ann@example.org'));
      expect((await service.admin('GET', `/audit/${toolCallId}`)).body.forwarded).toBeNull();
    });

    test('the run is marked before the answer, and a result that is withheld marks it too', async () => {
      for (const said of ['a page', 'forbidden']) {
        const { key } = await newKey();
        expect((await check(key, 'mail__send')).decision).toBe('allow');
        const page = await looked(key, 'web__page', text(said));
        expect(page).toEqual(said === 'a page' ? text(said) : withheld('Not this.'));
        expect((await check(key, 'mail__send')).decision).toBe('deny');
      }
    });

    test('arguments are gone, so what reads them withholds; what the session says is there', async () => {
      const { key } = await newKey();
      expect((await looked(key, 'args__read', text('fine'))).isError).toBe(true);
      const session = await service.json('POST', '/v1/sessions', key, { label: 'mine' });
      const cut = await looked(session.body.token, 'by__session', text('a text that is longer'));
      expect(cut.content[0].text).toStartWith('a text tha[cut: ');
    });

    test('conditions can ask which values are known', async () => {
      const { key } = await newKey();
      const to = { content: [], structuredContent: { to: 'ann@example.org' } };
      expect(await looked(key, 'known__read', to)).toEqual(withheld('Not known.'));
      expect((await service.json('POST', '/v1/told', key, { text: 'It is ann@example.org.' })).status).toBe(
        202,
      );
      expect(await looked(key, 'known__read', to)).toEqual(to);
    });

    test('the version that decided looks at it, whatever the policy says by now', async () => {
      const { key, policyId, policyName } = await newKey();
      const { toolCallId } = await check(key, 'crm__read');
      const put = await service.admin('PUT', `/policies/${policyId}`, { name: policyName, rules: RULES });
      expect(put.status).toBe(200);
      expect((await report(key, toolCallId, text('ann@example.org'))).body).toEqual(text('[hidden: email]'));
      expect((await looked(key, 'crm__read', text('ann@example.org'))).content[0].text).toBe(
        'ann@example.org',
      );
    });

    test('only the caller of an allowed call may ask, as long as its credential is valid', async () => {
      const { key, keyId } = await newKey();
      const other = await newKey();
      const { toolCallId } = await check(key, 'crm__read');
      const status = async (token: string, id: string, result: unknown = text('x')) =>
        (await report(token, id, result)).status;
      expect(await status(other.key, toolCallId)).toBe(404);
      expect(await status(key, '01890a5d-ac96-774b-bcce-b302099a8057')).toBe(404);
      expect(await status(key, (await check(key, 'mail__other')).toolCallId)).toBe(409);
      expect(await status(key, (await check(key, 'bank__pay')).toolCallId)).toBe(409);
      expect(await status(key, 'x')).toBe(400);
      expect(await status(key, toolCallId, [])).toBe(400);
      const [mine, theirs] = await Promise.all(
        [1, 2].map(async () => (await service.json('POST', '/v1/sessions', key, {})).body.token),
      );
      const own = (await check(mine, 'crm__read')).toolCallId;
      expect(await status(mine, own)).toBe(200);
      expect(await status(theirs, own)).toBe(404);
      expect(await status(mine, toolCallId)).toBe(404);
      expect(await status(key, own)).toBe(200);
      expect((await service.admin('DELETE', `/keys/${keyId}`)).status).toBeLessThan(300);
      expect(await status(key, toolCallId)).toBe(401);
    });

    test('a result of 5 MiB passes, a larger body does not', async () => {
      const { key } = await newKey();
      const { toolCallId } = await check(key, 'crm__read');
      const large = text(`${'word '.repeat(900_000)}ann@example.org`);
      const reply = await report(key, toolCallId, large);
      expect(reply.status).toBe(200);
      expect(reply.body.content[0].text).toEndWith('word [hidden: email]');
      expect((await report(key, toolCallId, text('x'.repeat(6 * 1024 * 1024)))).status).toBe(413);
    });

    test('where the store cannot be read, nothing is passed on', async () => {
      const { key } = await newKey();
      const { toolCallId } = await check(key, 'web__page');
      await sql(service.databaseUrl, 'ALTER TABLE run_marks RENAME TO elsewhere');
      try {
        const reply = await report(key, toolCallId, text('a page'));
        expect(reply.status).toBe(500);
        expect(reply.text).not.toContain('a page');
      } finally {
        await sql(service.databaseUrl, 'ALTER TABLE elsewhere RENAME TO run_marks');
      }
    });

    test('nothing of a result is stored or logged', async () => {
      const { key } = await newKey();
      const canaries = new Canaries();
      const said = canaries.at('a result');
      for (const tool of ['crm__read', 'web__page', 'files__read'])
        await looked(key, tool, { ...text(said), structuredContent: { to: said } });
      await service.admin('GET', '/audit');
      expect(searchFor(canaries, [service.dataDir], [service.output])).toEqual([]);
    });
  });
