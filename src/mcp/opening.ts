// How a call waits until an upstream is open, and what is said of one that is not.

import { inSeconds } from './time-limit.ts';
import { whyEnded } from './upstream-request.ts';
import { UpstreamError } from './wire.ts';

/** Waits until the call ends or its patience does. The opening goes on without it. */
export function waitFor<T>(
  opening: Promise<T>,
  signal: AbortSignal,
  patience: { ms: number; late: () => Error } | null,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const cancelled = () => reject(whyEnded(signal));
  const timer = patience === null ? undefined : setTimeout(() => reject(patience.late()), patience.ms);
  signal.addEventListener('abort', cancelled);
  opening.then(resolve, reject).finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', cancelled);
  });
  return promise;
}

/** A command has not finished starting. The start goes on in the background. */
export class StillStarting extends UpstreamError {
  constructor(soFarMs: number, startMs: number) {
    const soFar = inSeconds(Math.round(soFarMs / 1000) * 1000);
    super(
      `the command is still starting: it has taken ${soFar} of the ${inSeconds(startMs)} that ` +
        'TOOLGATE_UPSTREAM_START gives it (a first start may have to download it); call again in a moment',
    );
  }
}

export function tooSlow(isCommand: boolean, openingMs: number): UpstreamError {
  const within = inSeconds(openingMs);
  if (!isCommand) return new UpstreamError(`the upstream did not answer within ${within}`);
  return new UpstreamError(
    `the command did not say that it is ready within ${within} of its start; TOOLGATE_STDIO_STDERR=inherit shows ` +
      'its output, TOOLGATE_UPSTREAM_START gives it more time',
  );
}

/** The server file declares no such command. */
export class NotDeclared extends UpstreamError {
  constructor(name: string) {
    super(`no stdio server "${name}" is declared in the server file (toolgate.yaml)`);
  }
}

/** We ended the opening ourselves, so it is no failure of the upstream. */
export class Closed extends UpstreamError {}
