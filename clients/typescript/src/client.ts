// The client: asks for verdicts, turns anything but an allow into an error where asked to, has results looked at, tells what
// was said and returned, and manages the sessions of a key. Sending and retrying are exchange.ts's, waiting for a person is listener.ts's.

import { type Settings, settingsFrom, type ToolgateOptions, wantHeader, wantRun } from './config.ts';
import { wantTimeout } from './deadline.ts';
import { CallTimedOut, InvalidRequest, refusalOf, ToolCallDenied, ToolCallPending } from './errors.ts';
import type { ApprovalOutcome } from './event.ts';
import { type Ask, exchange, wantRetries } from './exchange.ts';
import { type GuardedOptions, guarded } from './guarded.ts';
import type { ApprovalListener } from './listener.ts';
import { GUARDED_LIMIT, isLookedAt, readGuarded, resultBody, type WithheldResult } from './results.ts';
import {
  type CreatedSession,
  type NewSession,
  readCreatedSession,
  readSessions,
  type Session,
} from './session.ts';
import { tellingOf, wantsResult } from './told.ts';
import { type AllowVerdict, type PendingVerdict, readVerdict, type Verdict } from './verdict.ts';

export type Args = object;

export interface CallOptions {
  /** Bounds the whole call, retries included; the client's own when left out. */
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** How often a failed call is sent again; the client's own when left out. */
  retries?: number | undefined;
}

export interface RunOptions extends CallOptions {
  /** Names the run; the client's own when left out. */
  run?: string | undefined;
}

export interface CheckOptions extends RunOptions {
  /** Of an approved, unspent approval of this very call: it is then allowed, once. */
  referenceId?: string | undefined;
  /**
   * Also send again when nobody knows whether the verdict was recorded (a cut connection, a 500). That may
   * leave two entries in the audit log, or two questions to a person.
   */
  retryUnknown?: boolean | undefined;
  /**
   * Names this call, in 1 to 128 visible ASCII characters: made again with the same key within 24 hours, it gets the same
   * verdict, with no further entry and no further question. So it is also sent again when nobody knows whether the verdict was
   * recorded. Every call wants a key of its own.
   */
  idempotencyKey?: string | undefined;
}

export interface GuardAndWaitOptions extends Omit<CheckOptions, 'referenceId' | 'timeoutMs'> {
  listener: ApprovalListener;
  /** How long to wait for the person; each check is bounded by the client's own time-out. */
  timeoutMs?: number | undefined;
}

const VERDICT_LIMIT = 1024 * 1024;
const SESSIONS_LIMIT = 64 * 1024 * 1024;
const SESSION_ID = /^[\w-]{1,128}$/;

export class Toolgate {
  readonly #settings: Settings;

  constructor(options: ToolgateOptions = {}) {
    this.#settings = settingsFrom(options);
  }

  /** The verdict on a call. Anything but `allow` means: do not proceed. */
  async check(server: string, tool: string, args?: Args, options: CheckOptions = {}): Promise<Verdict> {
    const { referenceId, retryUnknown, idempotencyKey } = options;
    return this.#ask(
      {
        method: 'POST',
        path: '/v1/check',
        body: checkBody(server, tool, args, referenceId),
        expected: { status: 200, read: readVerdict, limit: VERDICT_LIMIT },
        repeatable: retryUnknown === true || idempotencyKey !== undefined,
        run: this.#runOf(options),
        idempotencyKey:
          idempotencyKey === undefined ? undefined : wantHeader('idempotencyKey', idempotencyKey),
      },
      options,
    );
  }

  /** Returns when the call may proceed; throws in every other case. */
  async guard(server: string, tool: string, args?: Args, options: CheckOptions = {}): Promise<AllowVerdict> {
    const verdict = await this.check(server, tool, args, options);
    if (verdict.decision === 'allow') return verdict;
    throw refusalOf(verdict);
  }

  /** As `guard`, but a held call waits for its person, without polling, and is then freed by the approval. */
  async guardAndWait(
    server: string,
    tool: string,
    args: Args | undefined,
    { listener, timeoutMs, ...more }: GuardAndWaitOptions,
  ): Promise<AllowVerdict> {
    const verdict = await this.check(server, tool, args, more);
    if (verdict.decision === 'allow') return verdict;
    if (verdict.decision === 'deny') throw refusalOf(verdict);
    const outcome = await outcomeOf(verdict, listener, timeoutMs, more.signal);
    if (outcome.status !== 'approved') throw new ToolCallDenied(verdict, outcome);
    // The approval frees nothing by itself: only this check records that the call went ahead, and just once.
    const freed = await this.check(server, tool, args, { ...more, referenceId: verdict.referenceId });
    if (freed.decision !== 'allow') throw refusalOf(freed, outcome.note);
    return outcome.note === null ? freed : { ...freed, note: outcome.note };
  }

  /** The function with the guard in front. */
  guarded<P extends unknown[], R>(
    server: string,
    tool: string,
    fn: (...params: P) => R,
    options: Omit<GuardedOptions<P>, 'client'> = {},
  ): (...params: P) => Promise<Awaited<R>> {
    return guarded(server, tool, fn, { ...options, client: this });
  }

  /**
   * Tells the service what the person said, at most 64 KiB: the values in it are known in this run from now on. Only
   * the person's own words: what a model, a tool or a document says must not become known.
   */
  async told(text: string, options: RunOptions = {}): Promise<void> {
    await this.#tell({ text }, options, this.#runOf(options));
  }

  /**
   * Tells the service what an allowed call returned, if the verdict says that the tool's results are trusted. Wait for
   * it before the model sees the result. The run is that of the call. Never throws; true if the service has taken it.
   */
  async report(verdict: AllowVerdict, result: unknown, options: CallOptions = {}): Promise<boolean> {
    if (!wantsResult(verdict)) return false;
    try {
      const telling = tellingOf(result);
      if (telling === null) return false;
      await this.#tell({ toolCallId: verdict.toolCallId, ...telling }, options);
      return true;
    } catch {
      // What is not known is asked about, or refused: that is safe, and no reason to lose a result.
      return false;
    }
  }

  /**
   * What may be passed on of an MCP result that an allowed call brought back: where the verdict says `results`, the service
   * looks at it, and hides or withholds what the policy says. Else it is the result itself, and nothing is sent. Throws if
   * nobody could look at it: pass on nothing then. Wait for it before the model, or anybody else, has the result.
   */
  async guardResult<R extends object>(
    verdict: AllowVerdict,
    result: R,
    options: CallOptions = {},
  ): Promise<R | WithheldResult> {
    if (!isLookedAt(verdict)) return result;
    return this.#ask(
      {
        method: 'POST',
        path: '/v1/results',
        body: resultBody(verdict, result),
        expected: { status: 200, read: readGuarded(result), limit: GUARDED_LIMIT },
        // Looking at a result twice changes nothing.
        repeatable: true,
      },
      options,
    );
  }

  async createSession(session: NewSession = {}, options: CallOptions = {}): Promise<CreatedSession> {
    return this.#ask(
      {
        method: 'POST',
        path: '/v1/sessions',
        body: toJson(session, 'The session'),
        expected: { status: 201, read: readCreatedSession, limit: VERDICT_LIMIT },
        repeatable: false,
      },
      options,
    );
  }

  /** The active sessions of the key, newest first. */
  async listSessions(options: CallOptions = {}): Promise<Session[]> {
    const expected = { status: 200, read: readSessions, limit: SESSIONS_LIMIT };
    return this.#ask({ method: 'GET', path: '/v1/sessions', expected, repeatable: true }, options);
  }

  /** Revokes a session at once; doing it again is no error. */
  async revokeSession(id: string, options: CallOptions = {}): Promise<void> {
    if (!SESSION_ID.test(id)) throw invalid('That is not the id of a session.');
    const expected = { status: 204, read: null, limit: 0 };
    await this.#ask<void>(
      { method: 'DELETE', path: `/v1/sessions/${id}`, expected, repeatable: true },
      options,
    );
  }

  /** Sent again wherever that helps: telling something twice changes nothing. */
  #tell(told: object, options: CallOptions, run?: string): Promise<void> {
    const body = toJson(told, 'The text');
    const expected = { status: 202, read: null, limit: 0 };
    return this.#ask<void>(
      { method: 'POST', path: '/v1/told', body, run, expected, repeatable: true },
      options,
    );
  }

  #runOf({ run }: RunOptions): string | undefined {
    return run === undefined ? this.#settings.run : wantRun(run);
  }

  #ask<T>(ask: Ask<T>, { timeoutMs, retries, signal }: CallOptions): Promise<T> {
    const settings = this.#settings;
    return exchange(settings, ask, {
      timeoutMs: wantTimeout(timeoutMs ?? settings.timeoutMs),
      retries: wantRetries(retries ?? settings.retries),
      signal,
    });
  }
}

/** Nobody answered while we waited: the call is as pending as before, and can be taken up later. */
async function outcomeOf(
  verdict: PendingVerdict,
  listener: ApprovalListener,
  timeoutMs: number | undefined,
  signal: AbortSignal | undefined,
): Promise<ApprovalOutcome> {
  try {
    const bounds = timeoutMs === undefined ? { signal } : { timeoutMs: wantTimeout(timeoutMs), signal };
    return await listener.outcome(verdict.referenceId, bounds);
  } catch (error) {
    if (error instanceof CallTimedOut) throw new ToolCallPending(verdict, { cause: error });
    throw error;
  }
}

function checkBody(server: string, tool: string, args: unknown, referenceId: string | undefined): string {
  if (args !== undefined && !isObject(args)) throw invalid('The arguments must be an object.');
  return toJson({ serverName: server, toolName: tool, args, referenceId }, 'The call');
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value JSON cannot hold (a BigInt, a cycle) is the caller's mistake; its text is not repeated. */
function toJson(value: unknown, what: string): string {
  try {
    return JSON.stringify(value);
  } catch {
    throw invalid(`${what} cannot be written as JSON.`);
  }
}

function invalid(message: string): InvalidRequest {
  return new InvalidRequest(message, null, null, 'invalid_request');
}
