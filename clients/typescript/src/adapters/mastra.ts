// Mastra. A tool is run by `execute`. A refusal is thrown: an agent gives its message to the model and goes on, and a step
// of a workflow fails.
//
// `execute` of Mastra's own tools applies the schema once more, or for the first time, behind the guard (read in
// @mastra/core 1.71). So the schema is applied before the call is judged, and must change nothing when it is applied again.

import { InvalidRequest, ToolCallRefused } from '../errors.ts';
import type { Ask, GuardToolsOptions } from './asking.ts';
import { guardExecute } from './execute.ts';

export type { GuardToolsOptions } from './asking.ts';

interface OwnTool {
  id: string;
  inputSchema: { '~standard': { validate(value: unknown): Outcome | Promise<Outcome> } };
}

type Outcome = { value: unknown; issues?: undefined } | { issues: readonly unknown[] };

/** The same tools, each of which asks before it runs. */
export function guardTools<T extends Readonly<Record<string, object>>>(
  tools: T,
  options: GuardToolsOptions,
): T {
  return guardExecute(tools, options, (tool, ask) => (isOwn(tool) ? settledFirst(tool, ask) : ask));
}

function settledFirst(tool: OwnTool, ask: Ask): Ask {
  return async (name, args, signal) => ask(name, (await settled(tool, args)) as typeof args, signal);
}

/** The arguments as the schema makes them, if it would not change them further. */
async function settled({ inputSchema }: OwnTool, args: unknown): Promise<unknown> {
  try {
    const once = await inputSchema['~standard'].validate(args);
    if (once.issues !== undefined) throw refused('The arguments do not fit the schema of the tool.');
    const twice = await inputSchema['~standard'].validate(once.value);
    if (twice.issues !== undefined || JSON.stringify(twice.value) !== JSON.stringify(once.value))
      throw refused('The schema of the tool changes its arguments each time it is applied.');
    return once.value;
  } catch (error) {
    throw new ToolCallRefused(error);
  }
}

/** The tools of the AI SDK, which Mastra takes as well, have no id, and apply no schema themselves. */
function isOwn(tool: object): tool is OwnTool {
  const { id, inputSchema } = tool as Partial<OwnTool>;
  return typeof id === 'string' && typeof inputSchema === 'object' && '~standard' in (inputSchema ?? {});
}

function refused(message: string): InvalidRequest {
  return new InvalidRequest(message, null, null, 'invalid_request');
}
