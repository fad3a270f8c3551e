// Secrets: makes and recognises tokens, hashes them for look-up, encrypts what must be read again, signs checkpoints,
// and computes the digest that binds an approval to its call. Whatever needs the master key is done here; other files
// only read it from the settings or its file.

import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  sign,
  timingSafeEqual,
} from 'node:crypto';
import { type DigestKey, digestKey } from '../core/flows/digests.ts';
import { canonicalJson } from '../core/wire/canonical.ts';
import type { Json } from '../core/wire/json.ts';

const TOKEN_PREFIXES = {
  key: 'tg_key_',
  session: 'tg_ses_',
  approval: 'tg_apr_',
  admin: 'tg_adm_',
  access: 'tg_oat_',
  refresh: 'tg_ort_',
  connect: 'tg_con_',
} as const;
export type TokenKind = keyof typeof TOKEN_PREFIXES;

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_CHARS = 43;
const CHECK_CHARS = 6;
const PREFIX_CHARS = 7;
const TOKEN = new RegExp(`^tg_(?:key|ses|apr|adm|oat|ort|con)_[0-9A-Za-z]{${RANDOM_CHARS + CHECK_CHARS}}$`);
const SHOWN_CHARS = 6;

interface Minted {
  token: string;
  hash: string;
  /** The part of the token that may be shown: its kind and the first few characters. */
  prefix: string;
}

export function mintToken(kind: TokenKind): Minted {
  return tokenOf(kind, randomBytes(32));
}

function tokenOf(kind: TokenKind, bytes: Buffer): Minted {
  const body = TOKEN_PREFIXES[kind] + base62(BigInt(`0x${bytes.toString('hex')}`), RANDOM_CHARS);
  const token = body + checksum(body);
  return { token, hash: hashToken(token), prefix: body.slice(0, PREFIX_CHARS + SHOWN_CHARS) };
}

/** The kind of a well-formed token. Null for anything else, which is refused without a look-up. */
export function tokenKind(token: string): TokenKind | null {
  if (!TOKEN.test(token)) return null;
  const body = token.slice(0, -CHECK_CHARS);
  if (checksum(body) !== token.slice(-CHECK_CHARS)) return null;
  const prefix = token.slice(0, PREFIX_CHARS);
  return (Object.keys(TOKEN_PREFIXES) as TokenKind[]).find(kind => TOKEN_PREFIXES[kind] === prefix) ?? null;
}

export function hashToken(token: string): string {
  return new Bun.CryptoHasher('sha256').update(token).digest('hex');
}

/** Whether two texts are equal. The time that it takes does not reveal where they differ. */
export function sameText(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(hashToken(a)), Buffer.from(hashToken(b)));
}

function checksum(body: string): string {
  return base62(BigInt(Bun.hash.crc32(body)), CHECK_CHARS);
}

function base62(value: bigint, length: number): string {
  let rest = value;
  let text = '';
  for (let index = 0; index < length; index++) {
    text = (BASE62[Number(rest % 62n)] as string) + text;
    rest /= 62n;
  }
  return text;
}

interface BoundCall {
  args: Json | undefined;
  continuation?: Json;
  agent?: { folder: string | null };
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** The bytes before the 32 secret bytes of an Ed25519 key in PKCS #8. */
const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** All operations that need the master key. One object is made at the start. */
export class Vault {
  readonly #encryption: Uint8Array;
  readonly #digest: Uint8Array;
  readonly #messages: Uint8Array;
  readonly #challenges: Uint8Array;
  readonly #exchange: Uint8Array;
  readonly #values: Uint8Array;
  readonly #details: Uint8Array;
  readonly #oauth: Uint8Array;
  readonly #runs: Uint8Array;
  readonly #idempotency: Uint8Array;
  readonly #checkpoints: KeyObject;
  readonly fingerprint: string;
  /** An Ed25519 key of 32 bytes. It is the same on every replica of a store, since they share the master key. */
  readonly checkpointPublicKey: Uint8Array;

  constructor(masterKey: Uint8Array) {
    // The labels go into the derived keys: with a changed label, nothing that is stored could be decrypted.
    this.#encryption = derive(masterKey, 'toolgate sealing');
    this.#digest = derive(masterKey, 'toolgate arguments digest');
    this.#values = derive(masterKey, 'toolgate values digest');
    this.#details = derive(masterKey, 'toolgate details digest');
    this.#messages = derive(masterKey, 'toolgate messages between replicas');
    this.#challenges = derive(masterKey, 'toolgate passkey challenges');
    this.#exchange = derive(masterKey, 'toolgate exchange between replicas');
    this.#oauth = derive(masterKey, 'toolgate authorization server');
    this.#runs = derive(masterKey, 'toolgate values of runs');
    this.#idempotency = derive(masterKey, 'toolgate idempotency keys');
    this.fingerprint = Buffer.from(derive(masterKey, 'toolgate fingerprint')).toString('hex').slice(0, 32);
    const pkcs8 = Buffer.concat([PKCS8_ED25519, derive(masterKey, 'toolgate checkpoints')]);
    this.#checkpoints = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
    const { x = '' } = createPublicKey(this.#checkpoints).export({ format: 'jwk' });
    this.checkpointPublicKey = new Uint8Array(Buffer.from(x, 'base64url'));
  }

  /**
   * Encrypts with AES-256-GCM. `about` is authenticated: an encrypted text that is moved to another row cannot be
   * decrypted.
   */
  encrypt(plain: string, about: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#encryption, nonce).setAAD(Buffer.from(about));
    const encrypted = Buffer.concat([
      nonce,
      cipher.update(plain, 'utf8'),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
    return encrypted.toString('base64');
  }

  decrypt(encrypted: string, about: string): string {
    const bytes = Buffer.from(encrypted, 'base64');
    const decipher = createDecipheriv('aes-256-gcm', this.#encryption, bytes.subarray(0, NONCE_BYTES));
    decipher.setAAD(Buffer.from(about)).setAuthTag(bytes.subarray(-TAG_BYTES));
    const plain = [decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()];
    return Buffer.concat(plain).toString('utf8');
  }

  /** Proves that a message comes from a replica, since only replicas have the master key. */
  messageMac(message: string): string {
    return createHmac('sha256', this.#messages).update(message).digest('base64url');
  }

  /** Proves that a challenge for a passkey was made here. */
  challengeMac(challenge: string): string {
    return createHmac('sha256', this.#challenges).update(challenge).digest('base64url');
  }

  /** Proves that this service, or a replica of it, wrote a text for one purpose of signing in with OAuth. */
  oauthMac(purpose: 'client' | 'consent' | 'server ticket', text: string): string {
    return createHmac('sha256', this.#oauth).update(`${purpose}\n${text}`).digest('base64url');
  }

  /** The token of a kind that follows from a refresh token. Without the master key nobody can compute it. */
  tokenAfter(kind: 'access' | 'refresh', refreshToken: string): Minted {
    return tokenOf(kind, createHmac('sha256', this.#oauth).update(`${kind} after\n${refreshToken}`).digest());
  }

  /** A key of one exchange between replicas. Nobody can derive it again once the shared secret is forgotten. */
  exchangeKey(sharedSecret: Uint8Array, about: string): Uint8Array {
    return new Uint8Array(hkdfSync('sha256', sharedSecret, this.#exchange, about, 32));
  }

  signCheckpoint(text: string): Uint8Array {
    return sign(null, Buffer.from(text), this.#checkpoints);
  }

  /**
   * Binds an approval to its call. Absent arguments equal `{}`; a call with a continuation is a different call, and so is
   * one that an agent makes in another folder.
   */
  callDigest({ args, continuation, agent }: BoundCall): string {
    const digest = createHmac('sha256', this.#digest).update(canonicalJson(args ?? {}));
    // A JSON text cannot contain a second one, so arguments alone never equal arguments with a continuation. No JSON text
    // begins with the word "folder" either.
    if (continuation !== undefined) digest.update(`\n${canonicalJson(continuation)}`);
    if (agent?.folder) digest.update(`\nfolder ${JSON.stringify(agent.folder)}`);
    return digest.digest('hex');
  }

  /** Stands for an idempotency key of a credential, for the call that it came with, or for what a tool server gets of both. */
  idempotencyDigest(of: 'key' | 'call' | 'sent', parts: readonly string[]): string {
    return createHmac('sha256', this.#idempotency)
      .update(JSON.stringify([of, ...parts]))
      .digest('base64url');
  }

  /** Stands for what an approver is shown of a call. It says nothing about the call to whoever has not the master key. */
  detailsDigest(what: readonly string[]): string {
    return createHmac('sha256', this.#details).update(what.join('\n')).digest('base64url');
  }

  /**
   * The key for digests of single values of the call that an approval is about. It differs between approvals, so that
   * their digests do not show which of them have equal values.
   */
  valueKey(approvalId: string): Uint8Array {
    return createHmac('sha256', this.#values).update(approvalId).digest();
  }

  /** The key for digests of the values that are known in a run. Equal values of two runs have different digests. */
  runKey(runId: string): DigestKey {
    return digestKey(createHmac('sha256', this.#runs).update(runId).digest());
  }
}

function derive(masterKey: Uint8Array, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', masterKey, new Uint8Array(), purpose, 32));
}
