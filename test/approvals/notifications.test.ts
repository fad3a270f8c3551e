// How an approval's link reaches a person: by mail, Slack, HTTP or the terminal, the service's way or a key's
// own; a channel that fails is seen and tried again, and the token leaves the store once it was sent or the
// approval ended. The texts themselves have tests of their own.

import { afterAll, describe, expect, test } from 'bun:test';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { sql, until } from '../support/faults.ts';
import { type Answering, Receiver } from '../support/receiver.ts';
import { type Engine, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { ASK_ALL } from './gate.ts';

const closing: (() => unknown)[] = [];
afterAll(() => Promise.all(closing.map(close => close())));

async function receiver(answer?: Answering): Promise<Receiver> {
  const started = await Receiver.start(answer);
  closing.push(() => started.close());
  return started;
}

interface Mail {
  to: string[];
  text: string;
}

async function mailServer(): Promise<{ url: string; mails: Mail[] }> {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    async onData(stream, session, done) {
      let text = '';
      for await (const chunk of stream) text += chunk;
      mails.push({ to: session.envelope.rcptTo.map(each => each.address), text });
      done();
    },
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => new Promise<void>(resolve => server.close(() => resolve())));
  return { url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`, mails };
}

async function withService(
  engine: Engine,
  env: Record<string, string>,
  work: (service: TestService) => Promise<void>,
): Promise<void> {
  const service = await startService({ engine, env });
  try {
    await work(service);
  } finally {
    await service.close();
  }
}

async function hold(service: TestService, more: Record<string, unknown> = {}): Promise<string> {
  const { key } = await service.newKey(ASK_ALL, more);
  return (await service.check(key, 'prod', 'deploy')).body.referenceId;
}

const notifications = async (service: TestService, referenceId: string) =>
  (await service.admin('GET', `/notifications?referenceId=${referenceId}`)).body.notifications;

const sealed = async (service: TestService, referenceId: string) =>
  (
    await sql<{ token: string | null }>(
      service.databaseUrl,
      `SELECT token_sealed AS token FROM notifications WHERE approval_id = '${referenceId}'`,
    )
  ).map(row => row.token);

async function settled(service: TestService, referenceId: string, channels: string[]): Promise<void> {
  await until('notifications sent', async () => {
    const rows = await notifications(service, referenceId);
    return (
      rows.length === channels.length && rows.every((each: { status: string }) => each.status === 'sent')
    );
  });
  const rows = await notifications(service, referenceId);
  expect(rows.map((each: { channel: string }) => each.channel).sort()).toEqual(channels.sort());
  for (const row of rows) expect(row).toMatchObject({ attempts: 1, nextAttemptAt: null, lastError: null });
  expect(await sealed(service, referenceId)).toEqual(channels.map(() => null));
}

const LINK = /http:\/\/[^\s"|>]+\/v1\/approve\/tg_apr_\w+\?action=approve/;

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(`notifications on ${engine}`, () => {
    test('with nothing configured the link is printed, and works', () =>
      withService(engine, {}, async service => {
        const referenceId = await hold(service);
        await settled(service, referenceId, ['terminal']);
        await until('it is read', () => LINK.test(service.output));
        const link = LINK.exec(service.output)?.[0] ?? '';
        const reply = await service.json('POST', new URL(link).pathname, null, { action: 'approve' });
        expect(reply.body).toMatchObject({ referenceId, status: 'approved' });
      }));

    test('mail, Slack and HTTP all carry it once they are configured, and the terminal does not', async () => {
      const [slack, http, mail] = [await receiver(), await receiver(), await mailServer()];
      const env = {
        TOOLGATE_SMTP_URL: mail.url,
        TOOLGATE_MAIL_FROM: 'toolgate@example.com',
        TOOLGATE_APPROVER_EMAILS: 'ops@example.com, ana@example.com',
        TOOLGATE_SLACK_WEBHOOK_URL: `${slack.url}/services/T0/B0/x`,
        TOOLGATE_NOTIFY_URL: `${http.url}/notify`,
      };
      await withService(engine, env, async service => {
        const referenceId = await hold(service, { name: 'release agent' });
        await settled(service, referenceId, ['email', 'slack', 'http']);
        expect(mail.mails[0]?.to).toEqual(['ops@example.com', 'ana@example.com']);
        const flowed = mail.mails[0]?.text.replaceAll('=\r\n', '').replaceAll('=3D', '=') ?? '';
        expect(flowed).toMatch(LINK);
        expect(slack.arrivals[0]?.path).toBe('/services/T0/B0/x');
        expect(slack.arrivals[0]?.text).toMatch(LINK);
        const { approveUrl, denyUrl, reviewUrl, expiresAt, ...facts } = http.arrivals[0]?.json ?? {};
        expect(facts).toEqual({
          referenceId,
          keyName: 'release agent',
          sessionLabel: null,
          serverName: 'prod',
          toolName: 'deploy',
          reason: expect.stringContaining('requires approval'),
          reviewFirst: false,
        });
        expect(approveUrl).toStartWith(`${service.url}/v1/approve/tg_apr_`);
        expect(denyUrl).toBe(approveUrl.replace('=approve', '=deny'));
        expect(reviewUrl).toBe(approveUrl.replace('?action=approve', ''));
        expect(Date.parse(expiresAt)).toBeGreaterThan(Date.now());
        expect(service.output).not.toMatch(/tg_apr_/);
      });
    });

    test('a key’s own targets replace the service’s', async () => {
      const [general, own, ownSlack, mail] = [
        await receiver(),
        await receiver(),
        await receiver(),
        await mailServer(),
      ];
      const env = {
        TOOLGATE_NOTIFY_URL: general.url,
        TOOLGATE_SMTP_URL: mail.url,
        TOOLGATE_MAIL_FROM: 'toolgate@example.com',
        TOOLGATE_APPROVER_EMAILS: 'ops@example.com',
      };
      await withService(engine, env, async service => {
        const both = { url: `${own.url}/x`, slackWebhookUrl: `${ownSlack.url}/y` };
        await settled(service, await hold(service, { notify: both }), ['http', 'slack']);
        expect([general.arrivals.length, mail.mails.length]).toEqual([0, 0]);
        expect([own.arrivals.length, ownSlack.arrivals.length]).toEqual([1, 1]);
        const mailed = await hold(service, { notify: { emails: ['lead@example.com'] } });
        await settled(service, mailed, ['email']);
        expect(mail.mails[0]?.to).toEqual(['lead@example.com']);
        await settled(service, await hold(service, { notify: null }), ['http', 'email']);
        expect([general.arrivals.length, own.arrivals.length]).toEqual([1, 1]);
      });
    });

    test('a channel that fails is seen, keeps its token and is tried again', async () => {
      const http = await receiver(() => 500);
      await withService(engine, { TOOLGATE_NOTIFY_URL: http.url }, async service => {
        const referenceId = await hold(service);
        const row = async () => (await notifications(service, referenceId))[0];
        await until('a failed attempt', async () => (await row()).attempts > 0);
        expect(await row()).toMatchObject({ channel: 'http', status: 'pending' });
        expect((await row()).lastError).toContain('500');
        expect((await row()).nextAttemptAt).not.toBeNull();
        expect((await sealed(service, referenceId))[0]).not.toBeNull();
        const listed = (await service.admin('GET', '/notifications?status=pending')).body.notifications;
        expect(listed.map((each: { referenceId: string }) => each.referenceId)).toContain(referenceId);
        http.answer = () => 200;
        await until('sent at last', async () => (await row()).status === 'sent');
        expect((await row()).attempts).toBeGreaterThan(1);
        expect(await sealed(service, referenceId)).toEqual([null]);
        const links = new Set(http.arrivals.map(each => each.json.approveUrl));
        expect(links.size).toBe(1);
        expect(service.output).not.toMatch(/tg_apr_/);
      });
    });

    test('once the approval is answered, an unsent link is dropped with its token', async () => {
      const http = await receiver(() => 'reset');
      await withService(engine, { TOOLGATE_NOTIFY_URL: http.url }, async service => {
        const referenceId = await hold(service);
        await until('a try', () => http.arrivals.length > 0);
        await service.admin('POST', `/approvals/${referenceId}/resolve`, { action: 'deny' });
        expect(await sealed(service, referenceId)).toEqual([null]);
        const [row] = await notifications(service, referenceId);
        expect(row).toMatchObject({ status: 'dropped', nextAttemptAt: null });
      });
    });

    test('once the approval has lapsed too', async () => {
      const http = await receiver(() => 500);
      const env = { TOOLGATE_NOTIFY_URL: http.url, TOOLGATE_APPROVAL_TIMEOUT: '2s' };
      await withService(engine, env, async service => {
        const referenceId = await hold(service);
        await until('the token is gone', async () => (await sealed(service, referenceId))[0] === null);
        const [row] = await notifications(service, referenceId);
        expect(['dropped', 'failed']).toContain(row.status);
        expect(row.nextAttemptAt).toBeNull();
      });
    });
  });
}

test('one key’s notifier that hangs does not hold up another key’s links', async () => {
  const [stuck, quick] = [await receiver(() => 'hang'), await receiver()];
  await withService('sqlite', {}, async service => {
    const { key } = await service.newKey(ASK_ALL, { notify: { url: stuck.url } });
    for (let index = 0; index < 40; index++) await service.check(key, 'prod', 'deploy');
    await until('the first tries hang', () => stuck.arrivals.length > 0);
    await hold(service, { notify: { url: quick.url } });
    // An attempt is given up after 15 seconds; the other link must not wait for that.
    await until('the other link', () => quick.arrivals.length === 1, 12_000).finally(() => stuck.close());
  });
});

test('a mail server that is down is seen', async () => {
  const env = {
    TOOLGATE_SMTP_URL: 'smtp://127.0.0.1:1',
    TOOLGATE_MAIL_FROM: 'toolgate@example.com',
    TOOLGATE_APPROVER_EMAILS: 'ops@example.com',
  };
  await withService('sqlite', env, async service => {
    const referenceId = await hold(service);
    await until('a failed attempt', async () => (await notifications(service, referenceId))[0].attempts > 0);
    const [row] = await notifications(service, referenceId);
    expect(row.lastError).not.toBeNull();
    expect(row.lastError).not.toContain('tg_apr_');
  });
});

test('a key’s own targets obey the rules for addresses that come by the API', async () => {
  const own = await receiver();
  const env = { TOOLGATE_HOST: '0.0.0.0' };
  await withService('sqlite', env, async service => {
    const { key } = await service.newKey(ASK_ALL, { notify: { url: own.url } });
    const { referenceId } = (await service.check(key, 'prod', 'deploy')).body;
    await until('a try', async () => (await notifications(service, referenceId))[0].attempts > 0);
    expect(own.arrivals).toEqual([]);
  });
});
