// What the adapters of all frameworks share: a tool call is judged on a copy of its arguments, and the tool may then run
// with that copy only. Whatever is no allow becomes a ToolCallRefused, whose message is written for the model. How a
// framework hands that message to its model is each adapter's matter. What the tool then returned or threw is given to the
// permit, which says what the model may have of it.

import { type Args, Toolgate } from '../client.ts';
import {
  InvalidConfiguration,
  ToolCallDenied,
  ToolCallPending,
  ToolCallRefused,
  ToolResultWithheld,
} from '../errors.ts';
import type { ApprovalListener } from '../listener.ts';
import { type Passage, passageOf } from '../passing.ts';
import type { AllowVerdict } from '../verdict.ts';
import { copyOf } from './copy.ts';

export interface GuardToolsOptions {
  /** Under which server policies name these tools: a tool is judged as `<server>__<name of the tool>`. */
  server: string;
  /** Made from the environment when left out. */
  gate?: Toolgate | undefined;
  /** With it, a held call waits for its person; without it, the model is told that the call is held. */
  listener?: ApprovalListener | undefined;
  /** With a listener: how long to wait for the person. Without: bounds the check. */
  timeoutMs?: number | undefined;
}

/** Whatever cannot be looked at is withheld: its passage throws ToolResultWithheld, or the reason of a signal that aborted. */
export interface Permit<A> extends Passage {
  /** To run the tool with. */
  args: A;
}

/**
 * Throws ToolCallRefused if the tool must not run, and the signal's own
 * reason if the caller has aborted.
 */
export type Ask = <A>(tool: string, args: A, signal: AbortSignal | undefined) => Promise<Permit<A>>;

/** How many held calls are remembered; the oldest goes first. */
const REMEMBERED = 1000;

export function asking({ server, gate = new Toolgate(), listener, timeoutMs }: GuardToolsOptions): Ask {
  if (typeof server !== 'string' || server === '')
    throw new InvalidConfiguration(
      'guardTools needs `server`, the name under which policies know the tools.',
    );
  /** The references of held calls, so that the same call, made again once it is approved, is freed by its approval. */
  const held = new Map<string, string>();

  async function verdictOn(tool: string, args: Args, signal: AbortSignal | undefined): Promise<AllowVerdict> {
    const call = await digest(tool, args);
    const referenceId = held.get(call);
    /** What is remembered may be of the same call made meanwhile. */
    const forget = () => held.get(call) === referenceId && held.delete(call);
    try {
      const verdict =
        listener === undefined || referenceId !== undefined
          ? await gate.guard(server, tool, args, { referenceId, signal, timeoutMs })
          : await gate.guardAndWait(server, tool, args, { listener, signal, timeoutMs });
      forget();
      return verdict;
    } catch (error) {
      if (error instanceof ToolCallDenied) forget();
      if (error instanceof ToolCallPending) held.set(call, error.verdict.referenceId);
      for (const oldest of held.keys()) if (held.size > REMEMBERED) held.delete(oldest);
      throw error;
    }
  }

  return async (tool, args, signal) => {
    try {
      signal?.throwIfAborted();
      const judged = copyOf(args);
      const verdict = await verdictOn(tool, objectOf(judged), signal);
      return { args: judged, ...withholding(passageOf(gate, verdict, { signal }), signal) };
    } catch (error) {
      signal?.throwIfAborted();
      throw new ToolCallRefused(error);
    }
  };
}

function withholding({ isLookedAt, passOn, passError }: Passage, signal: AbortSignal | undefined): Passage {
  const orWithhold = async (passed: Promise<unknown>) => {
    try {
      return await passed;
    } catch (cause) {
      if (cause instanceof ToolResultWithheld) throw cause;
      signal?.throwIfAborted();
      throw new ToolResultWithheld({ cause });
    }
  };
  return {
    isLookedAt,
    passOn: (...params) => orWithhold(passOn(...params)),
    passError: error => orWithhold(passError(error)),
  };
}

/** The service judges objects. Some tools take a single value, such as a text; it is judged as `input`. */
function objectOf(args: unknown): Args {
  if (args === undefined) return {};
  return typeof args === 'object' && args !== null && !Array.isArray(args) ? args : { input: args };
}

/** Instead of the arguments, of which nothing is kept. */
async function digest(tool: string, args: Args): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify([tool, args]));
  return new Uint8Array(await crypto.subtle.digest('SHA-256', text)).join();
}
