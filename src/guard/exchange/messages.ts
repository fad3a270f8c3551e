// The messages with which replicas ask each other for bytes that one of them holds under an id. Users of the database can
// read, repeat and forge them, so each carries a MAC, and an answer is encrypted for a key that exists for one question
// only: once the asker has let it go, nobody can decrypt the answer, not even with the master key. exchange.ts sends them.

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
import { type Kind, largestOf } from './kinds.ts';

/** How far the clocks of two replicas may be apart. A question is also refused once it is this old. */
export const FRESH_MS = 120_000;
/** Bytes of an answer in one part, and the characters that they become. The whole message stays below 8,000 bytes. */
const PART_BYTES = 5250;
export const PART_CHARS = (PART_BYTES * 4) / 3;
const LENGTH_BYTES = 4;
const TAG_BYTES = 16;
/** A key encrypts one answer, so no number has to be used only once. */
const NONCE = new Uint8Array(12);

export interface Question {
  /** What is asked for. */
  about: string;
  /** Names the question; it is never used twice. */
  id: string;
  at: number;
  /** The public key that the answer is encrypted for. */
  key: string;
  /** The message. Answers are bound to it. */
  text: string;
}

const ABOUT = '[0-9a-f-]{36}';
const ID = '[A-Za-z0-9_-]{22}';
const KEY = '[A-Za-z0-9_-]{43}';
const QUESTION = new RegExp(`^(${ABOUT}) (${ID}) ([0-9]{1,15}) (${KEY}) (${KEY})$`);
const PART = new RegExp(
  `^(${ID}) (${KEY}) ([0-9]{1,4}) ([0-9]{1,4}) ([A-Za-z0-9_-]{1,${PART_CHARS}}) (${KEY})$`,
);
const BUSY = new RegExp(`^(${ID}) (${KEY})$`);
const ENDED = new RegExp(`^(${ABOUT}) (${KEY})$`);

/** A question and the private key that opens its answer. */
export function newQuestion(
  vault: Vault,
  kind: Kind,
  about: string,
  now: number,
): { question: Question; privateKey: KeyObject } {
  const { publicKey, privateKey } = generateKeyPairSync('x25519');
  const id = randomBytes(16).toString('base64url');
  const key = textOf(publicKey);
  const text = withMac(vault, kind, 'question', `${about} ${id} ${now} ${key}`);
  return { question: { about, id, at: now, key, text }, privateKey };
}

/** Null unless a replica sent the question, and just now. The caller finds out whether it was received before. */
export function readQuestion(vault: Vault, kind: Kind, text: string, now: number): Question | null {
  const [whole, about = '', id = '', at = '', key = ''] = QUESTION.exec(text) ?? [];
  if (whole === undefined || !hasMac(vault, kind, 'question', text)) return null;
  if (Math.abs(now - Number(at)) > FRESH_MS) return null;
  return { about, id, at: Number(at), key, text };
}

/** The messages that answer a question, each made when it is taken. None if the bytes are too many for this kind. */
export function* answerTo(
  vault: Vault,
  kind: Kind,
  question: Question,
  bytes: Uint8Array,
): Generator<string, void> {
  const size = kind.sizes.find(each => each >= bytes.length + LENGTH_BYTES);
  if (size === undefined) return;
  const padded = new Uint8Array(size);
  new DataView(padded.buffer).setUint32(0, bytes.length);
  padded.set(bytes, LENGTH_BYTES);
  const { publicKey, privateKey } = generateKeyPairSync('x25519');
  const own = textOf(publicKey);
  const key = exchangeKey(vault, kind, question, own, privateKey, question.key);
  const cipher = createCipheriv('aes-256-gcm', key, NONCE).setAAD(Buffer.from(question.text));
  const encrypted = Buffer.concat([cipher.update(padded), cipher.final(), cipher.getAuthTag()]);
  padded.fill(0);
  key.fill(0);
  const count = partsOf(size);
  for (let index = 0; index < count; index++) {
    const part = encrypted.toString('base64url', index * PART_BYTES, (index + 1) * PART_BYTES);
    yield withMac(vault, kind, 'answer', `${question.id} ${own} ${index} ${count} ${part}`);
  }
}

const partsOf = (size: number): number => Math.ceil((size + TAG_BYTES) / PART_BYTES);

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
export function readPart(vault: Vault, kind: Kind, text: string): Part | null {
  const [whole, questionId = '', key = '', index = '', count = '', data = ''] = PART.exec(text) ?? [];
  if (whole === undefined || !hasMac(vault, kind, 'answer', text)) return null;
  if (Number(count) > partsOf(largestOf(kind)) || Number(index) >= Number(count)) return null;
  return { questionId, key, index: Number(index), count: Number(count), data };
}

/** Null if these are not all parts, in order, of one answer to this question. */
export function openAnswer(
  vault: Vault,
  kind: Kind,
  question: Question,
  privateKey: KeyObject,
  parts: readonly Part[],
): Uint8Array | null {
  try {
    const from = parts[0]?.key ?? '';
    const encrypted = Buffer.concat(parts.map(each => Buffer.from(each.data, 'base64url')));
    const key = exchangeKey(vault, kind, question, from, privateKey, from);
    const decipher = createDecipheriv('aes-256-gcm', key, NONCE).setAAD(Buffer.from(question.text));
    decipher.setAuthTag(encrypted.subarray(-TAG_BYTES));
    const padded = decipher.update(encrypted.subarray(0, -TAG_BYTES));
    decipher.final();
    const bytes = new Uint8Array(padded.subarray(LENGTH_BYTES, LENGTH_BYTES + padded.readUInt32BE(0)));
    padded.fill(0);
    key.fill(0);
    return bytes;
  } catch {
    return null;
  }
}

/** Says that somebody holds what was asked for, and cannot answer just now. */
export const busyMessage = (vault: Vault, kind: Kind, question: Question): string =>
  withMac(vault, kind, 'busy', question.id);

/** The question that is answered so. */
export function readBusy(vault: Vault, kind: Kind, text: string): string | null {
  const id = BUSY.exec(text)?.[1];
  return id !== undefined && hasMac(vault, kind, 'busy', text) ? id : null;
}

/** Says that what was held has ended. That stays true, so the message may be repeated by anybody. */
export const endedMessage = (vault: Vault, kind: Kind, about: string): string =>
  withMac(vault, kind, 'ended', about);

export function readEnded(vault: Vault, kind: Kind, text: string): string | null {
  const about = ENDED.exec(text)?.[1];
  return about !== undefined && hasMac(vault, kind, 'ended', text) ? about : null;
}

type Message = 'question' | 'answer' | 'busy' | 'ended';

function withMac(vault: Vault, { name }: Kind, message: Message, text: string): string {
  return `${text} ${vault.messageMac(`${name} ${message} ${text}`)}`;
}

function hasMac(vault: Vault, kind: Kind, message: Message, text: string): boolean {
  const end = text.lastIndexOf(' ');
  return end > 0 && sameText(text, withMac(vault, kind, message, text.slice(0, end)));
}

function exchangeKey(
  vault: Vault,
  { name }: Kind,
  question: Question,
  answering: string,
  privateKey: KeyObject,
  publicKey: string,
): Uint8Array {
  const jwk = { kty: 'OKP', crv: 'X25519', x: publicKey };
  const secret = diffieHellman({ privateKey, publicKey: createPublicKey({ key: jwk, format: 'jwk' }) });
  const key = vault.exchangeKey(secret, `${name} ${question.text} ${answering}`);
  secret.fill(0);
  return key;
}

function textOf(publicKey: KeyObject): string {
  return publicKey.export({ format: 'jwk' }).x as string;
}
