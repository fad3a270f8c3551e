// Named channels of the server file, end to end: rules and keys name them, one that fails delays no other, and an
// escalation is sent once, after its time, unless the question was answered before.

import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Rule } from '../../src/core/policy/policy.ts';
import { newDataDir, until } from '../support/faults.ts';
import { type Answering, Receiver } from '../support/receiver.ts';
import { engines } from '../support/service.ts';
import { readCard } from '../support/teams.ts';
import { type ClockedService, startClocked } from './clocked.ts';

const closing: (() => Promise<void>)[] = [];
const services: ClockedService[] = [];
afterEach(() => Promise.all(services.splice(0).map(service => service.close())));
afterAll(() => Promise.all(closing.map(close => close())));

async function receiver(answer?: Answering): Promise<Receiver> {
  const started = await Receiver.start(answer);
  closing.push(() => started.close());
  return started;
}

const ASK: Rule = { tool: '*', action: 'require_approval' };
const MINUTE = 60_000;

/** The environment of a service with these channels. */
function withChannels(channels: Record<string, unknown>): Record<string, string> {
  const file = join(newDataDir(), 'toolgate.yaml');
  writeFileSync(file, JSON.stringify({ channels }));
  return { TOOLGATE_CONFIG: file };
}

async function running(...given: Parameters<typeof startClocked>): Promise<ClockedService> {
  const service = await startClocked(...given);
  services.push(service);
  return service;
}

interface Row {
  channel: string;
  status: string;
  attempts: number;
  lastError: string | null;
}

async function rows(service: ClockedService, referenceId: string): Promise<Row[]> {
  const { body } = await service.admin('GET', `/notifications?referenceId=${referenceId}`);
  return body.notifications.sort((a: Row, b: Row) => (a.channel < b.channel ? -1 : 1));
}

async function held(
  service: ClockedService,
  rule: Partial<Rule>,
  key: Record<string, unknown> = {},
  args: object = {},
): Promise<string> {
  const made = await service.newKey([{ ...ASK, ...rule }], key);
  return (await service.check(made.key, 'payments', 'refund', { args })).body.referenceId;
}

for (const engine of await engines()) {
  describe(engine, () => {
    test('a rule names channels of every kind; what a channel may not have stays behind the link', async () => {
      const [own, team, open, general] = [
        await receiver(),
        await receiver(),
        await receiver(),
        await receiver(),
      ];
      const service = await running(
        {
          ...withChannels({
            ops: { type: 'http', url: `${own.url}/ops`, headers: { Authorization: 'Bearer s3cret' } },
            team: { type: 'teams', url: team.url },
            open: { type: 'teams', url: open.url, details: true },
          }),
          TOOLGATE_NOTIFY_URL: general.url,
        },
        engine,
      );
      const rule = {
        notify: ['ops', 'team', 'open', 'default'],
        ask: 'Refund {amount}?',
        show: ['amount'],
        approvers: { group: 'finance', count: 2 },
      };
      const referenceId = await held(
        service,
        rule,
        { notify: { url: 'https://own.example' } },
        { amount: 4711.25 },
      );
      await until('all are told', async () =>
        (await rows(service, referenceId)).every(each => each.status === 'sent'),
      );
      expect((await rows(service, referenceId)).map(each => each.channel)).toEqual([
        'http',
        'open',
        'ops',
        'team',
      ]);
      expect(own.arrivals[0]).toMatchObject({
        path: '/ops',
        headers: { authorization: 'Bearer s3cret' },
        json: { referenceId, approverGroup: 'finance', votesNeeded: 2 },
      });
      for (const closed of [own, team, general]) expect(closed.arrivals[0]?.text).not.toContain('4711.25');
      expect(general.arrivals).toHaveLength(1);
      const card = readCard(open.arrivals[0]?.text ?? '');
      expect(card.lines.slice(2, 4)).toEqual(['Refund 4711.25?', 'amount: 4711.25']);
      expect(card.actions.map(each => each.title)).toEqual(['Review', 'Approve', 'Deny']);
      const closed = readCard(team.arrivals[0]?.text ?? '');
      expect(closed.actions[0]).toMatchObject({
        title: 'Review',
        url: own.arrivals[0]?.json.reviewUrl,
      });
    });

    test('a key names channels; one that hangs or fails delays no other, and is named', async () => {
      const [stuck, wrong, quick] = [
        await receiver(() => 'hang'),
        await receiver(() => 500),
        await receiver(),
      ];
      const at = (to: Receiver) => ({ type: 'http', url: to.url });
      const env = withChannels({ stuck: at(stuck), wrong: at(wrong), quick: at(quick) });
      const service = await running(env, engine);
      const notify = ['stuck', 'wrong', 'quick'];
      const { key } = await service.newKey([ASK], { notify });
      for (let n = 0; n < 6; n++) await service.check(key, 'prod', 'deploy');
      // A lease ends after 20 seconds; the other channel must not wait for that.
      await until('all by the quick one', () => quick.arrivals.length === 6, 12_000);
      const failed = (await service.admin('GET', '/notifications?status=pending')).body.notifications;
      const named = failed.find((each: Row) => each.channel === 'wrong' && each.attempts > 0);
      expect(named?.lastError).toBe('the notifier answered 500');
      await stuck.close();
    });

    test('an escalation is sent once by one of two replicas, after its time; not if the question was answered', async () => {
      const [first, onCall] = [await receiver(), await receiver()];
      const env = withChannels({
        first: { type: 'http', url: first.url },
        'on-call': { type: 'http', url: onCall.url },
      });
      const one = await running(env, engine);
      // SQLite has one service at a time.
      const both =
        engine === 'sqlite'
          ? [one]
          : [one, await running({ ...env, TOOLGATE_DATABASE_URL: one.databaseUrl }, engine)];
      const rule = { notify: ['first'], escalate: { after: '10m', notify: ['on-call'] }, timeout: '30m' };
      const referenceId = await held(one, rule);
      const answered = await held(one, rule);
      await until('both are told', () => first.arrivals.length === 2);
      expect(await rows(one, referenceId)).toMatchObject([
        { status: 'sent' },
        { channel: 'on-call', status: 'pending' },
      ]);
      for (const service of both) service.advance(10 * MINUTE - 30_000);
      await one.admin('POST', `/approvals/${answered}/resolve`, { action: 'deny' });
      // A later question that is told shows that the workers have looked since.
      await held(one, { notify: ['first'] });
      await until('the later one is told', () => first.arrivals.length === 3);
      expect(onCall.arrivals).toEqual([]);
      for (const service of both) service.advance(60_000);
      await held(one, { notify: ['first'] });
      await until('the escalation', async () =>
        (await rows(one, referenceId)).every(each => each.status === 'sent'),
      );
      for (const service of both) service.advance(10 * MINUTE);
      await held(one, { notify: ['first'] });
      await until('the last one is told', () => first.arrivals.length === 5);
      expect(onCall.arrivals.map(each => each.json.referenceId)).toEqual([referenceId]);
      expect(await rows(one, answered)).toMatchObject([
        { status: 'sent' },
        { channel: 'on-call', status: 'dropped' },
      ]);
    });
  });
}
