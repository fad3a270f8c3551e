// What approvers see of a waiting call, in the administration and behind the link: from the commit until it ends. Who else
// sees it is the subject of faults/p25-details.test.ts.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { DETAILS_GONE } from '../../src/core/approvals/details.ts';
import type { Rule } from '../../src/core/policy/policy.ts';
import { sql, until } from '../support/faults.ts';
import { connect, ECHO, LegacyClient, RecordingUpstream } from '../support/mcp.ts';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { type Gate, openGate } from './gate.ts';

const RULES: Rule[] = [
  { tool: 'refund', action: 'require_approval', show: ['amount', 'to.name'], ask: 'Refund {amount}?' },
  { tool: 'transfer', action: 'require_approval', show: 'all' },
  { tool: '*', action: 'require_approval' },
];
const ARGS = { amount: 12.5, to: { name: 'Ada\u202e <b>', iban: 'DE00' } };

/** A client of /mcp gets no webhook, and is told to repeat the call. */
function heldBy({ referenceId, message }: { referenceId: string; message: string }): string {
  expect(message).toEndWith('Repeat the call once it is approved.');
  return referenceId;
}

const upstream = new RecordingUpstream({ tools: [{ ...ECHO, name: 'transfer' }] });
afterAll(() => upstream.stop());

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(engine, () => {
    let gate: Gate;
    let key: string;
    beforeAll(async () => {
      gate = await openGate({ engine });
      key = await gate.key(RULES);
    });
    afterAll(() => gate.close());

    const read = (referenceId: string) => gate.service.admin('GET', `/approvals/${referenceId}`);
    const held = async () =>
      Number(/^toolgate_details_held (\d+)/m.exec((await gate.service.request('GET', '/metrics')).text)?.[1]);

    test('the fields and the question of the rule, until somebody answers', async () => {
      const asked = await gate.ask(key, 'refund', { args: ARGS });
      const reply = await read(asked.referenceId);
      expect(reply.headers.get('cache-control')).toBe('no-store');
      expect(reply.body.details).toEqual({
        question: 'Refund 12.5?',
        fields: [
          { path: 'amount', value: '12.5' },
          { path: 'to.name', value: 'Ada\u202e <b>' },
        ],
        complete: true,
        digest: expect.stringMatching(/^[\w-]{43}$/),
      });
      expect(reply.body.detailsInserted).toEqual([{ from: 7, to: 11 }]);
      const page = await gate.open(asked.token);
      expect(page.headers.get('cache-control')).toBe('no-store');
      expect(page.text).toContain('Refund <mark class="given"><bdi>12.5</bdi></mark>?');
      expect(page.text).toContain('Ada\\u{202E} &lt;b&gt;');
      expect(page.text).not.toContain('DE00');
      const head = await gate.service.request('HEAD', `/v1/approve/${asked.token}`);
      expect([head.status, head.headers.get('cache-control')]).toEqual([200, 'no-store']);
      await gate.approve(asked.token);
      const after = await read(asked.referenceId);
      expect([after.body.details, after.body.detailsGone]).toEqual([undefined, true]);
      expect(await held()).toBe(0);
    });

    test('all arguments, and nothing where the rule shows nothing', async () => {
      const all = await gate.ask(key, 'transfer', { args: ARGS });
      const paths = (await read(all.referenceId)).body.details.fields.map(
        (each: { path: string }) => each.path,
      );
      expect(paths).toEqual(['amount', 'to.name', 'to.iban']);
      const none = (await read((await gate.ask(key, 'other', { args: ARGS })).referenceId)).body;
      expect(Object.keys(none).filter(each => each.startsWith('details'))).toEqual([]);
      await gate.lapse();
      await until('the details are let go', async () => (await held()) === 0);
      // The token is random, and may hold any three letters.
      expect((await gate.open(all.token)).text.replaceAll(all.token, '')).not.toContain('Ada');
    });

    const padded = () => ({
      ...Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`note${at}`, `${at + 10}-`.repeat(160)])),
      command: 'rm -rf / --no-preserve-root',
    });
    const listed = async (referenceId: string) =>
      (await gate.service.admin('GET', '/approvals?status=pending')).body.approvals.find(
        (each: { referenceId: string }) => each.referenceId === referenceId,
      );
    const resolve = (referenceId: string, body: object) =>
      gate.service.admin('POST', `/approvals/${referenceId}/resolve`, { action: 'approve', ...body });

    test('what a list cannot show whole is approved only by whoever names what they saw', async () => {
      const args = padded();
      const asked = await gate.ask(key, 'transfer', { args });
      const { details: beginning } = await listed(asked.referenceId);
      expect(beginning.complete).toBe(false);
      expect(beginning.fields.at(-1)).toEqual({ path: 'command', value: args.command });
      const { details } = (await read(asked.referenceId)).body;
      expect(details.complete).toBe(true);
      expect(details.fields).toEqual(Object.entries(args).map(([path, value]) => ({ path, value })));
      expect(details.digest).toBe(beginning.digest);
      // Neither without it, nor with the digest of another call, nor with the word for something else.
      const other = await listed((await gate.ask(key, 'transfer', { args: padded() })).referenceId);
      for (const seen of [undefined, other.details.digest, 'gone', 'incomplete', 'x']) {
        const refused = await resolve(asked.referenceId, { seen });
        expect([seen, refused.status, refused.body.code]).toEqual([seen, 409, 'not_seen']);
        expect((await gate.answer(asked.token, { action: 'approve', seen })).body.code).toBe('not_seen');
      }
      expect(await gate.statusOf(asked.referenceId)).toBe('pending');
      // A link with an action leads to the page that shows everything, whose form says so.
      const page = await gate.open(asked.token, '?action=approve');
      expect(page.text).not.toContain("getElementById('decision').submit()");
      expect(page.text).toContain('29-29-29-');
      const form = await gate.service.request('POST', `/v1/approve/${asked.token}`, {
        headers: { Accept: 'text/html', 'Content-Type': 'application/x-www-form-urlencoded' },
        body: 'action=approve',
        redirect: 'manual',
      });
      expect([form.status, form.headers.get('location')]).toEqual([303, `/v1/approve/${asked.token}`]);
      expect(page.text).toContain(`<input type="hidden" name="seen" value="${details.digest}">`);
      const seen = details.digest;
      expect((await gate.answer(asked.token, { action: 'approve', seen })).status).toBe(200);
      expect((await resolve(other.referenceId, { action: 'deny' })).status).toBe(200);
      // Nothing of it is stored that could be computed from the call alone.
      const rows = JSON.stringify(await gate.rows('SELECT * FROM approvals'));
      for (const text of [JSON.stringify(args), JSON.stringify(details.fields)])
        for (const form of ['hex', 'base64', 'base64url'] as const)
          expect(rows).not.toContain(new Bun.CryptoHasher('sha256').update(text).digest(form));
      expect(rows).not.toContain(seen);
    });

    test('what lists show whole is approved as before, unless something else was seen', async () => {
      const asked = await gate.ask(key, 'transfer', { args: ARGS });
      expect((await listed(asked.referenceId)).details.complete).toBe(true);
      expect((await resolve(asked.referenceId, { seen: 'gone' })).body.code).toBe('not_seen');
      expect((await gate.open(asked.token, '?action=approve')).text).toContain("('decision').submit()");
      expect((await resolve(asked.referenceId, {})).status).toBe(200);
    });

    test('no number of small fields folds one away on the page behind the link', async () => {
      const args = {
        ...Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`k${at}`, at])),
        command: 'rm -rf "<b>"',
      };
      const { token } = await gate.ask(key, 'transfer', { args });
      const { text } = await gate.open(token);
      expect(text).toContain(
        'rm <span class="v-name">-rf</span> <span class="v-string">&quot;&lt;b&gt;&quot;</span>',
      );
      expect(text.split('<dl class="values">')).toHaveLength(2);
      expect(text.slice(0, text.indexOf('<bdi>command</bdi>'))).not.toContain('<details');
      // However long the values are, the name of the tool stands above them.
      expect(text.slice(0, text.indexOf('<dl class="values">'))).toContain('transfer');
      // More than a grant can be bound to.
      expect(text).not.toContain('id="lasting"');
      await gate.answer(token, { action: 'deny' });
    });

    test('of a call that is too large to be held, the digest is not enough', async () => {
      const args = { text: 'x'.repeat(262_200), command: 'rm' };
      const asked = await gate.ask(key, 'transfer', { args });
      const { details } = (await read(asked.referenceId)).body;
      expect(details.complete).toBe(false);
      expect(details.fields[1]).toEqual({ path: 'command', value: 'rm' });
      for (const seen of [undefined, details.digest, 'gone'])
        expect((await resolve(asked.referenceId, { seen })).body.code).toBe('not_seen');
      const page = await gate.open(asked.token);
      expect(page.text).toContain('This call is too large to be shown completely.');
      expect(page.text).toContain('name="seen" value="incomplete"');
      expect((await resolve(asked.referenceId, { seen: 'incomplete' })).status).toBe(200);
    });

    test('a call that was not recorded leaves nothing behind', async () => {
      const { databaseUrl } = gate.service;
      await sql(databaseUrl, 'ALTER TABLE audit_entries RENAME TO audit_elsewhere');
      const failed = await gate.service.json('POST', '/v1/check', key, {
        serverName: 'prod',
        toolName: 'refund',
        args: ARGS,
      });
      await sql(databaseUrl, 'ALTER TABLE audit_elsewhere RENAME TO audit_entries');
      expect(failed.status).toBe(500);
      expect(await held()).toBe(0);
    });

    test('after a restart they are gone, until the agent makes the same call again', async () => {
      const { key, keyId } = await gate.service.newKey(RULES);
      await connect(gate.service, keyId, 'up', upstream.url);
      const client = await LegacyClient.open(gate.service, key);
      const call = async (service: TestService) =>
        heldBy((await client.at(service).call('up__transfer', ARGS)).result.structuredContent);
      const repeated = await call(gate.service);
      const asked = await gate.ask(key, 'refund', { args: ARGS });
      const before = await gate.ask(key, 'refund', { args: ARGS });
      const { digest } = (await read(before.referenceId)).body.details;
      const { databaseUrl, dataDir } = gate.service;
      await gate.service.kill('SIGTERM');
      const again = await startService({ databaseUrl, dataDir });
      gate.services[0] = again;
      const whole = (await read(asked.referenceId)).body;
      expect([whole.details, whole.detailsGone]).toEqual([undefined, true]);
      const page = await gate.open(asked.token);
      expect(page.text).toContain(DETAILS_GONE);
      // The times of calls have digits too.
      expect(page.text.replaceAll(/ datetime="[^"]*"/g, '')).not.toContain('12.5');
      // To deny it is what people are advised to do, and is the first button.
      const buttons = Array.from(page.text.matchAll(/<button[^>]*value="(\w+)"/g), ([, action]) => action);
      expect(buttons).toEqual(['deny', 'approve']);
      const linked = await gate.open(asked.token, '?action=approve');
      expect(linked.text).not.toContain("('decision').submit()");
      for (const seen of [undefined, 'incomplete', digest])
        expect((await resolve(asked.referenceId, { seen })).body.code).toBe('not_seen');
      expect((await resolve(asked.referenceId, { seen: 'gone' })).status).toBe(200);
      // Whoever comes too late learns that, and not that they have not seen it.
      expect((await resolve(asked.referenceId, {})).body.code).toBe('conflict');
      // Somebody who saw them before the restart can say so.
      expect((await resolve(before.referenceId, { seen: digest })).status).toBe(200);
      expect((await read(repeated)).body.detailsGone).toBe(true);
      expect(await call(again)).toBe(repeated);
      expect((await read(repeated)).body.details.fields).toHaveLength(3);
    });

    test.if(process.platform === 'linux')('the memory of the service stays out of crash files', async () => {
      const filter = await Bun.file(`/proc/${gate.service.process.pid}/coredump_filter`).text();
      expect(Number.parseInt(filter, 16)).toBe(0);
    });
  });
}
