// Whether a gateway signed the bytes of a request: an HMAC-SHA256, in hexadecimal digits, with a secret that both sides
// share. Where the secret is set, a request of that gateway has to be signed besides carrying a key.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { GuardError } from '../../core/errors.ts';
import { isRecent } from '../../guard/approvals/notify/slack-bot/signature.ts';
import type { Signed } from '../route.ts';

/** ToolHive signs the time, a dot and the body. A request that is older than 5 minutes, or from the future, is refused. */
export const signedByToolHive: Signed = (body, request, { config, deps }) => {
  const { toolhiveSecret } = config;
  if (toolhiveSecret === null) return;
  const time = request.headers.get('x-toolhive-timestamp') ?? '';
  const signature = request.headers.get('x-toolhive-signature') ?? '';
  if (!isRecent(time, deps.now()) || !signature.startsWith('sha256=')) throw unsigned('ToolHive');
  const text = Buffer.concat([Buffer.from(`${time}.`), body]);
  if (!isHmac(toolhiveSecret, text, signature.slice('sha256='.length))) throw unsigned('ToolHive');
};

/** Obot signs the body alone, so that an old request cannot be told from a new one. */
export const signedByObot: Signed = (body, request, { config }) => {
  const { obotSecret } = config;
  if (obotSecret === null) return;
  const signature = request.headers.get('x-obot-signature-256') ?? '';
  if (!isHmac(obotSecret, body, signature.replace(/^sha256=/, ''))) throw unsigned('Obot');
};

function isHmac(secret: string, text: Uint8Array, given: string): boolean {
  const wanted = Buffer.from(createHmac('sha256', secret).update(text).digest('hex'));
  const offered = Buffer.from(given);
  return offered.length === wanted.length && timingSafeEqual(offered, wanted);
}

function unsigned(gateway: string): GuardError {
  return new GuardError('unauthenticated', `This request is not signed by ${gateway}, or it is too old.`);
}
