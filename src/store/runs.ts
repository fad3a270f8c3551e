// Runs: calls that belong together, with the marks that they have given their run. known-values.ts has the values that
// somebody trusted has named in a run.

import type { Surface } from '../core/text/surface.ts';
import { into, padded, placeholders, type Queries, type Transaction, type Value } from './engine/db.ts';

/** A mark of a run, and the call that gave it. */
export interface RunMark {
  name: string;
  since: number;
  serverName: string;
  toolName: string;
  toolCallId: string;
}

export interface RunRecord {
  number: number;
  id: string;
  /** What it is the run of. */
  ref: string;
  keyId: string;
  sessionId: string | null;
  personId: string | null;
  surface: Surface;
  /** The name that was given for it. */
  name: string | null;
  known: number;
  dropped: number;
  /** To the minute. */
  lastCallAt: number;
  endsAt: number;
}

/** A mark that only the shadow of this policy sees, if `shadow` is not empty. */
export type StoredMark = RunMark & { run: number; shadow: string };

export interface FoundRun extends RunRecord {
  marks: StoredMark[];
}

const COLUMNS = `r.number, r.id, r.ref, r.key_id AS "keyId", r.session_id AS "sessionId", r.person_id AS "personId",
  r.surface, r.name, r.known, r.dropped, r.last_call_at AS "lastCallAt", r.ends_at AS "endsAt"`;
const MARK_COLUMNS = `m.run, m.shadow, m.name AS mark, m.since, m.server_name AS "serverName",
  m.tool_name AS "toolName", m.tool_call_id AS "toolCallId"`;

/** What holds at the time $1 of a run that has not ended. A session that was revoked has ended, and its run with it. */
const UNDER_WAY = `r.ends_at > $1 AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = r.session_id
    AND (s.revoked_at IS NOT NULL OR s.expires_at <= $1))`;

type JoinedRow = RunRecord & Omit<StoredMark, 'run' | 'name'> & { run: number | null; mark: string };

/** The runs of these refs, which may have ended, with their marks. */
export async function findRuns(db: Queries, refs: readonly string[]): Promise<FoundRun[]> {
  const wanted = padded(refs);
  return joined(
    await db.all<JoinedRow>(
      `SELECT ${COLUMNS}, ${MARK_COLUMNS} FROM runs r LEFT JOIN run_marks m ON m.run = r.number
       WHERE r.ref IN (${placeholders(wanted.length)})`,
      wanted,
    ),
  );
}

/** Null if it has ended. */
export async function findRun(db: Queries, id: string, now: number): Promise<FoundRun | null> {
  const rows = await db.all<JoinedRow>(
    `SELECT ${COLUMNS}, ${MARK_COLUMNS} FROM runs r LEFT JOIN run_marks m ON m.run = r.number
     WHERE r.id = $2 AND ${UNDER_WAY} ORDER BY m.since, m.name`,
    [now, id],
  );
  return joined(rows)[0] ?? null;
}

interface RunFilter {
  keyId?: string | undefined;
  marked?: boolean | undefined;
}

/** Those that have not ended, newest first; `before` is the last id of the previous page. */
export async function listRuns(
  db: Queries,
  { keyId, marked }: RunFilter,
  now: number,
  limit: number,
  before: string,
): Promise<FoundRun[]> {
  const params: Value[] = [now, before, limit];
  const tests = [UNDER_WAY, 'r.id < $2'];
  if (keyId !== undefined) tests.push(`r.key_id = $${params.push(keyId)}`);
  if (marked !== undefined)
    tests.push(
      `${marked ? '' : 'NOT '}EXISTS (SELECT 1 FROM run_marks x WHERE x.run = r.number AND x.shadow = '')`,
    );
  const rows = await db.all<JoinedRow>(
    `SELECT ${COLUMNS}, ${MARK_COLUMNS} FROM (SELECT * FROM runs r WHERE ${tests.join(' AND ')}
       ORDER BY r.id DESC LIMIT $3) AS r
     LEFT JOIN run_marks m ON m.run = r.number ORDER BY r.id DESC, m.since, m.name`,
    params,
  );
  return joined(rows);
}

/** One run for the rows of each, which has one row for each of its marks. */
function joined(rows: readonly JoinedRow[]): FoundRun[] {
  const runs = new Map<number, FoundRun>();
  for (const { run, shadow, mark, since, serverName, toolName, toolCallId, ...record } of rows) {
    let found = runs.get(record.number);
    if (found === undefined) {
      found = { ...record, marks: [] };
      runs.set(record.number, found);
    }
    if (run !== null) found.marks.push({ run, shadow, name: mark, since, serverName, toolName, toolCallId });
  }
  return [...runs.values()];
}

/** Inserts a run, in which nothing is known yet, unless there is one of the same ref. */
export async function insertRun(
  tx: Queries,
  run: Omit<RunRecord, 'number' | 'known' | 'dropped'>,
): Promise<void> {
  await tx.run(
    `INSERT INTO runs (id, ref, key_id, session_id, person_id, surface, name, known, dropped, last_call_at, ends_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, $8, $9) ON CONFLICT (ref) DO NOTHING`,
    [
      run.id,
      run.ref,
      run.keyId,
      run.sessionId,
      run.personId,
      run.surface,
      run.name,
      run.lastCallAt,
      run.endsAt,
    ],
  );
}

/** Lets another run have this ref if the one that had it has ended. */
export async function retireRun(tx: Queries, ref: string, now: number): Promise<void> {
  await tx.run("UPDATE runs SET ref = 'ended ' || id WHERE ref = $1 AND ends_at <= $2", [ref, now]);
}

/** Each is a statement of its own, in the order of their numbers, so that two replicas cannot deadlock. */
export function touchRuns(
  tx: Transaction,
  runs: readonly Pick<RunRecord, 'number' | 'lastCallAt' | 'endsAt'>[],
): void {
  for (const { number, lastCallAt, endsAt } of [...runs].sort((a, b) => a.number - b.number))
    tx.defer('UPDATE runs SET last_call_at = $2, ends_at = $3 WHERE number = $1', [
      number,
      lastCallAt,
      endsAt,
    ]);
}

const MARKS = into(
  'run_marks',
  {
    run: 'bigint',
    shadow: 'text',
    name: 'text',
    since: 'bigint',
    server_name: 'text',
    tool_name: 'text',
    tool_call_id: 'text',
  },
  'ON CONFLICT DO NOTHING',
);

/** They are inserted in one order, so that two replicas cannot deadlock. A mark that the run has keeps its call. */
export function insertMarks(tx: Transaction, marks: readonly StoredMark[]): void {
  const sorted = [...marks].sort(
    (a, b) => a.run - b.run || compared(a.shadow, b.shadow) || compared(a.name, b.name),
  );
  const values = sorted.flatMap(mark => [
    mark.run,
    mark.shadow,
    mark.name,
    mark.since,
    mark.serverName,
    mark.toolName,
    mark.toolCallId,
  ]);
  tx.insert(MARKS, values);
}

const compared = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Those of shadows included. */
export async function deleteMarks(tx: Queries, run: number): Promise<void> {
  await tx.run('DELETE FROM run_marks WHERE run = $1', [run]);
}

/** Deletes a little of the runs that ended before a time, and returns whether there is more. */
export async function deleteEndedRuns(tx: Transaction, before: number, batch: number): Promise<boolean> {
  const ended = await tx.all<{ number: number }>(
    `SELECT number FROM runs WHERE ends_at < $1 ORDER BY ends_at LIMIT ${batch}`,
    [before],
  );
  let room = batch;
  for (const { number } of ended) {
    const values = await tx.run(
      `DELETE FROM run_known WHERE run = $1 AND digest IN (SELECT digest FROM run_known WHERE run = $1 LIMIT $2)`,
      [number, room],
    );
    room -= values;
    if (room <= 0) return true;
    room -= await tx.run(
      `DELETE FROM run_calls WHERE run = $1 AND tool_call_id IN (SELECT tool_call_id FROM run_calls WHERE run = $1 LIMIT $2)`,
      [number, room],
    );
    if (room <= 0) return true;
    await deleteMarks(tx, number);
    await tx.run('DELETE FROM runs WHERE number = $1', [number]);
    room -= 1;
  }
  return ended.length === batch;
}
