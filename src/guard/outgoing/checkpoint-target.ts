// Sends a checkpoint to a place outside the operator's control: a POST or PUT of the signed note to a URL, which may be
// an S3 bucket. log/sealer.ts decides when to try again.

import { createHash } from 'node:crypto';
import type { CheckpointRecord } from '../../store/log/checkpoints.ts';
import type { TargetRules } from './addresses.ts';
import { ATTEMPT_MS, SendError, sendBody } from './send.ts';
import { type S3Key, signS3 } from './sign-s3.ts';

export interface CheckpointTarget {
  /** `{size}` in it stands for the number of entries. */
  url: string;
  method: 'POST' | 'PUT';
  authorization: string | null;
  s3: S3Key | null;
  rules: TargetRules;
}

/** Throws unless the target accepted the checkpoint. */
export async function sendCheckpoint(
  { url, method, authorization, s3, rules }: CheckpointTarget,
  { size, note }: CheckpointRecord,
  now: number,
): Promise<void> {
  const address = url.replaceAll('{size}', String(size));
  // S3 buckets with object lock require a digest of the body.
  const headers: Record<string, string> = { 'content-md5': createHash('md5').update(note).digest('base64') };
  if (authorization !== null) headers['authorization'] = authorization;
  if (s3 !== null) Object.assign(headers, signS3(method, address, note, s3, now));
  const contentType = 'text/plain; charset=utf-8';
  const request = { url: address, method, headers, body: note, contentType, timeoutMs: ATTEMPT_MS, rules };
  const { status } = await sendBody(request);
  if (status < 200 || status > 299) throw new SendError(`the target answered ${status}`);
}
