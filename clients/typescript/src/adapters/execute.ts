// Objects of tools that are run by `execute`, with the abort signal in its second parameter: those of the Vercel AI SDK
// and of Mastra. A refusal is thrown, and so is that a result is withheld.

import { passing } from '../passing.ts';
import { type Ask, asking, type GuardToolsOptions } from './asking.ts';
import { mapTools, replaced, unguardable } from './tools.ts';

export interface ExecutableTool {
  execute(input: unknown, options?: { abortSignal?: AbortSignal }): unknown;
}

/** `askFor` may change how a tool's call is asked about. */
export function guardExecute<T extends Readonly<Record<string, object>>>(
  tools: T,
  options: GuardToolsOptions,
  askFor: (tool: object, ask: Ask) => Ask = (_, ask) => ask,
): T {
  const ask = asking(options);
  if (Array.isArray(tools)) throw unguardable('in an array', 'its name is unknown: give an object of tools.');
  return mapTools(tools, (tool, name) => {
    if (!isExecutable(tool))
      throw unguardable(name, 'it has no `execute`, so it runs elsewhere: in a browser, or at the provider.');
    return guarded(name, tool, askFor(tool, ask));
  });
}

function guarded(name: string, tool: ExecutableTool, ask: Ask): ExecutableTool {
  if (isGenerator(tool.execute))
    return replaced(tool, {
      async *execute(input, options) {
        const permit = await ask(name, input, options?.abortSignal);
        const results = () => tool.execute(permit.args, options) as AsyncIterable<unknown>;
        if (permit.isLookedAt) {
          // Each of them shows a part of what the last one may not.
          yield await passing(permit, () => lastOf(results()));
          return;
        }
        let last: unknown;
        for await (const each of results()) {
          last = each;
          yield each;
        }
        // Only then is the last one the result, which the model gets.
        await permit.passOn(last);
      },
    });
  return replaced(tool, {
    async execute(input, options) {
      const permit = await ask(name, input, options?.abortSignal);
      return passing(permit, () => {
        const returned = tool.execute(permit.args, options);
        return isIterable(returned) ? lastOf(returned) : returned;
      });
    },
  });
}

/** The AI SDK sees whether a tool streams by what `execute` returns, before there is a verdict. */
function isGenerator(execute: unknown): boolean {
  return Object.prototype.toString.call(execute) === '[object AsyncGeneratorFunction]';
}

function isIterable(result: unknown): result is AsyncIterable<unknown> {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result;
}

/** The result of a tool that streams although its function does not say so: what it gives last, as in the SDK. */
async function lastOf(results: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown;
  for await (const each of results) last = each;
  return last;
}

function isExecutable(tool: object): tool is ExecutableTool {
  return typeof (tool as Partial<ExecutableTool> | null)?.execute === 'function';
}
