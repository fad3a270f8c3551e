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

type Attestation = 'none' | 'packed' | 'fido-u2f';

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
  make(options: CreationOptions, odd: Oddities & { attests?: Attestation } = {}): MadePasskey {
    this.#userHandle = options.user.id;
    const id = Buffer.from(this.id, 'base64url');
    const length = Buffer.from([id.length >> 8, id.length & 255]);
    const credential = Buffer.concat([Buffer.alloc(16), length, id, this.#cose()]);
    const authData = Buffer.concat([this.#head(odd.rpId ?? options.rp.id, HAS_CREDENTIAL, odd), credential]);
    const clientData = this.#clientData('webauthn.create', options.challenge, odd);
    const format = odd.attests ?? 'none';
    const attestationObject = cbor(
      new Map<string, Cbor>([
        ['fmt', format],
        ['attStmt', this.#statement(format, authData, sha256(clientData))],
        ['authData', authData],
      ]),
    );
    return {
      ...this.#names(odd),
      response: {
        clientDataJSON: clientData.toString('base64url'),
        attestationObject: attestationObject.toString('base64url'),
        transports: ['internal'],
      },
    };
  }

  /** What `navigator.credentials.get` answers, as JSON. */
  sign(options: RequestOptions, odd: Oddities = {}): SignedChallenge {
    const clientData = this.#clientData('webauthn.get', options.challenge, odd);
    const authData = this.#head(odd.rpId ?? options.rpId, 0, odd);
    const signed = Buffer.concat([authData, sha256(clientData)]);
    return {
      ...this.#names(odd),
      response: {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: authData.toString('base64url'),
        signature: this.#sign(signed).toString('base64url'),
        userHandle: odd.userHandle === undefined ? this.#userHandle : odd.userHandle,
      },
    };
  }

  #sign(bytes: Buffer): Buffer {
    return sign(this.#algorithm === 'Ed25519' ? null : 'sha256', bytes, this.#privateKey);
  }

  /** What an authenticator says about itself: nothing, that the new key has signed, or a certificate of its maker. */
  #statement(format: Attestation, authData: Buffer, clientHash: Buffer): Map<string, Cbor> {
    if (format === 'none') return new Map();
    const alg: [string, Cbor] = ['alg', -7];
    if (format === 'packed')
      return new Map([alg, ['sig', this.#sign(Buffer.concat([authData, clientHash]))]]);
    const { x = '', y = '' } = this.#publicKey.export({ format: 'jwk' });
    const point = Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
    const id = Buffer.from(this.id, 'base64url');
    const signed = Buffer.concat([Buffer.from([0]), authData.subarray(0, 32), clientHash, id, point]);
    return new Map<string, Cbor>([
      ['sig', this.#sign(signed)],
      ['x5c', [certificateOf(this.#publicKey)]],
    ]);
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
    return Buffer.concat([sha256(rpId), Buffer.from([flags | present | verified]), counter]);
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

const sha256 = (text: string | Buffer): Buffer => createHash('sha256').update(text).digest();

type Cbor = number | string | Uint8Array | Cbor[] | Map<string | number, Cbor>;

/** The few kinds of CBOR that occur in a passkey. */
export function cbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value);
  if (typeof value === 'string')
    return Buffer.concat([cborHead(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Array.isArray(value)) return Buffer.concat([cborHead(4, value.length), ...value.map(cbor)]);
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

/** A certificate of a P-256 key that nobody has signed. */
function certificateOf(key: KeyObject): Buffer {
  const bytes = (hex: string) => Buffer.from(hex, 'hex');
  const ecdsa = der(0x30, der(0x06, bytes('2a8648ce3d040302')));
  const day = (text: string) => der(0x17, Buffer.from(`${text}000000Z`));
  const name = der(0x30);
  const spki = key.export({ type: 'spki', format: 'der' });
  const times = der(0x30, day('200101'), day('491231'));
  const body = der(0x30, der(0x02, bytes('01')), ecdsa, name, times, name, spki);
  return der(0x30, body, ecdsa, der(0x03, bytes('0000')));
}

function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const size = body.length < 128 ? [body.length] : [0x82, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}
