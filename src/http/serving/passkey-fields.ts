// What browsers answer for a passkey, as bodies of requests, and the address that passkeys are bound to. Browsers send
// more fields than these, and future ones may add others: they are left out.

import { z } from 'zod';
import { GuardError } from '../../core/errors.ts';
import type { RelyingParty } from '../../guard/people/passkey-responses.ts';
import { rpOf } from '../../guard/people/passkeys.ts';
import type { Services } from './services.ts';

const base64url = (max: number) =>
  z
    .string()
    .max(max)
    .regex(/^[A-Za-z0-9_-]*$/, 'must be base64url');

/** 1023 bytes, the most that WebAuthn allows. */
const MAX_ID = 1364;

const shared = {
  id: base64url(MAX_ID).min(1),
  rawId: base64url(MAX_ID).min(1),
  type: z.literal('public-key'),
};

export const madePasskey = z
  .object({
    ...shared,
    response: z.object({
      clientDataJSON: base64url(8000),
      attestationObject: base64url(16_000),
      transports: z
        .array(z.string().regex(/^[a-z-]{1,32}$/, 'must be a transport'))
        .max(10)
        .optional(),
    }),
  })
  .meta({ description: 'What `toJSON()` gives of the credential that the browser made.' });

export const signedChallenge = z
  .object({
    ...shared,
    response: z.object({
      clientDataJSON: base64url(8000),
      authenticatorData: base64url(8000),
      signature: base64url(4000),
      userHandle: base64url(100).nullish(),
    }),
  })
  .meta({ description: 'What `toJSON()` gives of the credential that the browser got.' });

/** The options for the browser: WebAuthn defines their fields. */
export const browserOptions = (read: string) =>
  z.looseObject({ challenge: z.string() }).meta({ description: `For \`PublicKeyCredential.${read}()\`.` });

export function requireRp({ config }: Services, request: Request): RelyingParty {
  const rp = rpOf(config, request);
  if (rp !== null) return rp;
  throw new GuardError(
    'conflict',
    'Browsers offer passkeys only for a name over https, and for localhost. Set TOOLGATE_PUBLIC_URL to such an address.',
  );
}
