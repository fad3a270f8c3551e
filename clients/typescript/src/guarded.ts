// Wrapping: a function that runs only behind an allow. What was judged is what runs: arguments that change
// while the verdict is on its way stop the call. What came of it is looked at where the policy wants it, and reported where
// the tool is trusted, before the caller has it.

import { type Args, Toolgate } from './client.ts';
import { InvalidRequest } from './errors.ts';
import type { ApprovalListener } from './listener.ts';
import { passageOf, passing } from './passing.ts';

export interface GuardedOptions<P extends unknown[]> {
  /** The arguments to be judged, from the function's parameters; else its single parameter, an object. */
  args?: ((...params: P) => Args) | undefined;
  /** With it, a held call waits for its person; without it, a held call throws ToolCallPending. */
  listener?: ApprovalListener | undefined;
  /** With a listener: how long to wait for the person. Without: bounds the check. */
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Made from the environment, at the first call, when left out. */
  client?: Toolgate | undefined;
}

export function guarded<P extends unknown[], R>(
  server: string,
  tool: string,
  fn: (...params: P) => R,
  { args: argsOf = onlyParameter, listener, client, ...bounds }: GuardedOptions<P> = {},
): (...params: P) => Promise<Awaited<R>> {
  let gate = client;
  return async function (this: unknown, ...params: P): Promise<Awaited<R>> {
    gate ??= new Toolgate();
    const args = argsOf(...params);
    const judged = JSON.stringify(args);
    const verdict =
      listener === undefined
        ? await gate.guard(server, tool, args, bounds)
        : await gate.guardAndWait(server, tool, args, { ...bounds, listener });
    if (JSON.stringify(argsOf(...params)) !== judged)
      throw refused('The arguments changed while the verdict was on its way.');
    return passing(passageOf(gate, verdict, { signal: bounds.signal }), () => fn.apply(this, params));
  };
}

/** More than one parameter, or another kind, would be run without having been judged. */
function onlyParameter(...params: unknown[]): Args {
  const [only = {}] = params;
  if (params.length <= 1 && typeof only === 'object' && only !== null && !Array.isArray(only)) return only;
  throw refused('Give `args`, which maps the parameters to an object: they are not one object.');
}

function refused(message: string): InvalidRequest {
  return new InvalidRequest(message, null, null, 'invalid_request');
}
