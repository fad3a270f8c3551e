// The messages with which replicas ask each other for the details of a call. Users of the database can read, repeat and
// forge them, so each carries a MAC, and an answer is encrypted for a key that exists for one question only: once the
// asker has let it go, nobody can decrypt the answer, not even with the master key. details-exchange.ts sends them.

import {
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { sameText, type Vault } from '../secrets.ts';

/** How far the clocks of two replicas may be apart. A question is also refused once it is this old. */
export const FRESH_MS = 120_000;
/** Characters of a part; with the rest of the message it stays below the 8,000 bytes of a notification. */
const PART_CHARS = 7000;
/** The length of an answer is one of a few sizes, so that it says little about the details. */
const SIZES = [4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288, 1_048_576, 2_097_152];
const LENGTH_BYTES = 4;
const TAG_BYTES = 16;
/** A key encrypts one answer, so no number has to be used only once. */
const NONCE = new Uint8Array(12);
const MOST_PARTS = Math.ceil((((SIZES.at(-1) as number) + TAG_BYTES) * 4) / 3 / PART_CHARS);

export interface Question {
  referenceId: string;
  /** Names the question; it is never used twice. */
  id: string;
  at: number;
  /** The public key that the answer is encrypted for. */
  key: string;
  /** The message. Answers are bound to it. */
  text: string;
}

const ID = '[A-Za-z0-9_-]{22}';
const KEY = '[A-Za-z0-9_-]{43}';
const QUESTION = new RegExp(`^([0-9a-f-]{36}) (${ID}) ([0-9]{1,15}) (${KEY}) (${KEY})$`);
const PART = new RegExp(
  `^(${ID}) (${KEY}) ([0-9]{1,3}) ([0-9]{1,3}) ([A-Za-z0-9_-]{1,${PART_CHARS}}) (${KEY})$`,
);
const ENDED = new RegExp(`^([0-9a-f-]{36}) (${KEY})$`);

/** A question and the private key that opens its answer. */
export function newQuestion(
  vault: Vault,
  referenceId: string,
  now: number,
): { question: Question; privateKey: KeyObject } {
  const { publicKey, privateKey } = generateKeyPairSync('x25519');
  const id = randomBytes(16).toString('base64url');
  const key = textOf(publicKey);
  const text = withMac(vault, 'question', `${referenceId} ${id} ${now} ${key}`);
  return { question: { referenceId, id, at: now, key, text }, privateKey };
}

/** Null unless a replica sent the question, and just now. The caller finds out whether it was received before. */
export function readQuestion(vault: Vault, text: string, now: number): Question | null {
  const [whole, referenceId = '', id = '', at = '', key = ''] = QUESTION.exec(text) ?? [];
  if (whole === undefined || !hasMac(vault, 'question', text)) return null;
  if (Math.abs(now - Number(at)) > FRESH_MS) return null;
  return { referenceId, id, at: Number(at), key, text };
}

/** The messages that answer a question. None if the details are larger than details can be. */
export function answerTo(vault: Vault, question: Question, details: Uint8Array): string[] {
  const size = SIZES.find(each => each >= details.length + LENGTH_BYTES);
  if (size === undefined) return [];
  const padded = new Uint8Array(size);
  new DataView(padded.buffer).setUint32(0, details.length);
  padded.set(details, LENGTH_BYTES);
  const { publicKey, privateKey } = generateKeyPairSync('x25519');
  const own = textOf(publicKey);
  const key = exchangeKey(vault, question, own, privateKey, question.key);
  const cipher = createCipheriv('aes-256-gcm', key, NONCE).setAAD(Buffer.from(question.text));
  const encrypted = Buffer.concat([cipher.update(padded), cipher.final(), cipher.getAuthTag()]);
  padded.fill(0);
  key.fill(0);
  const data = encrypted.toString('base64url');
  const count = Math.ceil(data.length / PART_CHARS);
  return Array.from({ length: count }, (_, index) => {
    const part = data.slice(index * PART_CHARS, (index + 1) * PART_CHARS);
    return withMac(vault, 'answer', `${question.id} ${own} ${index} ${count} ${part}`);
  });
}

export interface Part {
  questionId: string;
  /** The public key of the replica that answers, which is new for each answer. */
  key: string;
  index: number;
  count: number;
  data: string;
}

/** The question that a message claims to answer. It costs little, and most messages are for other replicas. */
export const questionIdOf = (text: string): string => text.slice(0, text.indexOf(' '));

/** Null unless a replica sent it. */
export function readPart(vault: Vault, text: string): Part | null {
  const [whole, questionId = '', key = '', index = '', count = '', data = ''] = PART.exec(text) ?? [];
  if (whole === undefined || !hasMac(vault, 'answer', text)) return null;
  if (Number(count) > MOST_PARTS || Number(index) >= Number(count)) return null;
  return { questionId, key, index: Number(index), count: Number(count), data };
}

/** Null if these are not the parts of one answer to this question. */
export function openAnswer(
  vault: Vault,
  question: Question,
  privateKey: KeyObject,
  parts: readonly Part[],
): Uint8Array | null {
  try {
    const from = parts[0]?.key ?? '';
    const encrypted = Buffer.from(parts.map(each => each.data).join(''), 'base64url');
    const key = exchangeKey(vault, question, from, privateKey, from);
    const decipher = createDecipheriv('aes-256-gcm', key, NONCE).setAAD(Buffer.from(question.text));
    decipher.setAuthTag(encrypted.subarray(-TAG_BYTES));
    const padded = decipher.update(encrypted.subarray(0, -TAG_BYTES));
    decipher.final();
    const details = new Uint8Array(padded.subarray(LENGTH_BYTES, LENGTH_BYTES + padded.readUInt32BE(0)));
    padded.fill(0);
    key.fill(0);
    return details;
  } catch {
    return null;
  }
}

/** Says that an approval has ended. That stays true, so the message may be repeated by anybody. */
export const endedMessage = (vault: Vault, referenceId: string): string =>
  withMac(vault, 'ended', referenceId);

export function readEnded(vault: Vault, text: string): string | null {
  const referenceId = ENDED.exec(text)?.[1];
  return referenceId !== undefined && hasMac(vault, 'ended', text) ? referenceId : null;
}

type Kind = 'question' | 'answer' | 'ended';

function withMac(vault: Vault, kind: Kind, message: string): string {
  return `${message} ${vault.messageMac(`details ${kind} ${message}`)}`;
}

function hasMac(vault: Vault, kind: Kind, text: string): boolean {
  const end = text.lastIndexOf(' ');
  return end > 0 && sameText(text, withMac(vault, kind, text.slice(0, end)));
}

function exchangeKey(
  vault: Vault,
  question: Question,
  answering: string,
  privateKey: KeyObject,
  publicKey: string,
): Uint8Array {
  const jwk = { kty: 'OKP', crv: 'X25519', x: publicKey };
  const secret = diffieHellman({ privateKey, publicKey: createPublicKey({ key: jwk, format: 'jwk' }) });
  const key = vault.exchangeKey(secret, `details ${question.text} ${answering}`);
  secret.fill(0);
  return key;
}

function textOf(publicKey: KeyObject): string {
  return publicKey.export({ format: 'jwk' }).x as string;
}
