// A checkpoint: what the audit log was at a moment, as a signed note of C2SP's (tlog-checkpoint, signed-note):
// origin, size and root, three lines of ours, an empty line, and an Ed25519 signature. Reading, writing and
// verifying the text is here; who signs and where notes are kept is not.

export interface Checkpoint {
  /** Names the log, and the key that signs for it. */
  origin: string;
  /** How many entries are sealed. */
  size: number;
  /** Base64 of the tree's root. */
  root: string;
  at: number;
  /** Every entry that had been seen and was made before this time is sealed. */
  through: number;
  /** Entries before this sequence number may have been removed by retention. */
  pruned: number;
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
const BASE64_OF_32 = /^[A-Za-z0-9+/]{43}=$/;
const WHOLE_NUMBER = /^(0|[1-9][0-9]{0,14})$/;
const NAME = /^[^\s+]{1,200}$/;

/** The signed part of the note. */
export function checkpointText(checkpoint: Checkpoint): string {
  const { origin, size, root, at, through, pruned } = checkpoint;
  const time = (ms: number) => new Date(ms).toISOString();
  return `${origin}\n${size}\n${root}\ntime ${time(at)}\nthrough ${time(through)}\npruned ${pruned}\n`;
}

export function signedNote(text: string, key: VerifierKey, signature: Uint8Array): string {
  const bytes = Buffer.concat([Buffer.from(key.id, 'hex'), signature]);
  return `${text}\n— ${key.name} ${bytes.toString('base64')}\n`;
}

/** What a note says, signed or not; null when it is no checkpoint of ours. */
export function parseCheckpoint(note: string): Checkpoint | null {
  const [text = ''] = note.split('\n\n', 1);
  const [origin = '', size = '', root = '', ...rest] = text.split('\n');
  if (!NAME.test(origin) || !WHOLE_NUMBER.test(size) || !BASE64_OF_32.test(root)) return null;
  const values = new Map(rest.map(line => line.split(' ') as [string, string]));
  const pruned = values.get('pruned') ?? '';
  const at = Date.parse(values.get('time') ?? '');
  const through = Date.parse(values.get('through') ?? '');
  if (Number.isNaN(at) || Number.isNaN(through) || !WHOLE_NUMBER.test(pruned)) return null;
  return { origin, size: Number(size), root, at, through, pruned: Number(pruned) };
}

/** Whether one of the note's signatures is by this key, over exactly this text. */
export async function isSignedBy(note: string, key: VerifierKey): Promise<boolean> {
  const end = note.lastIndexOf('\n\n');
  if (end < 0) return false;
  const text = new TextEncoder().encode(note.slice(0, end + 1));
  const publicKey = await crypto.subtle.importKey('raw', new Uint8Array(key.publicKey), 'Ed25519', false, [
    'verify',
  ]);
  for (const line of note.slice(end + 2).split('\n')) {
    const signature = signatureIn(line, key);
    if (signature === null) continue;
    if (await crypto.subtle.verify('Ed25519', publicKey, new Uint8Array(signature), text)) return true;
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

/** `name+id+base64`, as C2SP writes the public key of a note's signer. */
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

/**
 * The notes in a file, one after another, an empty line between them. What a crash or a full disk cut short
 * reads as a note without a signature.
 */
export function notesIn(text: string): string[] {
  const blocks = text
    .trimStart()
    .split(/\n{2,}/)
    .filter(block => block.trim() !== '');
  const notes: string[] = [];
  for (const block of blocks) {
    const last = notes.at(-1);
    if (block.startsWith('—') && last !== undefined && !last.includes('\n\n')) {
      notes[notes.length - 1] = `${last}\n\n${block.trimEnd()}\n`;
    } else notes.push(block);
  }
  return notes;
}
