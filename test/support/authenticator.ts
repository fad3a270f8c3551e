// A software authenticator: makes passkeys and signs with them, as a browser with a security key would, so that most
// tests of passkeys need no browser. Everything that a wrong or hostile one could do can be asked for.

import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import type { MadePasskey, SignedChallenge } from '../../src/guard/people/passkey-responses.ts';

const USER_PRESENT = 1;
const USER_VERIFIED = 4;
const HAS_CREDENTIAL = 64;

/** What differs from an honest answer. */
export interface Oddities {
  origin?: string;
  rpId?: string;
  type?: string;
  crossOrigin?: boolean;
  /** Without it the counter counts by itself, unless the authenticator does not count. */
  counter?: number;
  userVerified?: boolean;
  userPresent?: boolean;
  /** The answer names another passkey than the one that signs. */
  id?: string;
  userHandle?: string | null;
  challenge?: string;
}

export interface CreationOptions {
  challenge: string;
  rp: { id: string };
  user: { id: string };
}

export interface RequestOptions {
  challenge: string;
  rpId: string;
}

type Algorithm = 'ES256' | 'Ed25519' | 'RS256';

/** One passkey on a device. `origin` is the address of the page that its browser shows. */
export class Authenticator {
  readonly id = randomBytes(32).toString('base64url');
  readonly origin: string;
  readonly #algorithm: Algorithm;
  readonly #counts: boolean;
  readonly #publicKey: KeyObject;
  readonly #privateKey: KeyObject;
  #userHandle = '';
  #counter = 0;

  /** Most authenticators of today do not count: they always report 0. */
  constructor(origin: string, options: { algorithm?: Algorithm; counts?: boolean } = {}) {
    this.origin = origin;
    this.#algorithm = options.algorithm ?? 'ES256';
    this.#counts = options.counts ?? false;
    const { publicKey, privateKey } = newKeys(this.#algorithm);
    this.#publicKey = publicKey;
    this.#privateKey = privateKey;
  }

  /** What `navigator.credentials.create` answers, as JSON. */
  make(options: CreationOptions, odd: Oddities & { format?: string } = {}): MadePasskey {
    this.#userHandle = options.user.id;
    const id = Buffer.from(this.id, 'base64url');
    const length = Buffer.from([id.length >> 8, id.length & 255]);
    const credential = Buffer.concat([Buffer.alloc(16), length, id, this.#cose()]);
    const authData = Buffer.concat([this.#head(odd.rpId ?? options.rp.id, HAS_CREDENTIAL, odd), credential]);
    const attestationObject = cbor(
      new Map<string, Cbor>([
        ['fmt', odd.format ?? 'none'],
        ['attStmt', new Map()],
        ['authData', authData],
      ]),
    );
    return {
      ...this.#names(odd),
      response: {
        clientDataJSON: this.#clientData('webauthn.create', options.challenge, odd).toString('base64url'),
        attestationObject: attestationObject.toString('base64url'),
        transports: ['internal'],
      },
    };
  }

  /** What `navigator.credentials.get` answers, as JSON. */
  sign(options: RequestOptions, odd: Oddities = {}): SignedChallenge {
    const clientData = this.#clientData('webauthn.get', options.challenge, odd);
    const authData = this.#head(odd.rpId ?? options.rpId, 0, odd);
    const signed = Buffer.concat([authData, createHash('sha256').update(clientData).digest()]);
    const hash = this.#algorithm === 'Ed25519' ? null : 'sha256';
    return {
      ...this.#names(odd),
      response: {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: authData.toString('base64url'),
        signature: sign(hash, signed, this.#privateKey).toString('base64url'),
        userHandle: odd.userHandle === undefined ? this.#userHandle : odd.userHandle,
      },
    };
  }

  #names({ id = this.id }: Oddities) {
    return { id, rawId: id, type: 'public-key' as const };
  }

  #clientData(type: string, challenge: string, odd: Oddities): Buffer {
    const { origin = this.origin, crossOrigin = false } = odd;
    return Buffer.from(
      JSON.stringify({ type: odd.type ?? type, challenge: odd.challenge ?? challenge, origin, crossOrigin }),
    );
  }

  #head(rpId: string, flags: number, odd: Oddities): Buffer {
    const present = odd.userPresent === false ? 0 : USER_PRESENT;
    const verified = odd.userVerified === false ? 0 : USER_VERIFIED;
    if (this.#counts) this.#counter++;
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(odd.counter ?? this.#counter);
    const hash = createHash('sha256').update(rpId).digest();
    return Buffer.concat([hash, Buffer.from([flags | present | verified]), counter]);
  }

  /** The public key in the form that WebAuthn wants (COSE). */
  #cose(): Buffer {
    const { x = '', y = '', n = '', e = '' } = this.#publicKey.export({ format: 'jwk' });
    const bytes = (value: string) => Buffer.from(value, 'base64url');
    const fields: Record<Algorithm, [number, Cbor][]> = {
      ES256: [
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, bytes(x)],
        [-3, bytes(y)],
      ],
      Ed25519: [
        [1, 1],
        [3, -8],
        [-1, 6],
        [-2, bytes(x)],
      ],
      RS256: [
        [1, 3],
        [3, -257],
        [-1, bytes(n)],
        [-2, bytes(e)],
      ],
    };
    return cbor(new Map(fields[this.#algorithm]));
  }
}

function newKeys(algorithm: Algorithm): { publicKey: KeyObject; privateKey: KeyObject } {
  if (algorithm === 'Ed25519') return generateKeyPairSync('ed25519');
  if (algorithm === 'RS256') return generateKeyPairSync('rsa', { modulusLength: 2048 });
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

type Cbor = number | string | Uint8Array | Map<string | number, Cbor>;

/** The few kinds of CBOR that occur in a passkey. */
export function cbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value);
  if (typeof value === 'string')
    return Buffer.concat([cborHead(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Map) {
    const pairs = [...value].flatMap(([key, held]) => [cbor(key), cbor(held)]);
    return Buffer.concat([cborHead(5, value.size), ...pairs]);
  }
  return Buffer.concat([cborHead(2, value.length), value]);
}

function cborHead(major: number, size: number): Buffer {
  const kind = major << 5;
  if (size < 24) return Buffer.from([kind | size]);
  if (size < 256) return Buffer.from([kind | 24, size]);
  return Buffer.from([kind | 25, size >> 8, size & 255]);
}
