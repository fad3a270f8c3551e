// Signs requests to S3 and compatible services (AWS Signature Version 4, in headers). send.ts sends the signed request.

import { createHash, createHmac } from 'node:crypto';

export interface S3Key {
  id: string;
  secret: string;
  region: string;
}

/** The headers of one request with exactly this body. The signature is valid for a quarter of an hour. */
export function signS3(
  method: string,
  address: string,
  body: string,
  key: S3Key,
  now: number,
): Record<string, string> {
  const url = new URL(address);
  const time = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '');
  const scope = `${time.slice(0, 8)}/${key.region}/s3/aws4_request`;
  const headers = { 'x-amz-content-sha256': sha256(body), 'x-amz-date': time };
  const names = ['host', ...Object.keys(headers)].join(';');
  const lines = [`host:${url.host}`, ...Object.entries(headers).map(([name, value]) => `${name}:${value}`)];
  const request = [
    method,
    escaped(decodeURIComponent(url.pathname)).replaceAll('%2F', '/'),
    query(url),
    ...lines,
    '',
    names,
    headers['x-amz-content-sha256'],
  ].join('\n');
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(request)].join('\n');
  const signature = hmac(signingKey(key, time.slice(0, 8)), text).toString('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${key.id}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...headers, authorization };
}

function signingKey({ secret, region }: S3Key, day: string): Buffer {
  return ['s3', 'aws4_request'].reduce(hmac, hmac(hmac(`AWS4${secret}`, day), region));
}

function query(url: URL): string {
  const pairs = [...url.searchParams].map(([name, value]) => `${escaped(name)}=${escaped(value)}`);
  return pairs.sort().join('&');
}

/** Escapes all characters except letters, digits and `-._~`. */
function escaped(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    char => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
