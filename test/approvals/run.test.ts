// What approvers are told about the run of a waiting call: what it has read, and which shown values nobody has named. On
// every replica, whole and in lists, on the page behind the link, and in messages of channels that carry details.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Rule } from '../../src/core/policy/policy.ts';
import { newDataDir, until } from '../support/faults.ts';
import { Receiver } from '../support/receiver.ts';
import { engines } from '../support/service.ts';
import { dump, type Gate, openGate } from './gate.ts';

const channels = { loud: await Receiver.start(), quiet: await Receiver.start() };
afterAll(() => Promise.all([channels.loud.close(), channels.quiet.close()]));
const file = join(newDataDir(), 'toolgate.yaml');
writeFileSync(
  file,
  JSON.stringify({
    channels: {
      loud: { type: 'http', url: channels.loud.url, details: true },
      quiet: { type: 'http', url: channels.quiet.url },
    },
  }),
);
const NOTIFY = ['default', 'loud', 'quiet'];

const MARKING: Rule = { tool: 'search', action: 'allow', marks: ['untrusted', 'web'] };
const MARKED: Rule[] = [MARKING, { tool: 'send', action: 'require_approval', show: 'all', notify: NOTIFY }];
const KNOWING: Rule[] = [
  MARKING,
  { tool: 'send', action: 'allow', when: 'known(args.to)' },
  {
    tool: 'send',
    action: 'require_approval',
    show: ['to', 'cc', 'amount', 'urgent', 'list', 'none'],
    notify: NOTIFY,
  },
  { tool: 'all', action: 'require_approval', show: 'all', notify: NOTIFY },
  { tool: 'ask', action: 'require_approval', ask: 'Write to {to} and {cc}?', notify: NOTIFY },
];
const ARGS = {
  to: 'eve@x.org',
  cc: 'ann@x.org',
  amount: 98.7,
  urgent: true,
  list: ['ann@x.org', 'eve@x.org'],
};
const UNNAMED = '<span class="unnamed">not named by the person</span>';

for (const engine of await engines()) {
  describe(engine, () => {
    let gate: Gate;
    beforeAll(async () => {
      gate = await openGate({
        engine,
        env: { TOOLGATE_CONFIG: file },
        replicas: engine === 'postgres' ? 2 : 1,
      });
    });
    afterAll(() => gate.close());

    const tell = (key: string, text: string) => gate.service.json('POST', '/v1/told', key, { text });
    const read = async (referenceId: string, replica = gate.service) =>
      (await replica.admin('GET', `/approvals/${referenceId}`)).body;
    const listed = async (referenceId: string) =>
      (await gate.service.admin('GET', '/approvals?status=pending')).body.approvals.find(
        (each: { referenceId: string }) => each.referenceId === referenceId,
      );
    const known = ({ details }: { details: { fields: { path: string; known?: boolean }[] } }) =>
      Object.fromEntries(details.fields.map(each => [each.path, each.known]));
    const message = async (channel: Receiver, referenceId: string) => {
      const found = () => channel.arrivals.find(each => each.json?.referenceId === referenceId)?.json;
      await until('the message arrived', () => found() !== undefined);
      return found();
    };

    test('the marks of the run as they were when it asked, with the calls that gave them', async () => {
      const key = await gate.key(MARKED);
      const first = await gate.ask(key, 'send', { args: ARGS });
      expect((await read(first.referenceId)).context.marks).toEqual([]);
      expect((await gate.open(first.token)).text).not.toContain('This run has read');
      const marking = (await gate.service.check(key, 'mail', 'search')).body;
      const asked = await gate.ask(key, 'send', { args: { ...ARGS, to: 'other' } });
      const one = await read(asked.referenceId);
      expect(one.context.marks).toEqual((await gate.service.admin('GET', `/runs/${one.runId}`)).body.marks);
      const given = { serverName: 'mail', toolName: 'search', toolCallId: marking.toolCallId };
      expect(one.context.marks).toMatchObject([
        { name: 'untrusted', ...given },
        { name: 'web', ...given },
      ]);
      // The policy asks for no known values.
      expect(Object.values(known(one))).toEqual([
        undefined,
        undefined,
        undefined,
        undefined,
        undefined,
        undefined,
      ]);
      const page = (await gate.open(asked.token)).text.replace(/<[^>]*>/g, '');
      expect(page).toMatch(
        /This run has read: untrusted \(mail__search, \d\d:\d\d UTC\), web \(mail__search, \d\d:\d\d UTC\)/,
      );
      expect(page).not.toContain('not named by the person');
      await gate.service.admin('POST', `/runs/${one.runId}/clear`);
      expect((await read(asked.referenceId)).context.marks).toEqual(one.context.marks);
      expect((await read(first.referenceId)).context.marks).toEqual([]);
    });

    test('messages say it where their channel carries details, and nowhere else', async () => {
      const key = await gate.key(KNOWING);
      await gate.service.check(key, 'mail', 'search');
      const { referenceId } = await gate.ask(key, 'send', { args: ARGS });
      const { marks, details } = await message(channels.loud, referenceId);
      expect(marks).toEqual((await read(referenceId)).context.marks);
      expect(details.fields[0]).toEqual({ path: 'to', value: 'eve@x.org', known: false });
      for (const channel of [channels.quiet, gate.inbox]) {
        const sent = await message(channel, referenceId);
        expect(['marks' in sent, 'details' in sent, JSON.stringify(sent).includes('known')]).toEqual([
          false,
          false,
          false,
        ]);
      }
    });

    test('of each shown value whether somebody named it, on every replica and in lists', async () => {
      const key = await gate.key(KNOWING);
      const before = await gate.ask(key, 'send', { args: ARGS });
      await tell(key, 'Write to ann@x.org about 98.70.');
      const asked = await gate.ask(key, 'send', { args: ARGS });
      const wanted = { to: false, cc: true, amount: true, urgent: undefined, list: false, none: undefined };
      for (const replica of gate.services)
        expect(known(await read(asked.referenceId, replica))).toEqual(wanted);
      expect(known(await listed(asked.referenceId))).toEqual(wanted);
      expect(known(await read(before.referenceId))).toEqual({ ...wanted, cc: false, amount: false });
      const page = (await gate.open(asked.token)).text;
      expect(page).toContain(`<bdi>eve@x.org</bdi>${UNNAMED}`);
      expect(page.split(UNNAMED)).toHaveLength(3);
      await tell(key, 'And to eve@x.org.');
      expect(known(await read(asked.referenceId))).toEqual(wanted);
      expect((await gate.service.check(key, 'prod', 'send', { args: ARGS })).body.decision).toBe('allow');
    });

    test('a value in the question that nobody named is shown beside it', async () => {
      const key = await gate.key(KNOWING);
      await tell(key, 'ann@x.org');
      const { referenceId } = await gate.ask(key, 'ask', { args: ARGS });
      expect((await read(referenceId)).details).toMatchObject({
        question: 'Write to eve@x.org and ann@x.org?',
        fields: [{ path: 'to', value: 'eve@x.org', known: false }],
      });
    });

    test('the same of large arguments; of very many values the further ones count as not named', async () => {
      const key = await gate.key(KNOWING);
      await tell(key, 'ann@x.org');
      const text = 'ann@x.org '.repeat(10_000);
      const large = await gate.ask(key, 'all', { args: { to: 'ann@x.org', cc: 'eve@x.org', text } });
      const wanted = { to: true, cc: false, text: false };
      for (const replica of gate.services)
        expect(known(await read(large.referenceId, replica))).toEqual(wanted);
      const many = await gate.ask(key, 'all', { args: { list: Array(3000).fill('ann@x.org') } });
      const all = Object.values(known(await read(many.referenceId)));
      expect([all.length, all.indexOf(false), all.lastIndexOf(true)]).toEqual([3000, 2048, 2047]);
    });

    test('the digest of details does not depend on it, and an approval of what was shown counts', async () => {
      const key = await gate.key(KNOWING);
      const asked = await gate.ask(key, 'all', { args: { to: 'eve@x.org', text: 'x'.repeat(600) } });
      const { digest } = (await read(asked.referenceId)).details;
      expect((await listed(asked.referenceId)).details.digest).toBe(digest);
      const answer = { action: 'approve', seen: digest };
      expect(
        (await gate.service.admin('POST', `/approvals/${asked.referenceId}/resolve`, answer)).status,
      ).toBe(200);
    });

    test('nothing of it is stored: neither values, nor which of them are known', async () => {
      const key = await gate.key(KNOWING);
      await tell(key, 'canary-ann@x.org');
      const args = { to: 'canary-eve@x.org', cc: 'canary-ann@x.org' };
      const { referenceId } = await gate.ask(key, 'send', { args });
      expect(known(await read(referenceId))).toMatchObject({ to: false, cc: true });
      await gate.quiet();
      const tables = await dump(gate.service.databaseUrl);
      expect(JSON.stringify(tables)).not.toContain('canary');
      const row = tables['approvals']?.find(each => each.includes(referenceId)) ?? '';
      expect(row).not.toMatch(/known/);
    });
  });
}
