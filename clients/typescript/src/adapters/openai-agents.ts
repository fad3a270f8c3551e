// OpenAI Agents SDK. A function tool is run by `invoke`, with the arguments as the text that the model wrote. A refusal is
// the tool's result, as the SDK does with a rejected call, and the run goes on.
//
// The tool's schema is applied behind `invoke`, out of reach. Its runner tells a function of its own what came of it, right
// before the tool runs (read in @openai/agents 0.20): there, a tool is stopped whose schema has changed what was judged.
// `invoke` also makes a text of an error, which may quote the arguments: such a text is not reported as the tool's result.

import { InvalidRequest, ToolCallRefused, ToolResultWithheld } from '../errors.ts';
import { type Ask, asking, type GuardToolsOptions, type Permit } from './asking.ts';
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
  [symbol: symbol]: unknown;
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
      let permit: Permit<unknown>;
      try {
        permit = await ask(tool.name, argumentsIn(input), details?.signal);
      } catch (error) {
        if (!(error instanceof ToolCallRefused)) throw error;
        return refused(tool, error, context, details);
      }
      const stopped: ToolCallRefused[] = [];
      let fits = false;
      const watched = watching(details, args => {
        fits = true;
        if (args === input || sorted(args) === sorted(permit.args)) return;
        stopped.push(new ToolCallRefused(CHANGED));
        throw stopped[0];
      });
      // The text is the one that was judged.
      const result = await tool.invoke(context, input, watched).catch(async error => {
        if (error !== stopped[0]) throw await permit.passError(error);
      });
      if (stopped[0] !== undefined) return refused(tool, stopped[0], context, details);
      try {
        return await permit.passOn(result, { isError: isErrorText(result), isUntold: !fits });
      } catch (error) {
        if (!(error instanceof ToolResultWithheld)) throw error;
        return refused(tool, error, context, details);
      }
    },
  });
}

const CHANGED = new InvalidRequest(
  'The schema of the tool changes the arguments that were judged.',
  null,
  null,
  'invalid_request',
);

/** Its symbol is not exported, but is in the details of every call that the runner makes. */
const TOLD = 'openai.agents.functionToolParsedInputCallback';

function watching(details: Details | undefined, watch: (args: unknown) => void): Details | undefined {
  const symbol = Object.getOwnPropertySymbols(details ?? {}).find(({ description }) => description === TOLD);
  if (details === undefined || symbol === undefined) return details;
  const tell = details[symbol];
  return replaced(details, {
    [symbol]: (args: unknown) => {
      watch(args);
      if (typeof tell === 'function') tell(args);
    },
  });
}

/** As the SDK's own function words it; older versions add the error. */
function isErrorText(result: unknown): boolean {
  return typeof result === 'string' && result.startsWith('An error occurred while running the tool.');
}

/** As JSON, whatever the order of the names in it. The SDK has models write null for what is optional, and leaves it out. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, each) => {
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return each;
    const given = Object.entries(each).filter(([, inner]) => inner !== null);
    return Object.fromEntries(given.sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** A tool that promises a shape of its results has a function that makes one of an error, or lets it end the run. */
function refused(
  tool: FunctionTool,
  refusal: ToolCallRefused | ToolResultWithheld,
  context: unknown,
  details?: Details,
): unknown {
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
