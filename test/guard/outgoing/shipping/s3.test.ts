// The audit log in an S3 bucket: what one object holds and how it is named, and that a real service takes it, with the
// bucket in the path or in the host name.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import type { S3Target } from '../../../../src/core/log/shipping.ts';
import { objectName, patient, portion, s3Target } from '../../../../src/guard/outgoing/shipping/s3.ts';
import { signS3 } from '../../../../src/guard/outgoing/sign-s3.ts';
import { S3_KEY, S3Service } from '../../../support/rclone.ts';
import { refusal } from '../../../support/refusal.ts';
import { hasTool, tool } from '../../../support/tools.ts';
import { batchOf, shipped } from './entries.ts';

const MINUTE = 60_000;
const at = (time: string) => Date.parse(`2026-11-17T${time}Z`);

describe('what one object holds', () => {
  const first = [shipped(7, '2026-11-17T05:03:00.000Z'), shipped(8, '2026-11-17T05:04:59.999Z')];
  const after = shipped(9, '2026-11-17T05:05:00.000Z');

  test('entries of one stretch of time, once it is over and its entries are sealed', () => {
    expect(portion(first, at('05:04:59.999'), 5 * MINUTE)).toEqual({ waitUntil: at('05:05:05') });
    expect(portion(first, at('05:05:04.999'), 5 * MINUTE)).toEqual({ waitUntil: at('05:05:05') });
    expect(portion(first, at('05:05:05'), 5 * MINUTE)).toEqual({ count: 2 });
  });

  test('a later entry closes the stretch at once, and so does an earlier one that was sealed late', () => {
    expect(portion([...first, after], at('05:05:00'), 5 * MINUTE)).toEqual({ count: 2 });
    expect(portion([after, ...first], at('05:05:00'), 5 * MINUTE)).toEqual({ count: 1 });
  });

  test('no stretch passes the end of an hour', () => {
    const early = shipped(1, '2026-11-17T05:50:00.000Z');
    const late = shipped(2, '2026-11-17T06:00:00.000Z');
    expect(portion([early, late], at('06:00:01'), 45 * MINUTE)).toEqual({ count: 1 });
    expect(portion([early], at('05:50:01'), 45 * MINUTE)).toEqual({ waitUntil: at('06:00:05') });
  });

  test('a full batch does not wait', () => {
    const { most } = target({});
    const many = batchOf(most, '2026-11-17T05:03:00.000Z');
    expect(portion(many, at('05:03:01'), 5 * MINUTE)).toEqual({ count: most });
    expect(portion(many.slice(1), at('05:03:01'), 5 * MINUTE)).toEqual({ waitUntil: at('05:05:05') });
  });

  test('an entry from a clock that was far ahead holds up the log for one stretch only', () => {
    const ahead = [shipped(7, '2026-11-18T05:03:00.000Z')];
    const next = patient(5 * MINUTE);
    expect(next(ahead, at('05:03:00'))).toEqual({ waitUntil: at('05:08:05') });
    expect(next(ahead, at('05:06:00'))).toEqual({ waitUntil: at('05:08:05') });
    expect(next(ahead, at('05:08:05'))).toEqual({ count: 1 });
    expect(next([shipped(8, '2026-11-17T05:08:06.000Z')], at('05:08:07'))).toEqual({
      waitUntil: at('05:10:05'),
    });
    // The clock of this replica was set back.
    expect(next([shipped(8, '2026-11-17T05:08:06.000Z')], at('04:00:00'))).toEqual({ count: 1 });
  });

  test('its name has the hour of its entries and its places in the log', () => {
    expect(objectName('logs/prod', first)).toBe('logs/prod/2026/11/17/05/000000000007-000000000008.jsonl.gz');
    expect(objectName('', [after])).toBe('2026/11/17/05/000000000009-000000000009.jsonl.gz');
  });
});

test('further headers are signed as AWS publishes it', () => {
  const key = {
    id: 'AKIAIOSFODNN7EXAMPLE',
    secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    region: 'us-east-1',
  };
  const more = { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' };
  const url = 'https://examplebucket.s3.amazonaws.com/test$file.text';
  const body = Buffer.from('Welcome to Amazon S3.');
  const signed = signS3('PUT', url, body, key, Date.UTC(2013, 4, 24), more);
  expect(signed['authorization']).toBe(
    'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, ' +
      'SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class, ' +
      'Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  );
});

function target(more: Partial<S3Target>) {
  const bucket = { url: '', prefix: 'logs/prod', key: S3_KEY, everyMs: 5 * MINUTE };
  return s3Target({ type: 's3', ...bucket, schema: 'native', ...more }, { allowPrivate: true }, Date.now);
}

test('a page to sign in is no confirmation, although its status is 200', async () => {
  const page = () => new Response('<!doctype html><title>Sign in</title>');
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: page });
  const sending = target({ url: `http://127.0.0.1:${server.port}/audit` }).send(
    batchOf(1, '2026-11-17T05:03:00.000Z'),
  );
  expect(String(await refusal(sending))).toContain('a web page was the answer');
  await server.stop(true);
});

describe.skipIf(!hasTool('rclone'))('a real S3 service', () => {
  let service: S3Service;
  let byHost: S3Service;
  const batch = batchOf(600, '2026-11-17T05:03:00.000Z', 40);
  const NAME = 'logs/prod/2026/11/17/05/000000000040-000000000639.jsonl.gz';
  beforeAll(async () => {
    const program = tool('rclone') as string;
    [service, byHost] = await Promise.all([
      S3Service.start(program, 'audit'),
      S3Service.start(program, 'audit', '--force-path-style=false'),
    ]);
  });
  afterAll(() => Promise.all([service.kill(), byHost.kill()]));

  const linesOf = (text: string) =>
    text
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line));
  const inPath = (more: Partial<S3Target> = {}) => target({ url: `${service.url}/audit`, ...more });

  test('an object has the entries with their places, one on each line; a repeat replaces it', async () => {
    await inPath().send(batch);
    await inPath().send(batch);
    const objects = service.objects('audit');
    expect(objects.map(each => each.name)).toEqual([NAME]);
    expect(linesOf(objects[0]?.text ?? '')).toEqual(batch.map(({ seq, entry }) => ({ seq, ...entry })));
  });

  test('the bucket may stand in the host name, and the schema may be OCSF', async () => {
    const url = `http://audit.localhost:${byHost.port}`;
    await target({ url, schema: 'ocsf', prefix: '' }).send(batch.slice(0, 2));
    const [object] = byHost.objects('audit');
    expect(object?.name).toBe('2026/11/17/05/000000000040-000000000041.jsonl.gz');
    expect(linesOf(object?.text ?? '').map(each => [each.class_uid, each.metadata.sequence])).toEqual([
      [6003, 40],
      [6003, 41],
    ]);
  });

  test('a wrong key, a wrong secret, a bucket that is not there and a service that is away are failures', async () => {
    const failing = async (more: Partial<S3Target>) => String(await refusal(inPath(more).send(batch)));
    expect(await failing({ key: { ...S3_KEY, secret: 'another' } })).toBe(
      'Error: the bucket answered 403 (SignatureDoesNotMatch)',
    );
    expect(await failing({ key: { ...S3_KEY, id: 'AKIDOTHER' } })).toBe(
      'Error: the bucket answered 403 (InvalidAccessKeyId)',
    );
    expect(await failing({ url: `${service.url}/other` })).toBe(
      'Error: the bucket answered 404 (NoSuchBucket)',
    );
    await service.kill();
    expect(await failing({})).toBe('Error: connection refused');
    await service.startAgain();
    await inPath().send(batch.slice(0, 1));
    expect(service.objects('audit').length).toBe(2);
  });

  test('the service refuses an object that changed on its way', async () => {
    const url = `${service.url}/audit/changed`;
    const headers = (body: string) => ({
      'content-md5': createHash('md5').update(body).digest('base64'),
      ...signS3('PUT', url, body, S3_KEY, Date.now()),
    });
    const put = (body: string) => fetch(url, { method: 'PUT', headers: headers('as signed'), body });
    expect((await put('as signed')).status).toBe(200);
    expect((await put('changed')).status).toBeGreaterThanOrEqual(400);
  });
});
