// Checkpoints on their way out: what arrives, what is tried again, where they may not go, and that a target which
// hangs does not delay sealing.

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { isSignedBy, parseCheckpoint } from '../../../src/core/log/checkpoint.ts';
import { logKey } from '../../../src/guard/log/sealed-log.ts';
import { type CheckpointTarget, sendCheckpoint } from '../../../src/guard/outgoing/checkpoint-target.ts';
import { signS3 } from '../../../src/guard/outgoing/sign-s3.ts';
import { unsentCheckpoint } from '../../../src/store/log/checkpoints.ts';
import { openStore, type TestStore } from '../../store/stores.ts';
import { until } from '../../support/faults.ts';
import { Clock, entries, MINUTE, sealerOn, write } from '../log/sealing.ts';

interface Seen {
  method: string;
  path: string;
  headers: Headers;
  body: string;
}

let store: TestStore;
const seen: Seen[] = [];
let answer: () => Response | Promise<Response> = () => new Response();
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async request => {
    const { pathname: path, search } = new URL(request.url);
    seen.push({
      method: request.method,
      path: path + search,
      headers: request.headers,
      body: await request.text(),
    });
    return answer();
  },
});
beforeAll(async () => {
  store = await openStore('sqlite');
});
beforeEach(() => {
  seen.length = 0;
  answer = () => new Response();
});
afterAll(async () => {
  await store.close();
  await server.stop(true);
});

const target = (more: Partial<CheckpointTarget> = {}): CheckpointTarget => ({
  url: `http://127.0.0.1:${server.port}/log/{size}.txt?v={size}`,
  method: 'PUT',
  authorization: null,
  s3: null,
  rules: { allowPrivate: true },
  ...more,
});
const RECORD = { number: 1, at: 0, size: 42, note: 'note — ü\n' };

test('the note arrives as it was signed, under its own name, with the credential given', async () => {
  await sendCheckpoint(target({ authorization: 'Bearer abc' }), RECORD, 0);
  expect(seen.map(({ method, path, body }) => [method, path, body])).toEqual([
    ['PUT', '/log/42.txt?v=42', 'note — ü\n'],
  ]);
  const { headers } = seen[0] as Seen;
  expect(headers.get('authorization')).toBe('Bearer abc');
  expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(headers.get('content-md5')).toBe('z3sK3SyPhFtEoBRDROhhJw==');
});

test('a request to S3 is signed as AWS publishes it', async () => {
  const key = {
    id: 'AKIAIOSFODNN7EXAMPLE',
    secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    region: 'us-east-1',
  };
  const at = Date.UTC(2013, 4, 24);
  expect(signS3('GET', 'https://examplebucket.s3.amazonaws.com/?lifecycle', '', key, at)).toEqual({
    'x-amz-date': '20130524T000000Z',
    'x-amz-content-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    authorization:
      'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, ' +
      'SignedHeaders=host;x-amz-content-sha256;x-amz-date, ' +
      'Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  });
  expect(
    signS3('GET', 'https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J', '', key, at)[
      'authorization'
    ],
  ).toContain('Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7');
  await sendCheckpoint(target({ s3: key }), RECORD, at);
  expect(seen[0]?.headers.get('authorization')).toContain(
    'SignedHeaders=host;x-amz-content-sha256;x-amz-date',
  );
});

test('only 2xx is success, redirects are not followed, and private addresses need leave', async () => {
  for (const status of [300, 301, 403, 404, 500, 503]) {
    answer = () => new Response(null, { status, headers: { Location: '/elsewhere' } });
    await expect(sendCheckpoint(target(), RECORD, 0)).rejects.toThrow(`answered ${status}`);
  }
  expect(new Set(seen.map(each => each.path))).toEqual(new Set(['/log/42.txt?v=42']));
  const refused = sendCheckpoint(target({ rules: { allowPrivate: false } }), RECORD, 0);
  await expect(refused).rejects.toThrow();
  expect(seen.length).toBe(6);
});

test('the newest is sent until the target takes it; one that hangs does not delay sealing', async () => {
  const clock = new Clock();
  const hanging = Promise.withResolvers<Response>();
  answer = () => hanging.promise;
  const to = target({ method: 'POST' });
  const one = await sealerOn(store.db, clock, {
    send: checkpoint => sendCheckpoint(to, checkpoint, clock.now),
  });
  for (let round = 0; round < 3; round++) {
    await write(store.db, entries(20, clock.now));
    clock.now += 2 * MINUTE;
    await one.settle();
  }
  // Three checkpoints are signed while the first is still on its way.
  expect([one.notes.length, (await unsentCheckpoint(store.db))?.size]).toEqual([3, 60]);
  await until('the first has arrived', () => seen.length === 1);
  hanging.resolve(new Response(null, { status: 503 }));
  await one.sealer.idle();
  answer = () => new Response();
  await until('the newest is taken', async () => {
    await one.sealer.tick();
    await one.sealer.idle();
    return (await unsentCheckpoint(store.db)) === null;
  });
  expect(seen.map(({ body }) => parseCheckpoint(body)?.size)).toEqual([20, 60]);
  expect(await isSignedBy(seen[1]?.body ?? '', await logKey(one.deps))).toBe(true);
  await one.sealer.tick();
  await one.sealer.idle();
  expect(seen.length).toBe(2);
});
