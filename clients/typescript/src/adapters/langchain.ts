// LangChain. Every tool class runs its function by `_call`, with the arguments as the schema has made them. A refusal is
// the tool's content, in a message of status `error`: an error that is thrown would end most runs.

import { ToolCallRefused } from '../errors.ts';
import { type Ask, asking, type GuardToolsOptions, type Permit } from './asking.ts';
import { mapTools, replaced, type Tools, unguardable } from './tools.ts';

export type { GuardToolsOptions } from './asking.ts';

interface StructuredTool {
  name: string;
  responseFormat?: string;
  call(...params: unknown[]): Promise<unknown>;
  _call(args: unknown, manager?: unknown, config?: { signal?: AbortSignal }): unknown;
}

/** The same tools, each of which asks before it runs. */
export function guardTools<T extends Tools>(tools: T, options: GuardToolsOptions): T {
  const ask = asking(options);
  return mapTools(tools, (tool, key) => {
    const { name, _call, call } = (tool ?? {}) as Partial<StructuredTool>;
    if (typeof name !== 'string' || typeof _call !== 'function' || typeof call !== 'function')
      throw unguardable(String(name ?? key), 'it is not one of the tool classes, and has no function here.');
    if (!runsByCall(tool))
      throw unguardable(name, 'its class has an `invoke` of its own, which need not pass the guard.');
    return guarded(tool as StructuredTool, ask);
  });
}

function guarded(tool: StructuredTool, ask: Ask): StructuredTool {
  const behindGuard =
    (onRefusal: () => void): StructuredTool['_call'] =>
    async (args, manager, config) => {
      let permit: Permit<unknown>;
      try {
        permit = await ask(tool.name, args, config?.signal);
      } catch (error) {
        if (!(error instanceof ToolCallRefused)) throw error;
        onRefusal();
        return tool.responseFormat === 'content_and_artifact' ? [error.message, undefined] : error.message;
      }
      const result = await tool._call(permit.args, manager, config);
      if (isGenerator(result)) return reporting(result, tool, permit);
      await permit.report(contentOf(tool, result));
      return result;
    };

  return replaced(tool, {
    _call: behindGuard(() => {}),
    // LangChain makes a message of what `_call` returns, and knows no refusal: the status is set when it is made.
    async call(this: StructuredTool, ...params) {
      let isRefused = false;
      const _call = behindGuard(() => {
        isRefused = true;
      });
      const result = await tool.call.apply(Object.create(this, { _call: { value: _call } }), params);
      if (isRefused && typeof result === 'object' && result !== null && 'status' in result)
        result.status = 'error';
      return result;
    },
  });
}

/** A tool that streams: what it returns at its end is the result. */
async function* reporting(
  steps: AsyncGenerator,
  tool: StructuredTool,
  permit: Permit<unknown>,
): AsyncGenerator {
  const result = yield* steps;
  await permit.report(contentOf(tool, result));
  return result;
}

function isGenerator(result: unknown): result is AsyncGenerator {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result && 'next' in result;
}

/** What the model gets to see: not the artifact, and of a message that the tool made itself, its content. */
function contentOf({ responseFormat }: StructuredTool, result: unknown): unknown {
  const shown = responseFormat === 'content_and_artifact' && Array.isArray(result) ? result[0] : result;
  if (typeof shown !== 'object' || shown === null || !('tool_call_id' in shown)) return shown;
  const { status, content } = shown as { status?: unknown; content?: unknown };
  return status === 'error' ? undefined : content;
}

/** Whether `invoke` is the one of the base class, which defines `call` as well and leaves `_call` to the others. */
function runsByCall(tool: object): boolean {
  let owner: object | null = tool;
  while (owner !== null && !Object.hasOwn(owner, 'invoke')) owner = Object.getPrototypeOf(owner);
  return owner !== null && Object.hasOwn(owner, 'call') && !Object.hasOwn(owner, '_call');
}
