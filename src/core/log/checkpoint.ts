// A checkpoint states the size and root of the audit log at one time, as a signed note in the C2SP formats
// tlog-checkpoint and signed-note: origin, size and root, lines of our own, an empty line, and an Ed25519 signature.
// This file reads, writes and verifies the text. guard/log signs and keeps checkpoints, and retention-claims.ts says
// what retention may remove.

import { verifyEd25519 } from '../approvals/ed25519.ts';
import { durationText, parseDuration } from '../time/duration.ts';

export interface Checkpoint {
  /** The name of the log and of its signing key. */
  origin: string;
  /** The number of sealed entries. */
  size: number;
  /** Base64 of the tree's root. */
  root: string;
  at: number;
  /** Every entry that had been committed and was made before this time is sealed. */
  through: number;
  /** Entries before this sequence number may have been removed by retention. */
  pruned: number;
  /** How long entries are kept, in milliseconds. */
  retention: number | 'forever';
  /** Why the first `pruned` entries may be missing; null if none may be. */
  givenUp: GivenUp | null;
}

/**
 * The first `pruned` entries were given up because an earlier checkpoint of exactly those entries had become older than
 * the retention.
 */
export interface GivenUp {
  /** The time at which they were given up and the retention at that time; both can differ from the checkpoint's own. */
  at: number;
  retention: number;
  /** The root of the earlier checkpoint and the time of its signature. */
  root: string;
  signedAt: number;
}

export interface VerifierKey {
  name: string;
  /** Eight hexadecimal digits, a digest of the name and the key. */
  id: string;
  publicKey: Uint8Array;
}

const ED25519 = 1;
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
const ID_BYTES = 4;
export const BASE64_OF_32 = /^[A-Za-z0-9+/]{43}=$/;
export const WHOLE_NUMBER = /^(0|[1-9][0-9]{0,14})$/;
const NAME = /^[^\s+]{1,200}$/;

/** The signed part of the note. */
export function checkpointText(checkpoint: Checkpoint): string {
  const { origin, size, root, at, through, pruned, retention, givenUp } = checkpoint;
  const lines = [origin, size, root, `time ${iso(at)}`, `through ${iso(through)}`, `pruned ${pruned}`];
  lines.push(`retention ${retention === 'forever' ? retention : durationText(retention)}`);
  if (givenUp !== null) lines.push(givenUpLine(givenUp));
  return `${lines.join('\n')}\n`;
}

function givenUpLine({ at, retention, root, signedAt }: GivenUp): string {
  return `given-up ${iso(at)} ${durationText(retention)} ${root} ${iso(signedAt)}`;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

export function signedNote(text: string, key: VerifierKey, signature: Uint8Array): string {
  const bytes = Buffer.concat([Buffer.from(key.id, 'hex'), signature]);
  return `${text}\n— ${key.name} ${bytes.toString('base64')}\n`;
}

/** The content of a note, signed or not; null when it is not a checkpoint in our format. */
export function parseCheckpoint(note: string): Checkpoint | null {
  const [text = ''] = note.split('\n\n', 1);
  const [origin = '', size = '', root = '', ...rest] = text.split('\n');
  if (!NAME.test(origin) || !WHOLE_NUMBER.test(size) || !BASE64_OF_32.test(root)) return null;
  const values = new Map(
    rest.map(line => [line.split(' ', 1)[0], line.slice(line.indexOf(' ') + 1)] as const),
  );
  const pruned = values.get('pruned') ?? '';
  const at = Date.parse(values.get('time') ?? '');
  const through = Date.parse(values.get('through') ?? '');
  if (Number.isNaN(at) || Number.isNaN(through) || !WHOLE_NUMBER.test(pruned)) return null;
  const retention = retentionIn(values.get('retention'));
  const givenUp = givenUpIn(values.get('given-up'));
  // A checkpoint that has given up entries must also state why they may be missing.
  const wanted = pruned !== '0';
  if (retention === null || values.has('given-up') !== wanted || (givenUp !== null) !== wanted) return null;
  return { origin, size: Number(size), root, at, through, pruned: Number(pruned), retention, givenUp };
}

function retentionIn(text = ''): Checkpoint['retention'] | null {
  return text === 'forever' ? text : parseDuration(text);
}

function givenUpIn(text = ''): GivenUp | null {
  const [at = '', period = '', root = '', signedAt = ''] = text.split(' ');
  const retention = parseDuration(period);
  const [given, signed] = [Date.parse(at), Date.parse(signedAt)];
  if (retention === null || !BASE64_OF_32.test(root) || Number.isNaN(given) || Number.isNaN(signed))
    return null;
  return { at: given, retention, root, signedAt: signed };
}

/**
 * Whether one of the note's signatures is by this key, over exactly this text, and the text is about the key's log. The
 * name beside a signature is not signed, so the text has to be compared too: otherwise a checkpoint of another log
 * under the same master key would pass for one of this log.
 */
export async function isSignedBy(note: string, key: VerifierKey): Promise<boolean> {
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || !note.startsWith(`${key.name}\n`)) return false;
  const text = new TextEncoder().encode(note.slice(0, end + 1));
  for (const line of note.slice(end + 2).split('\n')) {
    const signature = signatureIn(line, key);
    if (signature !== null && (await verifyEd25519(key.publicKey, text, signature))) return true;
  }
  return false;
}

function signatureIn(line: string, key: VerifierKey): Uint8Array | null {
  const [dash, name, base64 = '', ...more] = line.split(' ');
  if (dash !== '—' || name !== key.name || more.length > 0) return null;
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length !== ID_BYTES + SIGNATURE_BYTES) return null;
  return bytes.subarray(0, ID_BYTES).toString('hex') === key.id ? bytes.subarray(ID_BYTES) : null;
}

export function verifierKey(name: string, publicKey: Uint8Array): VerifierKey {
  const digest = new Bun.CryptoHasher('sha256').update(`${name}\n`).update(typed(publicKey)).digest('hex');
  return { name, id: digest.slice(0, 2 * ID_BYTES), publicKey };
}

/** `name+id+base64`, the C2SP format for the public key of a note's signer. */
export function verifierKeyText({ name, id, publicKey }: VerifierKey): string {
  return `${name}+${id}+${Buffer.from(typed(publicKey)).toString('base64')}`;
}

export function parseVerifierKey(text: string): VerifierKey | null {
  const [, name = '', id = '', base64 = ''] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text.trim()) ?? [];
  const bytes = new Uint8Array(Buffer.from(base64, 'base64'));
  if (bytes.length !== 1 + KEY_BYTES || bytes[0] !== ED25519) return null;
  const key = verifierKey(name, bytes.subarray(1));
  return key.id === id ? key : null;
}

function typed(publicKey: Uint8Array): Uint8Array {
  return new Uint8Array([ED25519, ...publicKey]);
}
