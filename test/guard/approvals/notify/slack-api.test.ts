// What the bot makes of Slack's answers: of refusals, waits, garbage and silence. No answer may contain more than a short
// sentence without secrets, and nothing is sent to an address that is not Slack's.

import { afterAll, expect, test } from 'bun:test';
import { SlackApi, SlackError } from '../../../../src/guard/approvals/notify/slack-bot/api.ts';
import { isRecent, isSigned } from '../../../../src/guard/signed-requests.ts';
import { Receiver } from '../../../support/receiver.ts';
import { FakeSlack, type SlackManner } from '../../../support/slack.ts';

const slack = new FakeSlack();
const elsewhere = await Receiver.start();
afterAll(() => Promise.all([slack.stop(), elsewhere.close()]));

const api = new SlackApi(slack.env['TOOLGATE_SLACK_API_URL'] ?? '', slack.token, 300);
const MESSAGE = { text: 'Hello', blocks: [{ type: 'section', text: { type: 'plain_text', text: 'Hello' } }] };

async function fault(work: () => Promise<unknown>): Promise<SlackError> {
  try {
    await work();
  } catch (error) {
    if (error instanceof SlackError) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

test('a message is posted, and changed where it is', async () => {
  const place = await api.post('#approvals', MESSAGE);
  const [channel, ts] = place.split('/');
  expect(slack.messages.at(-1)).toMatchObject({ channel, ts, text: 'Hello', edits: 0 });
  await api.update(place, { ...MESSAGE, text: 'Done' });
  expect(slack.messages.at(-1)).toMatchObject({ ts, text: 'Done', edits: 1 });
});

const FAULTS: [SlackManner, string, Partial<SlackError>?][] = [
  [{ error: 'not_in_channel' }, 'The bot is not in this Slack channel; invite it there (not_in_channel)'],
  [{ error: 'invalid_auth' }, 'Slack does not accept TOOLGATE_SLACK_BOT_TOKEN (invalid_auth)'],
  [{ error: 'some_new_error' }, 'Slack answered 200 (some_new_error)', { code: 'some_new_error' }],
  // Whatever is no code could repeat what was sent.
  [{ error: 'Bearer xoxb-1' }, 'Slack answered 200', { code: '' }],
  [{ retryAfter: 30 }, 'Slack asks to wait, because of too many requests', { retryAfter: 30_000 }],
  [{ retryAfter: 1e9 }, 'Slack asks to wait, because of too many requests', { retryAfter: 3_600_000 }],
  [{ status: 503 }, 'Slack answered 503', { code: '', retryAfter: null }],
  [{ status: 302 }, 'Slack answered 302'],
  ['garbage', 'Slack answered 200'],
  ['hang', 'Slack gave no answer within 0.3 s'],
];
for (const [manner, sentence, more = {}] of FAULTS) {
  test(`${JSON.stringify(manner)} becomes a sentence`, async () => {
    slack.answerNext('chat.postMessage', 1, manner);
    const error = await fault(() => api.post('#approvals', MESSAGE));
    expect(error).toMatchObject({ message: sentence, ...more });
  });
}

test('a request that is given up is ended, so that it holds no connection', async () => {
  const ended = Promise.withResolvers<void>();
  const silent = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: request => {
      request.signal.addEventListener('abort', () => ended.resolve());
      return new Promise<never>(() => {});
    },
  });
  await fault(() => new SlackApi(`http://127.0.0.1:${silent.port}`, 'xoxb-x', 300).post('#a', MESSAGE));
  await ended.promise;
  await silent.stop(true);
});

test('an endless answer is given up, and so is a Slack that is not there', async () => {
  const endless = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(new ReadableStream({ pull: to => to.enqueue(new Uint8Array(65_536)) })),
  });
  const url = `http://127.0.0.1:${endless.port}`;
  const large = await fault(() => new SlackApi(url, 'xoxb-x', 5000).post('#approvals', MESSAGE));
  expect(large.message).toBe('Slack’s answer is too large');
  await endless.stop(true);
  const gone = await fault(() => new SlackApi(url, 'xoxb-x').post('#approvals', MESSAGE));
  expect(gone.message).toMatch(/^Slack could not be reached/);
  expect(gone.message).not.toContain('127.0.0.1');
});

test('a wrong token is refused, and a user is described', async () => {
  const wrong = new SlackApi(slack.env['TOOLGATE_SLACK_API_URL'] ?? '', 'xoxb-wrong');
  expect((await fault(() => wrong.home())).code).toBe('invalid_auth');
  expect(await api.home()).toEqual({ team: 'T0HOME', enterprise: null });
  const { id } = slack.person('ana@example.com');
  expect(await api.user(id)).toEqual({
    team: 'T0HOME',
    enterprise: null,
    email: 'ana@example.com',
    isPerson: true,
    isActive: true,
  });
  expect((await api.user(slack.person('b@example.com', { is_email_confirmed: false }).id)).email).toBe('');
  expect((await fault(() => api.user('U0NOBODY'))).code).toBe('user_not_found');
});

test('the workspace is asked once, but again after a failure', async () => {
  const own = new SlackApi(slack.env['TOOLGATE_SLACK_API_URL'] ?? '', slack.token);
  slack.answerNext('auth.test', 1, { status: 500 });
  await fault(() => own.home());
  const before = slack.calls.filter(each => each.method === 'auth.test').length;
  await Promise.all([own.home(), own.home()]);
  await own.home();
  expect(slack.calls.filter(each => each.method === 'auth.test')).toHaveLength(before + 1);
});

test('nothing is told to an address that is not Slack’s', async () => {
  const { port } = new URL(slack.origin);
  for (const address of [
    elsewhere.url,
    'https://slack.com.example.com/x',
    'https://notslack.com/x',
    'http://hooks.slack.com/x',
    'https://hooks.slack.com:8443/x',
    'https://user:secret@hooks.slack.com/x',
    `http://localhost:${port}/actions/x`,
    `https://127.0.0.1:${port}/actions/x`,
    'file:///etc/passwd',
    'nonsense',
    '',
  ]) {
    const { message } = await fault(() => api.whisper(address, 'x'));
    expect([address, message]).toEqual([address, 'the address for the answer is not Slack’s']);
  }
  expect(elsewhere.arrivals).toEqual([]);
  expect((await fault(() => api.whisper(`${slack.origin}/actions/unknown`, 'x'))).message).toBe(
    'Slack answered 404',
  );
});

test('the signature is Slack’s own example, and nothing near it', () => {
  // From docs.slack.dev/authentication/verifying-requests-from-slack.
  const secret = '8f742231b10e8888abcd99yyyzzz85a5';
  const body = Buffer.from(
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar' +
      '&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com' +
      '%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
  );
  const at = '1531420618';
  const signature = 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503';
  const signed = (by: string, time: string, bytes: Uint8Array, given: string) =>
    isSigned(by, [`v0:${time}:`, bytes], 'v0=', given);
  expect(signed(secret, at, body, signature)).toBe(true);
  expect(signed(secret, '1531420619', body, signature)).toBe(false);
  expect(signed(`${secret}x`, at, body, signature)).toBe(false);
  expect(signed(secret, at, body.subarray(1), signature)).toBe(false);
  for (const wrong of ['', 'v0=', signature.slice(3), signature.replace('v0', 'v1'), signature.toUpperCase()])
    expect(signed(secret, at, body, wrong)).toBe(false);
});

test('a request is recent within five minutes of now, in both directions', () => {
  const now = 1_531_420_618_000;
  const ages = [-301, -300, 0, 300, 301].map(age => isRecent(String(1_531_420_618 + age), now));
  expect(ages).toEqual([false, true, true, true, false]);
  for (const odd of ['', 'NaN', '-1', '1e9', ' 1531420618', '1531420618.0', '9'.repeat(400)])
    expect(isRecent(odd, now)).toBe(false);
});
