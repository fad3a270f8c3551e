// Receivers of the shipped audit log in the server file, for each type: what is read, and what stops a start. No message
// quotes an address or a key.

import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, loadConfig } from '../../src/settings/config.ts';

const folder = mkdtempSync(join(tmpdir(), 'toolgate-receivers-'));
const file = join(folder, 'toolgate.yaml');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function read(target: object) {
  writeFileSync(file, JSON.stringify({ shipping: { archive: target } }));
  return loadConfig({}, folder).config.shipping['archive'] as object;
}

function complaint(target: object): string {
  try {
    read(target);
  } catch (error) {
    if (error instanceof ConfigError) return error.message.replace(`${file}: shipping.archive`, '');
    throw error;
  }
  throw new Error(`it was accepted: ${JSON.stringify(target)}`);
}

const SECRET = 'canary/of+a=secret';
const S3 = {
  type: 's3',
  url: 'https://s3.eu-central-1.amazonaws.com/my-bucket/',
  region: 'eu-central-1',
  keyId: 'AKIDEXAMPLE',
  secret: SECRET,
};

test('s3: a bucket, with what is left out', () => {
  const key = { id: 'AKIDEXAMPLE', secret: SECRET, region: 'eu-central-1' };
  const url = 'https://s3.eu-central-1.amazonaws.com/my-bucket';
  const left = { prefix: '', everyMs: 300_000, schema: 'native' };
  expect(read(S3)).toEqual({ type: 's3', url, key, ...left });
  const more = { prefix: 'logs/toolgate', every: '1h', schema: 'ocsf' };
  expect(read({ ...S3, ...more })).toMatchObject({
    prefix: 'logs/toolgate',
    everyMs: 3_600_000,
    schema: 'ocsf',
  });
});

test('s3: what is missing or wrong stops the start', () => {
  const wrong: [object, string][] = [
    [{ url: undefined }, ' needs "url", the address of the bucket.'],
    [{ url: `s3://${SECRET}` }, '.url must be an http:// or https:// address'],
    [{ url: `https://example.com/?${SECRET}` }, '.url must end with the bucket'],
    [{ keyId: undefined }, ' needs "keyId"'],
    [{ keyId: 'with space' }, '.keyId must be the id of the access key, as a text.'],
    [{ secret: 12 }, '.secret must be the secret of the access key, as a text.'],
    [{ region: 'EU Central' }, '.region must be the region of the bucket, such as eu-central-1, as a text.'],
    [{ prefix: '/logs' }, '.prefix must be names'],
    [{ prefix: 'logs/../other' }, '.prefix must be names'],
    [{ prefix: 'a b' }, '.prefix must be names'],
    [{ every: '2h' }, '.every must be a duration from 1s to 1h, such as 5m.'],
    [{ every: 300 }, '.every must be a duration from 1s to 1h, such as 5m.'],
    [{ headers: {} }, ' has the unknown field "headers"; known with type s3: type, url, region,'],
  ];
  for (const [change, sentence] of wrong) {
    const found = complaint({ ...S3, ...change });
    expect(found).toStartWith(sentence);
    expect(found).not.toContain(SECRET);
  }
});

test('otlp: a collector, whose path for log records need not be named', () => {
  const collector = (url: string, more = {}) => read({ type: 'otlp', url, ...more });
  const left = { type: 'otlp', headers: {}, compress: false, schema: 'native' };
  for (const url of ['http://collector:4318', 'http://collector:4318/'])
    expect(collector(url)).toEqual({ ...left, url: 'http://collector:4318/v1/logs' });
  const headers = { Authorization: SECRET };
  expect(collector('https://example.com/otlp/v1/logs', { headers, compress: true, schema: 'ocsf' })).toEqual({
    type: 'otlp',
    url: 'https://example.com/otlp/v1/logs',
    headers,
    compress: true,
    schema: 'ocsf',
  });
  expect(complaint({ type: 'otlp' })).toBe(' needs "url", the address of the collector.');
  expect(complaint({ type: 'otlp', url: 'grpc://collector:4317' })).toStartWith('.url must be an http://');
  expect(complaint({ type: 'otlp', url: 'http://a', token: SECRET })).toStartWith(
    ' has the unknown field "token"',
  );
});

test('syslog: a server, by both forms of its address', () => {
  const server = (url: string, more = {}) => read({ type: 'syslog', url, ...more });
  const left = { type: 'syslog', caFile: null, schema: 'native' };
  expect(server('tls://logs.example.com')).toEqual({ ...left, host: 'logs.example.com', port: 6514 });
  expect(server('syslog+tls://10.0.0.7:443/')).toEqual({ ...left, host: '10.0.0.7', port: 443 });
  expect(server('tls://[::1]:16514', { caFile: '/etc/ca.pem', schema: 'ocsf' })).toEqual({
    type: 'syslog',
    host: '::1',
    port: 16514,
    caFile: '/etc/ca.pem',
    schema: 'ocsf',
  });
});

test('syslog: without TLS, with anything after the host, or without a host it is refused', () => {
  const odd = [
    'tcp://a.example',
    'udp://a.example',
    'https://a.example',
    'tls://',
    'tls://a.example/path',
    'a:6514',
  ];
  for (const url of [
    ...odd,
    'tls://user@a.example',
    'tls://a.example?x',
    'tls://a.example:0',
    'tls://a:99999',
    7,
  ])
    expect(complaint({ type: 'syslog', url })).toStartWith(
      '.url must be tls://<host> or syslog+tls://<host>',
    );
  expect(complaint({ type: 'syslog' })).toBe(' needs "url", the address of the server.');
  expect(complaint({ type: 'syslog', url: 'tls://a.example', caFile: 1 })).toStartWith(
    '.caFile must be the path',
  );
});

test('every server file in docs/shipping.md can be read', () => {
  const page = readFileSync(join(import.meta.dir, '../../docs/shipping.md'), 'utf8');
  const files = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text]) => text as string);
  const types = files.flatMap(text => {
    writeFileSync(file, text);
    return Object.values(loadConfig({}, folder).config.shipping).map(each => each.type);
  });
  expect(types).toEqual(['http', 'http', 'http', 's3', 'otlp', 'syslog']);
});
