// What is said of an upstream that takes long to open.

import { inSeconds } from './time-limit.ts';
import { UpstreamError } from './wire.ts';

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
