// The doctor and a running service with all that it depends on: mail, Slack, single sign-on, a proxy, an MCP server and
// receivers, all of them real programs. With all of them nothing is wrong; then each test breaks one, and exactly its
// line has to say so, with what to do. The service says the same about itself.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SMTPServer } from 'smtp-server';
import { newDataDir, sql, until } from '../support/faults.ts';
import { IdentityProvider } from '../support/identity-provider.ts';
import { connect, RecordingUpstream } from '../support/mcp.ts';
import { need } from '../support/need.ts';
import { freePort } from '../support/port.ts';
import { Receiver } from '../support/receiver.ts';
import { ADMIN_TOKEN, startService, type TestService } from '../support/service.ts';
import { FakeSlack } from '../support/slack.ts';
import { doctor, type Env, faultsOf, messageOf } from './asking.ts';

const NGINX = Bun.which('nginx', { PATH: `${process.env['PATH']}:/usr/sbin` });
const hasNginx = need(NGINX !== null, 'nginx (.ci/run installs it)');
const PASSWORD = 'p4ssword-of-the-mail-server';

const dataDir = newDataDir();
const slack = new FakeSlack();
const upstream = new RecordingUpstream();
const mails: string[] = [];
const closing: (() => unknown)[] = [];
let service: TestService;
let provider: IdentityProvider;
let receiver: Receiver;
let mailPort: number;
let ports: Record<'good' | 'silent' | 'untrusted' | 'renamed' | 'service', number>;
let env: Env;

const at = (port: number, path = ''): string => `http://127.0.0.1:${port}${path}`;

beforeAll(async () => {
  [provider, receiver, mailPort] = await Promise.all([
    IdentityProvider.start(),
    Receiver.start(),
    startMail(),
  ]);
  provider.serve([]);
  ports = {
    good: await freePort(),
    silent: await freePort(),
    untrusted: await freePort(),
    renamed: await freePort(),
    service: await freePort(),
  };
  if (hasNginx) startNginx();
  const channels = { ops: { type: 'teams', url: `${receiver.url}/teams?sig=s3cret-of-teams` } };
  const shipping = { archive: { type: 'http', url: `${receiver.url}/log?s3cret` } };
  writeFileSync(join(dataDir, 'toolgate.yaml'), JSON.stringify({ channels }), { mode: 0o600 });
  writeFileSync(join(dataDir, 'doctor.yaml'), JSON.stringify({ channels, shipping }), { mode: 0o600 });
  env = {
    ...slack.env,
    ...provider.settings,
    TOOLGATE_DATA_DIR: dataDir,
    TOOLGATE_DATABASE_URL: `sqlite:${join(dataDir, 'toolgate.db')}`,
    TOOLGATE_PORT: String(ports.service),
    TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN,
    TOOLGATE_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    TOOLGATE_TRUSTED_PROXIES: '127.0.0.1',
    TOOLGATE_SMTP_URL: mailUrl(mailPort),
    TOOLGATE_MAIL_FROM: 'toolgate@example.com',
    TOOLGATE_APPROVER_EMAILS: 'ops@example.com',
    TOOLGATE_CHECKPOINT_URL: `${receiver.url}/checkpoints/{size}`,
    TOOLGATE_NOTIFY_URL: `${receiver.url}/notify?token=s3cret-of-notifier`,
    ...(hasNginx ? { TOOLGATE_PUBLIC_URL: at(ports.good) } : {}),
  };
  service = await startService({ dataDir, databaseUrl: env['TOOLGATE_DATABASE_URL'] as string, env });
  // The service itself sends neither its log nor telemetry, so that whatever arrives comes from the doctor.
  env['TOOLGATE_CONFIG'] = join(dataDir, 'doctor.yaml');
  env['TOOLGATE_OTLP_ENDPOINT'] = receiver.url;
  const { keyId } = await service.newKey([{ tool: '*', action: 'allow' }]);
  await connect(service, keyId, 'files', upstream.url);
  receiver.arrivals.length = 0;
});

afterAll(async () => {
  await service.close();
  await Promise.all(closing.map(close => close()));
  await Promise.all([provider.close(), receiver.close(), slack.stop(), upstream.stop()]);
  rmSync(dataDir, { recursive: true, force: true });
});

/** Its certificate is nobody's, so the setting says that it is accepted. */
const mailUrl = (port: number, password = PASSWORD): string =>
  `smtp://toolgate:${password}@127.0.0.1:${port}?tls.rejectUnauthorized=false`;

async function startMail(options: object = {}): Promise<number> {
  const server = new SMTPServer({
    logger: false,
    ...options,
    onAuth: ({ password }, _session, done) =>
      password === PASSWORD ? done(null, { user: 'toolgate' }) : done(new Error('no such user s3cret')),
    onMailFrom: ({ address }, _session, done) => {
      mails.push(address);
      done();
    },
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()));
  closing.push(() => new Promise<void>(resolve => server.close(() => resolve())));
  return (server.server.address() as AddressInfo).port;
}

/** Four ways to stand before the service; one of them is right. */
function startNginx(): void {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-nginx-'));
  const host = 'proxy_set_header Host $http_host;';
  const forwarded = 'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;';
  const block = (port: number, lines: string) =>
    `server { listen 127.0.0.1:${port}; location / { proxy_pass ${at(ports.service)}; ${lines} } }`;
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const text = `daemon off; pid ${folder}/pid; error_log stderr; events {}
    http { access_log off; ${temporary.map(each => `${each}_temp_path ${folder}/${each};`).join(' ')}
    ${block(ports.good, host + forwarded)}
    ${block(ports.silent, host)}
    ${block(ports.untrusted, `${host + forwarded} proxy_bind 127.0.0.2;`)}
    ${block(ports.renamed, `proxy_set_header Host toolgate-backend; ${forwarded}`)} }`;
  writeFileSync(join(folder, 'nginx.conf'), text);
  const child = Bun.spawn([NGINX as string, '-p', folder, '-c', join(folder, 'nginx.conf')], {
    stdout: 'ignore',
    stderr: 'ignore',
  });
  closing.push(async () => {
    child.kill();
    await child.exited;
    rmSync(folder, { recursive: true, force: true });
  });
}

test('with all of it working nothing is wrong, nothing is sent, and no secret is shown', async () => {
  await until(
    'nginx',
    async () => !hasNginx || (await fetch(at(ports.good, '/healthz')).catch(() => null))?.ok === true,
  );
  const found = await doctor(dataDir, env);
  expect(faultsOf(found)).toEqual([]);
  expect([found.ok, found.code]).toEqual([true, 0]);
  const names = found.checks.map(each => each.name);
  const wanted = [
    'mail',
    'slack',
    'notifier',
    'channel ops',
    'single sign-on',
    'checkpoints',
    'shipping archive',
    'telemetry',
    'connected tool files',
  ];
  expect(names).toEqual(expect.arrayContaining([...wanted, ...(hasNginx ? ['public URL', 'proxy'] : [])]));
  expect([mails, slack.messages, receiver.arrivals, upstream.calls]).toEqual([[], [], [], []]);
  expect(slack.calls.map(each => each.method)).toEqual(['auth.test']);
  for (const secret of [
    PASSWORD,
    slack.token,
    slack.signingSecret,
    ADMIN_TOKEN,
    's3cret',
    env['TOOLGATE_MASTER_KEY'],
  ])
    expect([secret, found.printed.includes(secret as string)]).toEqual([secret, false]);
});

test('the running service says the same about itself, to admins only', async () => {
  const asked = await Promise.all([1, 2].map(() => service.admin('GET', '/doctor')));
  for (const { status, body, text } of asked) {
    expect([status, body.ok, faultsOf(body)]).toEqual([200, true, []]);
    expect(messageOf(body, 'connected tool files')).toContain('can be reached');
    expect([PASSWORD, 's3cret', slack.token].filter(each => text.includes(each))).toEqual([]);
    for (const each of body.checks) expect(Object.keys(each)).toEqual(['name', 'state', 'message']);
  }
  expect([upstream.of('initialize').length > 0, upstream.calls]).toEqual([true, []]);
  expect((await service.json('GET', '/admin/v1/doctor', null)).status).toBe(401);
});

test('its probe is answered to nobody else', async () => {
  const ask = async (probe: string) =>
    (await fetch(at(ports.service, '/healthz'), { headers: { 'toolgate-doctor': probe } })).headers.get(
      'toolgate-doctor',
    );
  expect([await ask('x'), await ask(`${'a'.repeat(22)}.${'b'.repeat(43)}`), await ask('.')]).toEqual([
    null,
    null,
    null,
  ]);
});

/** The faults of the doctor with other settings, and the message of the first. */
async function planted(more: Env): Promise<[faults: string[], message: string]> {
  const found = await doctor(dataDir, { ...env, ...more });
  expect([PASSWORD, 's3cret', slack.token].filter(each => found.printed.includes(each))).toEqual([]);
  const faults = faultsOf(found);
  return [faults, messageOf(found, faults[0]?.replace(/^\w+ /, '') ?? '')];
}

describe('people', () => {
  test('a wrong password of the mail server', async () => {
    const [faults, message] = await planted({ TOOLGATE_SMTP_URL: mailUrl(mailPort, 'wrong-s3cret') });
    expect(faults).toEqual(['bad mail']);
    expect(message).toMatch(/refused the user name or password \(535\)\. TOOLGATE_SMTP_URL names/);
  });

  test('a mail server without encryption', async () => {
    const port = await startMail({ disabledCommands: ['STARTTLS'], allowInsecureAuth: true });
    const [faults, message] = await planted({ TOOLGATE_SMTP_URL: mailUrl(port) });
    expect(faults).toEqual(['warning mail']);
    expect(message).toContain('use smtps://');
  });

  test('servers that never answer stop no other check, and are no worse than those that are away', async () => {
    const silent = createServer(() => {});
    await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const found = await doctor(dataDir, {
      ...env,
      TOOLGATE_SMTP_URL: mailUrl(port),
      TOOLGATE_PUBLIC_URL: at(port),
      TOOLGATE_NOTIFY_URL: `https://127.0.0.1:${port}/s3cret`,
      TOOLGATE_OTLP_ENDPOINT: `https://127.0.0.1:${port}`,
    });
    expect(faultsOf(found)).toEqual(['warning public URL', 'bad mail', 'bad notifier', 'warning telemetry']);
    expect(messageOf(found, 'public URL')).toContain('this is no fault');
    expect(messageOf(found, 'mail')).toContain('no answer from the mail server within 6 s');
    expect(messageOf(found, 'notifier')).toContain('(ETIMEDOUT). Is TOOLGATE_NOTIFY_URL right');
    expect(found.printed).not.toContain('s3cret');
    silent.close();
  });

  test('a token that Slack does not accept', async () => {
    const [faults, message] = await planted({ TOOLGATE_SLACK_BOT_TOKEN: 'xoxb-wrong-s3cret' });
    expect(faults).toEqual(['bad slack']);
    expect(message).toContain('Slack does not accept TOOLGATE_SLACK_BOT_TOKEN');
  });

  test('a webhook that is none of Slack’s, of which only the form is looked at', async () => {
    const [faults, message] = await planted({ TOOLGATE_SLACK_WEBHOOK_URL: `${receiver.url}/s3cret` });
    expect(faults).toEqual(['warning slack webhook']);
    expect(message).toContain('compare it with the one that Slack shows');
    expect(receiver.arrivals).toEqual([]);
  });

  test('receivers that are away, by name', async () => {
    const nowhere = at(await freePort(), '/s3cret');
    const [faults, message] = await planted({
      TOOLGATE_NOTIFY_URL: nowhere,
      TOOLGATE_CHECKPOINT_URL: nowhere,
    });
    expect(faults).toEqual(['bad notifier', 'bad checkpoints']);
    expect(message).toContain('Is TOOLGATE_NOTIFY_URL right, and the server up?');
  });
});

describe('what is sent out', () => {
  test('a collector that is away is no more than a warning', async () => {
    const [faults, message] = await planted({ TOOLGATE_OTLP_ENDPOINT: at(await freePort()) });
    expect(faults).toEqual(['warning telemetry']);
    expect(message).toContain('checks go on');
  });

  test('a receiver of the log that is away, and one that refused it', async () => {
    const away = { type: 'http', url: at(await freePort(), '/s3cret') };
    const refusing = { type: 'http', url: `${receiver.url}/s3cret` };
    const file = join(dataDir, 'away.yaml');
    writeFileSync(file, JSON.stringify({ shipping: { away, refusing } }), { mode: 0o600 });
    await sql(
      env['TOOLGATE_DATABASE_URL'] as string,
      `INSERT INTO shipping (name, shipped, failures, last_error) VALUES ('refusing', 0, 3, 'the target answered 500')`,
    );
    const found = await doctor(dataDir, { ...env, TOOLGATE_CONFIG: file });
    expect(faultsOf(found)).toEqual(['bad shipping away', 'warning shipping refusing']);
    expect(messageOf(found, 'shipping away')).toContain('Is shipping.away in the server file right');
    expect(messageOf(found, 'shipping refusing')).toContain('the target answered 500. Nothing is lost');
  });
});

describe('single sign-on', () => {
  test('an issuer that calls itself otherwise', async () => {
    const issuer = provider.url.replace('127.0.0.1', 'localhost');
    const [faults, message] = await planted({ TOOLGATE_OIDC_ISSUER: issuer });
    expect(faults).toEqual(['bad single sign-on']);
    expect(message).toContain(
      `says that its issuer is ${provider.url}, not ${issuer}: set TOOLGATE_OIDC_ISSUER`,
    );
  });

  test('an address that is no provider', async () => {
    const [faults, message] = await planted({ TOOLGATE_OIDC_ISSUER: at(ports.service) });
    expect(faults).toEqual(['bad single sign-on']);
    expect(message).toContain('answered 404 when asked about itself. Is TOOLGATE_OIDC_ISSUER right');
  });
});

describe.skipIf(!hasNginx)('the public address', () => {
  test('a proxy that says nothing of the client', async () => {
    const [faults, message] = await planted({ TOOLGATE_PUBLIC_URL: at(ports.silent) });
    expect(faults).toEqual(['warning proxy']);
    expect(message).toContain('proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for');
  });

  test('a proxy that is not trusted', async () => {
    const [faults, message] = await planted({ TOOLGATE_PUBLIC_URL: at(ports.untrusted) });
    expect(faults).toEqual(['warning proxy']);
    expect(message).toContain('set TOOLGATE_TRUSTED_PROXIES to its network, for example 127.0.0.2');
  });

  test('a proxy that sends another Host', async () => {
    const [faults, message] = await planted({ TOOLGATE_PUBLIC_URL: at(ports.renamed) });
    expect(faults).toEqual(['bad proxy']);
    expect(message).toContain('"Host: toolgate-backend"');
  });

  test('another service', async () => {
    const [faults, message] = await planted({ TOOLGATE_PUBLIC_URL: receiver.url });
    expect(faults).toEqual(['bad public URL']);
    expect(message).toContain('Something else answers');
    receiver.arrivals.length = 0;
  });

  test('a Toolgate of somebody else', async () => {
    const other = await startService({
      env: { TOOLGATE_MASTER_KEY: Buffer.alloc(32, 8).toString('base64') },
    });
    const [faults, message] = await planted({ TOOLGATE_PUBLIC_URL: other.url });
    expect(faults).toEqual(['bad public URL']);
    expect(message).toContain('another Toolgate answers');
    await other.close();
  });

  test('nothing at all', async () => {
    const [faults, message] = await planted({ TOOLGATE_PUBLIC_URL: at(await freePort()) });
    expect(faults).toEqual(['warning public URL']);
    expect(message).toContain('cannot be reached');
  });
});

test('an MCP server that is away, as both see it', async () => {
  await upstream.stop();
  const found = await doctor(dataDir, env);
  expect([found.code, faultsOf(found)]).toEqual([1, ['bad connected tool files']]);
  const { body } = await service.admin('GET', '/doctor');
  expect([body.ok, faultsOf(body)]).toEqual([false, ['bad connected tool files']]);
  expect(messageOf(body, 'connected tool files')).toContain('Look at the server');
});
