// One attempt at one notification on either engine, with time in the test's hands: until when a link is sent, by which
// address, when a failed one is tried again, and what is left of it in the store.

import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type NotifySettings, notify } from '../../../../src/guard/approvals/notify/notify.ts';
import { createPolicy } from '../../../../src/guard/check/policies.ts';
import type { Deps } from '../../../../src/guard/deps.ts';
import { newId } from '../../../../src/guard/ids.ts';
import { createKey, type KeyNotify } from '../../../../src/guard/keys.ts';
import { mintToken } from '../../../../src/guard/secrets.ts';
import { mintSession } from '../../../../src/guard/sessions.ts';
import { type ApprovalRecord, insertApproval } from '../../../../src/store/approvals.ts';
import {
  type ChannelKind,
  insertNotification,
  leaseNotifications,
} from '../../../../src/store/notifications.ts';
import { approvalRecord, NOW, openStore, type TestStore } from '../../../store/stores.ts';
import { type Manner, Receiver } from '../../../support/receiver.ts';
import { engines } from '../../../support/service.ts';
import { depsAt } from '../../deps.ts';

let manner: Manner = 200;
const receiver = await Receiver.start(() => manner);
afterAll(() => receiver.close());

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let now: number;
    let deps: Deps;
    let printed: string[];
    beforeEach(async () => {
      store = await openStore(engine);
      now = NOW;
      manner = 200;
      receiver.arrivals.length = 0;
      printed = [];
      deps = depsAt(store.db, () => now);
    });
    afterEach(() => store.close());

    const settings = (more: Partial<NotifySettings> = {}): NotifySettings => ({
      publicUrl: 'http://gate.example',
      smtpUrl: null,
      mailFrom: null,
      approverEmails: [],
      slackWebhookUrl: null,
      slack: null,
      notifyUrl: receiver.url,
      channels: {},
      rules: { allowPrivate: false },
      print: async (_, textOf) => {
        printed.push(textOf(null));
      },
      ...more,
    });

    async function newKey(notify: KeyNotify | null): Promise<string> {
      const name = newId();
      const policy = await createPolicy(deps, 'admin', { name, description: '', rules: [] });
      const input = { name: 'agent', policyId: policy.id, requireSignInToApprove: false, expiresAt: null };
      return (await createKey(deps, 'admin', { ...input, notify, forward: [] })).key.id;
    }

    /** Asks by a channel, and makes one attempt to tell. */
    async function told(
      about: Partial<ApprovalRecord> = {},
      to: ChannelKind | { channel: ChannelKind; channelName: string } = 'http',
      by: NotifySettings = settings(),
    ): Promise<string | null> {
      const id = newId();
      const approval = approvalRecord({ createdAt: now, ...about });
      const { token, hash } = mintToken('approval');
      const tokenEncrypted = deps.vault.encrypt(token, `notification ${id}`);
      const target = {
        keyId: approval.keyId,
        ...(typeof to === 'string' ? { channel: to, channelName: null } : to),
      };
      await store.db.transaction({}, async tx => {
        insertApproval(tx, approval, hash);
        insertNotification(tx, { id, approvalId: approval.id, ...target, tokenEncrypted, createdAt: NOW });
      });
      const leased = await store.db.transaction({}, tx =>
        leaseNotifications(tx, target, now, now + 1000, 10),
      );
      return notify(deps, by, leased[0] as (typeof leased)[0]);
    }

    const rows = () =>
      store.db.all<{ status: string; next: number | null; error: string | null; token: string | null }>(
        'SELECT status, next_attempt_at AS next, last_error AS error, token_sealed AS token FROM notifications',
      );

    test('a link is sent until the very end of its question, and not after, nor once it is answered', async () => {
      const expiresAt = NOW + 1000;
      now = expiresAt - 1;
      expect(await told({ expiresAt })).toBeNull();
      expect(receiver.arrivals).toHaveLength(1);
      expect(await rows()).toEqual([{ status: 'sent', next: null, error: null, token: null }]);
      await store.db.run('DELETE FROM notifications');
      now = expiresAt;
      expect(await told({ expiresAt })).toBeNull();
      expect(await told({ status: 'denied' })).toBeNull();
      expect(receiver.arrivals).toHaveLength(1);
      expect(await rows()).toEqual(
        Array(2).fill({ status: 'dropped', next: null, error: null, token: null }),
      );
    });

    test('what fails is tried again a second later, and keeps its link', async () => {
      manner = 500;
      expect(await told()).toBe('the notifier answered 500');
      const [row] = await rows();
      expect(row).toMatchObject({ status: 'pending', error: 'the notifier answered 500' });
      expect(row?.token).not.toBeNull();
      expect(Math.abs((row?.next ?? 0) - (NOW + 1000))).toBeLessThanOrEqual(200);
    });

    test('what could only be tried again when nobody can answer any more has failed', async () => {
      manner = 500;
      await told({ expiresAt: NOW + 800 });
      expect(await rows()).toMatchObject([{ status: 'failed', next: null, token: null }]);
    });

    test('a key’s own address obeys the rules for addresses; the operator’s may be anywhere', async () => {
      const own = await newKey({ url: receiver.url, slackWebhookUrl: receiver.url });
      expect(await told({ keyId: own })).toContain('loopback');
      expect(await told({ keyId: own }, 'slack')).toContain('loopback');
      expect(receiver.arrivals).toEqual([]);
      const rules = { allowPrivate: true };
      const nowhere = settings({ notifyUrl: null, rules });
      expect(await told({ keyId: own }, 'http', nowhere)).toBeNull();
      expect(await told({ keyId: own }, 'slack', nowhere)).toBeNull();
      const shared = await newKey(null);
      expect(await told({ keyId: shared })).toBeNull();
      expect(await told({ keyId: shared }, 'slack', settings({ slackWebhookUrl: receiver.url }))).toBeNull();
      expect(receiver.arrivals).toHaveLength(4);
    });

    test('a channel that is configured no more says so', async () => {
      const nowhere = settings({ notifyUrl: null });
      for (const channel of ['http', 'slack'] as const)
        expect(await told({}, channel, nowhere)).toBe('this channel has no address any more');
      const none = 'no mail server is configured (TOOLGATE_SMTP_URL)';
      expect(await told({}, 'email')).toBe(none);
      expect(await told({}, 'email', settings({ mailFrom: 'gate@example.com' }))).toBe(none);
      expect(await told({}, 'email', settings({ smtpUrl: 'smtp://127.0.0.1:1' }))).toBe(none);
    });

    test('a named channel is the operator’s own, and one that is declared no more says so', async () => {
      const url = receiver.url;
      const by = settings({
        notifyUrl: null,
        channels: {
          ops: { type: 'http', url, headers: { 'X-Key': 'abc' }, details: false },
          team: { type: 'teams', url, details: false },
          hook: { type: 'slack', webhookUrl: url, details: false },
        },
      });
      const own = await newKey({ url: 'https://own.example' });
      for (const [channelName, channel] of [
        ['ops', 'http'],
        ['team', 'teams'],
        ['hook', 'slack'],
        // A replica that did not know the channel yet wrote this one.
        ['ops', 'unknown'],
      ] as const)
        expect(await told({ keyId: own }, { channel, channelName }, by)).toBeNull();
      expect(receiver.arrivals.map(each => each.headers['x-key'])).toEqual([
        'abc',
        undefined,
        undefined,
        'abc',
      ]);
      for (const channelName of ['gone', 'constructor'])
        expect(await told({}, { channel: 'unknown', channelName }, by)).toBe(
          `the channel "${channelName}" is not declared under channels in the server file (toolgate.yaml)`,
        );
    });

    test('`default` by its name is the service’s own, whatever the key has', async () => {
      const own = await newKey({ url: 'https://own.example' });
      expect(await told({ keyId: own }, { channel: 'http', channelName: 'default' })).toBeNull();
      expect(receiver.arrivals).toHaveLength(1);
      const named = await newKey(['default']);
      expect(await told({ keyId: named })).toBeNull();
      expect(receiver.arrivals).toHaveLength(2);
    });

    test('details go only to a channel that may have them; else the message says to look first', async () => {
      const channel = { type: 'http', url: receiver.url } as const;
      const by = settings({
        channels: { open: { ...channel, details: true }, closed: { ...channel, details: false } },
      });
      const details = { question: 'Refund 5?', fields: [{ path: 'amount', value: '5' }], complete: true };
      const arrivedBy = async (channelName: string, about: Partial<ApprovalRecord>, held = true) => {
        const id = newId();
        if (held) deps.details.hold(id, details, NOW + 60_000);
        expect(await told({ id, ...about }, { channel: 'http', channelName }, by)).toBeNull();
        return receiver.arrivals.at(-1)?.json.details;
      };
      expect(await arrivedBy('open', { shows: 1 })).toEqual(details);
      expect(await arrivedBy('closed', { shows: 1 })).toBeUndefined();
      expect(await arrivedBy('default', { shows: 1 })).toBeUndefined();
      expect(await arrivedBy('open', { shows: 0 })).toBeUndefined();
      expect(await arrivedBy('open', { shows: 1 }, false)).toBeUndefined();
      await told({ shows: 1 }, 'terminal');
      await told({ shows: 0 }, 'terminal');
      const first = printed.map(text => /^ {2}(Review|Approve) /m.exec(text)?.[1]);
      expect(first).toEqual(['Review', 'Approve']);
    });

    test('it says whose call it is', async () => {
      const keyId = await newKey(null);
      const principal = { kind: 'key' as const, keyId, sessionId: null, scope: null };
      const input = { label: 'nightly', ttlMinutes: 5, scopeTools: null };
      const { session } = await mintSession(deps, principal, input);
      await told({ keyId, sessionId: session.id });
      await told({ keyId });
      expect(receiver.arrivals.map(each => [each.json.keyName, each.json.sessionLabel])).toEqual([
        ['agent', 'nightly'],
        ['agent', null],
      ]);
      await told({ keyId }, 'terminal');
      expect(printed).toEqual([expect.stringContaining('http://gate.example/v1/approve/tg_apr_')]);
    });
  });
}
