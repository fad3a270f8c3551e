// Verifies a sealed log: decides which checkpoints count, reads the log and shows the progress, and prints the result.
// sealed-source.ts reads the log; core/log/log-verifier.ts says what a difference means.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  type Checkpoint,
  isSignedBy,
  parseCheckpoint,
  parseVerifierKey,
  type VerifierKey,
} from '../core/log/checkpoint.ts';
import { type FileNote, notesIn } from '../core/log/checkpoint-file.ts';
import { type Finding, LogVerifier } from '../core/log/log-verifier.ts';
import { keepsRetention, remarksOn } from '../core/log/retention-claims.ts';
import { visible } from '../core/text/visible.ts';
import { CliError, EXIT, usageError } from './exit.ts';
import { type IO, readText, say } from './io.ts';
import type { SealedSource } from './sealed-source.ts';

export interface Verification {
  ok: boolean;
  /** The places in the sealed log, and how many of them a checkpoint covers. */
  sealed: number;
  covered: number;
  /** The number of entries that are not sealed yet. */
  unsealed: number;
  /** According to a checkpoint, retention may have removed the entries before this sequence number. */
  prunedBefore: number;
  checkpoints: number;
  newest: { size: number; at: string } | null;
  findings: Finding[];
  notices: string[];
}

/** Reads the public key, given as text or as a file. */
export function readKey(io: IO, given: string): VerifierKey {
  const key = parseVerifierKey(given) ?? parseVerifierKey(fileText(io, given) ?? '');
  if (key === null) {
    throw usageError(`${given} is neither a public key (name+id+base64) nor a file that holds one.`);
  }
  return key;
}

function fileText(io: IO, path: string): string | null {
  try {
    return readFileSync(resolve(io.cwd, path), 'utf8');
  } catch {
    return null;
  }
}

interface Given {
  key: VerifierKey;
  /** Files of checkpoints. */
  files: readonly string[];
  /** How long entries had to be kept at least; null means as long as the checkpoints say. */
  retention: number | null;
  /** Whether a log without any checkpoint will do, such as that of a new store. */
  unsigned?: boolean;
}

export async function verify(io: IO, source: SealedSource, given: Given): Promise<Verification> {
  const { key, files, retention, unsigned = false } = given;
  const believed = new Believed(key);
  for (const file of files) await believed.addFile(io, file);
  const stored = await source.notes();
  if (stored !== null) await believed.addStore(stored);
  if (!unsigned && believed.checkpoints.length === 0 && believed.findings.length === 0) {
    throw new CliError(EXIT.noAnswer, 'There is no checkpoint to compare the log with: give --checkpoints.');
  }
  const verifier = new LogVerifier(believed.checkpoints, retention);
  await walk(io, source, verifier, believed);
  const findings = [...believed.findings, ...verifier.end()];
  const unsealed = await waiting(source, verifier, findings);
  return report(verifier, believed, findings, unsealed);
}

/** The checkpoints that the key signed, from files and from the store, and the faults of the others. */
class Believed {
  readonly checkpoints: Checkpoint[] = [];
  readonly findings: Finding[] = [];
  readonly notices: string[] = [];
  readonly #key: VerifierKey;
  readonly #notes = new Set<string>();
  readonly #roots = new Map<number, string>();
  #inFiles: Checkpoint | null = null;

  constructor(key: VerifierKey) {
    this.#key = key;
  }

  async addFile(io: IO, file: string): Promise<void> {
    const found = notesIn(await readText(io, file), this.#key.name);
    requireReadable(file, found);
    for (const { note, from, to, state } of found) {
      if (state === 'whole') await this.#add(note, file);
      else this.notices.push(`${file} holds a checkpoint that was cut short (${linesOf(from, to)}).`);
    }
    this.#inFiles = this.checkpoints.toSorted((a, b) => a.size - b.size || a.at - b.at).at(-1) ?? null;
  }

  async addStore(notes: readonly string[]): Promise<void> {
    const known = new Set(notes);
    const lost = [...this.#notes].filter(note => !known.has(note));
    for (const note of notes) await this.#add(note, 'the store');
    if (lost.length > 0) this.#tellLost(lost);
    const newest = notes.at(-1);
    const stored = newest === undefined ? null : parseCheckpoint(newest);
    if (this.#inFiles !== null && stored !== null && stored.at > this.#inFiles.at) {
      this.notices.push(
        `The checkpoint files end at ${this.#inFiles.size} entries (${iso(this.#inFiles.at)}), the store’s at ` +
          `${stored.size} (${iso(stored.at)}): they are older, were cut, or another replica wrote the rest.`,
      );
    }
  }

  /**
   * A checkpoint is written to the store before a file, so a file has more only if the store was restored to an earlier
   * state.
   */
  #tellLost(lost: readonly string[]): void {
    const first = parseCheckpoint(lost[0] as string) as Checkpoint;
    const which = lost.length === 1 ? 'A checkpoint' : `${lost.length} checkpoints`;
    this.#tell(
      `${which} of the files are gone from the store, the first of ${first.size} entries, signed on ${iso(first.at)}.`,
    );
  }

  /** The checkpoints in `notes` that were signed after reading began. */
  async more(notes: readonly string[]): Promise<Checkpoint[]> {
    const known = this.checkpoints.length;
    for (const note of notes) await this.#add(note, 'the store');
    return this.checkpoints.slice(known);
  }

  async #add(note: string, where: string): Promise<void> {
    if (this.#notes.has(note)) return;
    const checkpoint = parseCheckpoint(note);
    const about = checkpoint === null ? '' : ` of ${checkpoint.size} entries`;
    if (checkpoint === null || !(await isSignedBy(note, this.#key))) {
      this.#tell(`A checkpoint${about} in ${where} is not signed by ${this.#key.name}.`);
      return;
    }
    const root = this.#roots.get(checkpoint.size) ?? checkpoint.root;
    if (root !== checkpoint.root)
      this.#tell(`Two checkpoints${about} contradict each other: the log was forked.`);
    this.#roots.set(checkpoint.size, checkpoint.root);
    if (!keepsRetention(checkpoint))
      this.#tell(`The checkpoint${about} in ${where} gives up entries before their retention is over.`);
    this.#notes.add(note);
    this.checkpoints.push(checkpoint);
  }

  #tell(message: string): void {
    this.findings.push({ kind: 'checkpoint', seq: null, entryId: null, message });
  }
}

/** A file without readable checkpoints must not count as one that agrees. */
function requireReadable(file: string, found: readonly FileNote[]): void {
  const odd = found.filter(({ state }) => state === 'unreadable');
  const shown = odd.slice(0, MOST_SHOWN).map(({ from, to }) => linesOf(from, to));
  const which = `${shown.join(', ')}${odd.length > shown.length ? ' and more' : ''}`;
  if (!found.some(({ state }) => state === 'whole')) {
    const why = found.length === 0 ? 'it is empty' : `see ${which || 'what was cut short there'}`;
    throw new CliError(
      EXIT.noAnswer,
      `No checkpoint in ${file} could be read (${why}). Nothing was verified.`,
    );
  }
  if (odd.length === 0) return;
  const todo = 'Nothing was verified: leave them out, or get the file again.';
  throw new CliError(EXIT.noAnswer, `${file} holds something that is no checkpoint (${which}). ${todo}`);
}

const MOST_SHOWN = 5;

function linesOf(from: number, to: number): string {
  return from === to ? `line ${from}` : `lines ${from} to ${to}`;
}

async function walk(io: IO, source: SealedSource, verifier: LogVerifier, believed: Believed): Promise<void> {
  const progress = new Progress(io, source);
  let looksAgain = true;
  for await (const { page, reached } of source.places()) {
    const unexplained = () => page.some(({ entry, seq }) => entry === null && seq >= verifier.prunedBefore);
    if (looksAgain && unexplained()) {
      // Retention may have signed and removed more since the checkpoints were read.
      verifier.believe(await believed.more((await source.notes()) ?? []));
      looksAgain = !unexplained();
    }
    for (const place of page) verifier.take(place);
    progress.at(reached);
  }
  progress.end();
}

const PUT_IN = {
  kind: 'inserted',
  message: 'It is not sealed, though everything of its time is: put in afterwards.',
} as const;
const UNSEALED = { kind: 'removed', message: 'Its seal is gone, as are places of the sealed log.' } as const;

/** Counts the entries that are not sealed yet; those that should be sealed by now are reported. */
async function waiting(source: SealedSource, verifier: LogVerifier, findings: Finding[]): Promise<number> {
  let count = 0;
  for await (const ids of source.unsealed()) {
    count += ids.length;
    for (const entryId of ids.filter(id => verifier.isOverdue(id))) {
      findings.push({ ...(verifier.hasGaps ? UNSEALED : PUT_IN), seq: null, entryId });
    }
  }
  return count;
}

function report(
  verifier: LogVerifier,
  { checkpoints, notices }: Believed,
  findings: Finding[],
  unsealed: number,
): Verification {
  const newest = checkpoints.toSorted((a, b) => a.size - b.size || a.at - b.at).at(-1) ?? null;
  return {
    ok: findings.length === 0,
    sealed: verifier.size,
    covered: Math.min(verifier.size, newest?.size ?? 0),
    unsealed,
    prunedBefore: verifier.prunedBefore,
    checkpoints: checkpoints.length,
    newest: newest && { size: newest.size, at: iso(newest.at) },
    findings,
    notices: [...notices, ...remarksOn(checkpoints)],
  };
}

/** Prints what was verified, then what was found. */
export function explain(io: IO, found: Verification): void {
  const { sealed, covered, unsealed, prunedBefore, checkpoints, newest } = found;
  const signed = newest === null ? 'no checkpoint' : `the newest of ${newest.at}`;
  io.stdout.write(
    `${covered} of ${sealed} sealed entries are covered by ${checkpoints} ${checkpoints === 1 ? 'checkpoint' : 'checkpoints'}, ${signed}.\n`,
  );
  if (prunedBefore > 0)
    io.stdout.write(`Retention may have removed the first ${prunedBefore}; their seals were verified.\n`);
  if (unsealed > 0) io.stdout.write(`${unsealed} entries are not sealed yet.\n`);
  for (const notice of found.notices) say(io, `Note: ${notice}`);
  for (const finding of found.findings) io.stdout.write(`${sentence(io, finding)}\n`);
  io.stdout.write(
    found.ok
      ? `${io.stdout.style('green', 'OK')}: the audit log is as it was signed.\n`
      : `${io.stdout.style('red', 'TAMPERED')}: the audit log is not as it was signed.\n`,
  );
}

function sentence(io: IO, { kind, seq, entryId, message }: Finding): string {
  const place = seq === null ? '' : ` at sequence number ${seq}`;
  const entry = entryId === null ? '' : `, entry ${visible(entryId)}`;
  return `${io.stdout.style('red', kind)}${place}${entry}: ${visible(message)}`;
}

const PROGRESS_MS = 500;
const QUIET_PROGRESS_MS = 10_000;

class Progress {
  readonly #io: IO;
  readonly #source: SealedSource;
  #shownAt = Date.now();

  constructor(io: IO, source: SealedSource) {
    this.#io = io;
    this.#source = source;
  }

  at(reached: number): void {
    const { isTTY } = this.#io.stderr;
    if (Date.now() - this.#shownAt < (isTTY ? PROGRESS_MS : QUIET_PROGRESS_MS)) return;
    this.#shownAt = Date.now();
    const { total, unit } = this.#source;
    const text = `verified ${reached} of ${total} ${unit} (${Math.floor((100 * reached) / Math.max(total, 1))} %)`;
    this.#io.stderr.write(isTTY ? `\r${text}` : `${text}\n`);
  }

  end(): void {
    if (this.#io.stderr.isTTY) this.#io.stderr.write('\r\u001b[K');
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
