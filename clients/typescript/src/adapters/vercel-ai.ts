// Vercel AI SDK. A tool is run by `execute`, with the input as the schema has made it. A refusal is thrown: the SDK makes
// a `tool-error` of it, gives its message to the model, and the run goes on.

import type { GuardToolsOptions } from './asking.ts';
import { guardExecute } from './execute.ts';

export type { GuardToolsOptions } from './asking.ts';

/** The same tools, each of which asks before it runs. */
export function guardTools<T extends Readonly<Record<string, object>>>(
  tools: T,
  options: GuardToolsOptions,
): T {
  return guardExecute(tools, options);
}
