// LangChain. Every tool class runs its function by `_call`, with the arguments as the schema has made them. A refusal is
// the tool's content, in a message of status `error`: an error that is thrown would end most runs. So is the reason why a
// result is withheld.

import { ToolCallRefused, ToolResultWithheld } from '../errors.ts';
import { type Passage, running } from '../passing.ts';
import { type Ask, asking, type GuardToolsOptions, type Permit } from './asking.ts';
import { passedOn } from './langchain-result.ts';
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
      const isPair = tool.responseFormat === 'content_and_artifact';
      const tell = (error: unknown) => {
        if (!(error instanceof ToolCallRefused || error instanceof ToolResultWithheld)) throw error;
        onRefusal();
        return isPair ? [error.message, undefined] : error.message;
      };
      let permit: Permit<unknown>;
      try {
        permit = await ask(tool.name, args, config?.signal);
      } catch (error) {
        return tell(error);
      }
      const passage = { ...permit, passError: passErrorOf(permit) };
      const result = await running(passage, () => tool._call(permit.args, manager, config));
      if (!isGenerator(result)) return passedOn(result, isPair, passage).catch(tell);
      if (!permit.isLookedAt) return reporting(result, isPair, passage);
      return passedOn(await running(passage, () => endOf(result)), isPair, passage).catch(tell);
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

/** An interrupt and the like are told to the graph by being thrown: they are no error, and no model sees them. */
function passErrorOf({ passError }: Passage): Passage['passError'] {
  return async error => {
    const isOfGraph = (error as { is_bubble_up?: unknown } | null)?.is_bubble_up === true;
    return isOfGraph ? error : passError(error);
  };
}

/** A tool that streams: what it returns at its end is the result. */
async function* reporting(steps: AsyncGenerator, isPair: boolean, passage: Passage): AsyncGenerator {
  const result = yield* steps;
  return passedOn(result, isPair, passage);
}

/** The same where results are looked at: a step may show what the result may not, so none is shown. */
async function endOf(steps: AsyncGenerator): Promise<unknown> {
  let step = await steps.next();
  while (step.done !== true) step = await steps.next();
  return step.value;
}

function isGenerator(result: unknown): result is AsyncGenerator {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result && 'next' in result;
}

/** Whether `invoke` is the one of the base class, which defines `call` as well and leaves `_call` to the others. */
function runsByCall(tool: object): boolean {
  let owner: object | null = tool;
  while (owner !== null && !Object.hasOwn(owner, 'invoke')) owner = Object.getPrototypeOf(owner);
  return owner !== null && Object.hasOwn(owner, 'call') && !Object.hasOwn(owner, '_call');
}
