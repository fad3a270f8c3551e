// What an examination of the doctor is, and how all of them run: at the same time, each with a time limit of its own,
// so that one that hangs stops no other. doctor.ts says which there are.

import { visible } from '../core/text/visible.ts';

export type State = 'good' | 'warning' | 'bad';

/** One line of the report. A message that is not good says what to do. It contains no secret. */
export interface Found {
  name: string;
  state: State;
  message: string;
}

export interface Examination {
  /** Stands in the report if the check gives no answer in time. */
  name: string;
  /** Returns no line if there is nothing to look at. The signal is aborted when the time is over. */
  run: (signal: AbortSignal) => Promise<Found[]>;
}

export interface Report {
  /** Whether nothing is bad. */
  ok: boolean;
  checks: Found[];
}

export const LIMIT_MS = 8000;
/** How long an examination has after its time limit to say itself what did not answer, and how bad that is. */
const LAST_WORD_MS = 500;

interface Examining {
  limitMs?: number;
  /** Called with the names of the checks that have not ended yet, whenever one has. */
  onProgress?: (left: readonly string[]) => void;
}

/** The lines are in the order of the checks, whichever ends first. */
export async function examine(
  checks: readonly Examination[],
  { limitMs = LIMIT_MS, onProgress = () => {} }: Examining = {},
): Promise<Report> {
  const left = new Set(checks);
  const lines = await Promise.all(
    checks.map(async check => {
      const found = await inTime(check, limitMs);
      left.delete(check);
      onProgress([...left].map(each => each.name));
      return found;
    }),
  );
  const found = lines.flat().map(each => ({ ...each, message: visible(each.message) }));
  return { ok: found.every(each => each.state !== 'bad'), checks: found };
}

async function inTime({ name, run }: Examination, limitMs: number): Promise<Found[]> {
  const controller = new AbortController();
  const late = Promise.withResolvers<Found[]>();
  const over = setTimeout(() => controller.abort(), limitMs);
  const tooLate = setTimeout(
    () => late.resolve([bad(name, `There was no answer within ${limitMs / 1000} s. ${HANGS}`)]),
    limitMs + LAST_WORD_MS,
  );
  try {
    return await Promise.race([run(controller.signal), late.promise]);
  } catch (error) {
    return [bad(name, `This could not be looked at${codeOf(error)}.`)];
  } finally {
    clearTimeout(over);
    clearTimeout(tooLate);
  }
}

const HANGS = 'Look whether a firewall drops the connection, or whether the other side hangs.';

export const good = (name: string, message: string): Found => ({ name, state: 'good', message });
export const warning = (name: string, message: string): Found => ({ name, state: 'warning', message });
export const bad = (name: string, message: string): Found => ({ name, state: 'bad', message });

/** The code of a failure in brackets. Its text is never shown, because it may contain addresses and credentials. */
export function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && /^\w{1,60}$/.test(code) ? ` (${code})` : '';
}
