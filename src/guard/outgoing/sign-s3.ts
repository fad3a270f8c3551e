// Signs requests to S3 and compatible services (AWS Signature Version 4, in headers). send.ts sends the signed request.

import { createHash, createHmac } from 'node:crypto';

export interface S3Key {
  id: string;
  secret: string;
  region: string;
}

/**
 * The headers of one request with exactly this body. The signature is valid for a quarter of an hour. `more` are further
 * headers to sign, with names in lower case: services refuse a header `x-amz-…` that is not signed.
 */
export function signS3(
  method: string,
  address: string,
  body: string | Uint8Array,
  key: S3Key,
  now: number,
  more: Record<string, string> = {},
): Record<string, string> {
  const url = new URL(address);
  const time = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '');
  const scope = `${time.slice(0, 8)}/${key.region}/s3/aws4_request`;
  const digest = sha256(body);
  const headers: Record<string, string> = { ...more, 'x-amz-content-sha256': digest, 'x-amz-date': time };
  const signed = Object.entries({ ...headers, host: url.host }).sort(([a], [b]) => (a < b ? -1 : 1));
  const names = signed.map(([name]) => name).join(';');
  const lines = signed.map(([name, value]) => `${name}:${value}`);
  const request = [
    method,
    escaped(decodeURIComponent(url.pathname)).replaceAll('%2F', '/'),
    query(url),
    ...lines,
    '',
    names,
    digest,
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

function sha256(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
