// Whether a proof shows that an audit entry is in the log that a key signed: the checkpoint's signature (C2SP signed
// note, Ed25519) and the path from the entry to its root (RFC 6962). No request is made; the key must come from
// somewhere that the service's operator cannot change.

import { joined } from './body.ts';
import { verifyEd25519 } from './ed25519.ts';
import { InvalidConfiguration, ProofRejected } from './errors.ts';
import { fromBase64 } from './secret.ts';
import { count, type Fields, fieldsOf, listOf, ShapeFault, text } from './shape.ts';

/** What `toolgate audit prove` prints. */
export interface InclusionProof {
  seq: number;
  size: number;
  path: string[];
  entry: { readonly [field: string]: unknown } | null;
  checkpoint: string;
}

/** An entry that is in the log, and the checkpoint that says so. */
export interface Inclusion {
  entry: { readonly [field: string]: unknown };
  /** Its place in the log. */
  seq: number;
  /** How many entries the checkpoint covers. */
  size: number;
  /** The log's name. */
  origin: string;
  /** When the checkpoint was signed, as the signer says; ISO 8601. */
  signedAt: string;
}

type Bytes = Uint8Array<ArrayBuffer>;

interface Signer {
  name: string;
  id: string;
  key: Bytes;
}

const ED25519 = 1;
const HASH_BYTES = 32;
const ID_BYTES = 4;
const SIGNATURE_BYTES = 64;

/** Throws ProofRejected unless the entry is in the log that this key signed. Both are as the service gives them. */
export async function verifyInclusion(proof: InclusionProof | string, publicKey: string): Promise<Inclusion> {
  const signer = await signerOf(publicKey);
  const fields = read(proof);
  const { seq, size, path, entry, checkpoint } = fields;
  const { root, signedAt } = await openCheckpoint(checkpoint, signer, size);
  const leaf = await sha256(new Uint8Array([0]), new TextEncoder().encode(leafText(entry)));
  if (!equal(await rootFrom(leaf, seq, size, path), root)) {
    throw new ProofRejected('proof_entry', 'The entry is not in the log that was signed.');
  }
  return { entry: entry as Fields, seq, size, origin: signer.name, signedAt };
}

async function signerOf(publicKey: string): Promise<Signer> {
  const [, name = '', id = '', base64 = ''] =
    /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(publicKey.trim()) ?? [];
  const typed = fromBase64(base64);
  if (typed?.length === 1 + HASH_BYTES && typed[0] === ED25519) {
    const digest = await sha256(new TextEncoder().encode(`${name}\n`), typed);
    if (hex(digest.subarray(0, ID_BYTES)) === id) return { name, id, key: typed.slice(1) };
  }
  throw new InvalidConfiguration(
    'The public key of an audit log is "name+id+base64", as the service shows it.',
  );
}

interface Read {
  seq: number;
  size: number;
  path: Bytes[];
  entry: unknown;
  checkpoint: string;
}

function read(proof: InclusionProof | string): Read {
  try {
    const fields = fieldsOf(typeof proof === 'string' ? JSON.parse(proof) : proof, 'the proof');
    const path = listOf(fields, 'path').map(each => hashIn(each));
    const entry = fieldsOf(fields['entry'], '"entry"');
    return {
      seq: count(fields, 'seq'),
      size: count(fields, 'size'),
      path,
      entry,
      checkpoint: text(fields, 'checkpoint'),
    };
  } catch (error) {
    const why = error instanceof ShapeFault ? error.message : 'it is not JSON';
    throw new ProofRejected('proof_shape', `The proof cannot be read: ${why}.`);
  }
}

function hashIn(value: unknown): Bytes {
  const bytes = typeof value === 'string' ? fromBase64(value) : null;
  if (bytes?.length !== HASH_BYTES) throw new ShapeFault('"path" holds something that is no hash');
  return bytes;
}

async function openCheckpoint(
  note: string,
  signer: Signer,
  size: number,
): Promise<{ root: Bytes; signedAt: string }> {
  const end = note.lastIndexOf('\n\n');
  const signed = note.slice(0, end + 1);
  const [origin, said, root = '', ...more] = signed.split('\n');
  const bytes = fromBase64(root);
  if (end < 0 || origin !== signer.name || said !== String(size) || bytes?.length !== HASH_BYTES) {
    throw new ProofRejected('proof_checkpoint', 'The checkpoint is not of this log, or not of this size.');
  }
  const message = new TextEncoder().encode(signed);
  for (const signature of signaturesIn(note.slice(end + 2), signer)) {
    if (!(await verifyEd25519(signer.key, message, signature))) continue;
    const signedAt = more.find(line => line.startsWith('time '))?.slice('time '.length) ?? '';
    return { root: bytes, signedAt };
  }
  throw new ProofRejected('proof_checkpoint', 'The checkpoint is not signed by this key.');
}

function signaturesIn(text: string, signer: Signer): Bytes[] {
  const found: Bytes[] = [];
  for (const line of text.split('\n')) {
    const [dash, name, base64 = ''] = line.split(' ');
    const bytes = dash === '—' && name === signer.name ? fromBase64(base64) : null;
    if (bytes?.length !== ID_BYTES + SIGNATURE_BYTES) continue;
    if (hex(bytes.subarray(0, ID_BYTES)) === signer.id) found.push(bytes.slice(ID_BYTES));
  }
  return found;
}

/** The root to which the leaf and its path lead; none when the path is not as long as it must be. */
async function rootFrom(
  leaf: Bytes,
  seq: number,
  size: number,
  path: readonly Bytes[],
): Promise<Bytes | null> {
  if (seq >= size) return null;
  let hash = leaf;
  let taken = 0;
  // How far the leaf, and the tree's last leaf, are from the left in the row that `hash` is in.
  for (let [at, last] = [seq, size - 1]; last > 0; at = Math.floor(at / 2), last = Math.floor(last / 2)) {
    if (at === last && at % 2 === 0) continue;
    const beside = path[taken++];
    if (beside === undefined) return null;
    hash = at % 2 === 1 ? await sha256(NODE, beside, hash) : await sha256(NODE, hash, beside);
  }
  return taken === path.length ? hash : null;
}

const NODE = new Uint8Array([1]);

async function sha256(...parts: Uint8Array[]): Promise<Bytes> {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return new Uint8Array(await crypto.subtle.digest('SHA-256', joined(parts, length)));
}

/** The trace id of a call is shown with its entry, but not sealed. */
function sealed(entry: unknown): unknown {
  if (typeof entry !== 'object' || entry === null || !('traceId' in entry)) return entry;
  const { traceId: _, ...others } = entry;
  return others;
}

function leafText(entry: unknown): string {
  try {
    return canonical(sealed(entry));
  } catch (error) {
    if (error instanceof ProofRejected) throw error;
    throw new ProofRejected('proof_entry', 'The entry is too deep for an audit entry.');
  }
}

/** One text for a value, whatever the order of its keys (RFC 8785); entries hold whole numbers only. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const fields = value as Fields;
    const members = Object.keys(fields)
      .sort()
      .map(key => `${JSON.stringify(key)}:${canonical(fields[key])}`);
    return `{${members.join(',')}}`;
  }
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    throw new ProofRejected('proof_entry', 'The entry holds a number that no audit entry has.');
  }
  return JSON.stringify(value) ?? 'null';
}

function equal(a: Bytes | null, b: Bytes): boolean {
  return a !== null && a.length === b.length && a.every((byte, at) => byte === b[at]);
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('');
}
