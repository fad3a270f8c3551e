// OpenAI Agents SDK. A function tool is run by `invoke`, with the arguments as the text that the model wrote; the SDK
// validates them behind it. A refusal is the tool's result, as the SDK does with a rejected call, and the run goes on.

import { ToolCallRefused } from '../errors.ts';
import { type Ask, asking, type GuardToolsOptions } from './asking.ts';
import { mapTools, replaced, type Tools, unguardable } from './tools.ts';

export type { GuardToolsOptions } from './asking.ts';

interface FunctionTool {
  type: 'function';
  name: string;
  invoke(context: unknown, input: string, details?: Details): Promise<unknown>;
  outputSchema?: unknown;
  errorFunction?: ((context: unknown, error: unknown, details?: Details) => unknown) | null;
}

interface Details {
  signal?: AbortSignal;
}

/** The same tools, each of which asks before it runs. */
export function guardTools<T extends Tools>(tools: T, options: GuardToolsOptions): T {
  const ask = asking(options);
  return mapTools(tools, (tool, key) => {
    if (!isFunctionTool(tool))
      throw unguardable(nameOf(tool, key), 'it is not a function tool of this process.');
    return guarded(tool, ask);
  });
}

function guarded(tool: FunctionTool, ask: Ask): FunctionTool {
  return replaced(tool, {
    async invoke(context, input, details) {
      try {
        await ask(tool.name, argumentsIn(input), details?.signal);
      } catch (error) {
        if (!(error instanceof ToolCallRefused)) throw error;
        return refused(tool, error, context, details);
      }
      // The text that was judged, which cannot have changed.
      return tool.invoke(context, input, details);
    },
  });
}

/** A tool that promises a shape of its results has a function that makes one of an error, or lets it end the run. */
function refused(tool: FunctionTool, refusal: ToolCallRefused, context: unknown, details?: Details): unknown {
  if (tool.outputSchema === undefined) return refusal.message;
  if (typeof tool.errorFunction !== 'function') throw refusal;
  return tool.errorFunction(context, refusal, details);
}

/** Text that is not JSON is judged as it is: a tool that declares no parameters gets it so. */
function argumentsIn(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

function isFunctionTool(tool: object): tool is FunctionTool {
  const { type, name, invoke } = (tool ?? {}) as Partial<FunctionTool>;
  return type === 'function' && typeof name === 'string' && typeof invoke === 'function';
}

function nameOf(tool: object, key: string): string {
  const { name } = (tool ?? {}) as { name?: unknown };
  return typeof name === 'string' ? name : key;
}
