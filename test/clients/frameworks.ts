// The frameworks whose tools the TypeScript client guards, as their packages are, each with a model that follows a
// script. They are installed apart from the rest (scripts/extras.ts), so they are found at run time, and have no types
// here: npm run check compiles the examples.

import { join } from 'node:path';
import * as langchain from '../../clients/typescript/src/adapters/langchain.ts';
import * as mastra from '../../clients/typescript/src/adapters/mastra.ts';
import * as openai from '../../clients/typescript/src/adapters/openai-agents.ts';
import type { Tools } from '../../clients/typescript/src/adapters/tools.ts';
import * as vercel from '../../clients/typescript/src/adapters/vercel-ai.ts';
import type { Extra } from '../../scripts/extras.ts';
import { needExtra } from '../support/need.ts';
import { ROOT } from '../support/service.ts';

export interface Call {
  name: string;
  args: Record<string, unknown>;
}

export type Run = (name: string, args: unknown, signal: AbortSignal | undefined) => Promise<unknown>;

export interface Framework {
  name: string;
  guardTools: (tools: never, options: vercel.GuardToolsOptions) => Tools;
  /** Tools of its kind with these names. All take an object that may have `text` and `number`. */
  tools: (names: string[], run: Run) => Tools;
  /** What the model is told about its calls, turn by turn. Calls of one turn are made at once. */
  converse: (tools: Tools, turns: Call[][], signal?: AbortSignal) => Promise<string[]>;
}

/** A package as an example would import it. */
export const load = (name: string, folder: Extra = 'examples') =>
  import(Bun.resolveSync(name, join(ROOT, folder)));

export const FRAMEWORKS: Framework[] = [];

const has = needExtra('examples');
const DONE = 'That is all.';

function wantEnd(text: unknown): void {
  if (text !== DONE) throw new Error('The run ended before the script did.');
}

if (has) {
  const { z } = await load('zod');
  const schema = z.object({ text: z.string().optional(), number: z.number().optional() });

  const { Agent, run: runAgent, setTracingDisabled, tool, Usage } = await load('@openai/agents');
  setTracingDisabled(true);
  FRAMEWORKS.push({
    name: 'OpenAI Agents SDK',
    guardTools: openai.guardTools,
    tools: (names, run) =>
      names.map(name => {
        const parameters = z.object({ text: z.string().nullish(), number: z.number().nullish() });
        const execute = (args: object, _: unknown, more?: { signal?: AbortSignal }) =>
          run(name, args, more?.signal);
        return tool({ name, description: name, parameters, execute });
      }),
    async converse(tools, turns, signal) {
      let turn = 0;
      const getResponse = async () => {
        const calls = turns[turn++]?.map(({ name, args }, index) => ({
          type: 'function_call',
          callId: `${turn}.${index}`,
          name,
          arguments: JSON.stringify(args),
          status: 'completed',
        }));
        const content = [{ type: 'output_text', text: DONE }];
        const said = { type: 'message', role: 'assistant', status: 'completed', content };
        return { usage: new Usage(), output: calls ?? [said] };
      };
      const agent = new Agent({ name: 'Scripted', instructions: '', tools, model: { getResponse } });
      const { finalOutput, newItems } = await runAgent(agent, 'Go.', { signal });
      wantEnd(finalOutput);
      type Item = { type: string; output: unknown };
      return newItems
        .filter((each: Item) => each.type === 'tool_call_output_item')
        .map((each: Item) => each.output);
    },
  });

  const { tool: langchainTool } = await load('@langchain/core/tools');
  FRAMEWORKS.push({
    name: 'LangChain',
    guardTools: langchain.guardTools,
    tools: (names, run) =>
      names.map(name => {
        const runs = (args: object, config: { signal?: AbortSignal }) => run(name, args, config.signal);
        return langchainTool(runs, { name, description: name, schema });
      }),
    async converse(tools, turns, signal) {
      const told: string[] = [];
      const byName = new Map((tools as { name: string }[]).map(each => [each.name, each]));
      for (const [turn, calls] of turns.entries()) {
        const messages = calls.map(async (call, index) => {
          const wanted = byName.get(call.name) as unknown as {
            invoke: (...params: unknown[]) => Promise<{ text: string }>;
          };
          const input = { ...call, id: `${turn}.${index}`, type: 'tool_call' };
          try {
            return (await wanted.invoke(input, { signal })).text;
          } catch (error) {
            signal?.throwIfAborted();
            return (error as Error).message;
          }
        });
        told.push(...(await Promise.all(messages)));
      }
      return told;
    },
  });

  const ai = await load('ai');
  const { MockLanguageModelV3 } = await load('ai/test');
  FRAMEWORKS.push({
    name: 'Vercel AI SDK',
    guardTools: vercel.guardTools,
    tools: (names, run) =>
      Object.fromEntries(
        names.map(name => {
          const execute = (input: object, { abortSignal }: { abortSignal?: AbortSignal }) =>
            run(name, input, abortSignal);
          return [name, ai.tool({ description: name, inputSchema: schema, execute })];
        }),
      ),
    async converse(tools, turns, signal) {
      const tokens = { total: 0 };
      const usage = { inputTokens: tokens, outputTokens: tokens };
      const doGenerate = [...turns.map(v2Calls), [{ type: 'text', text: DONE }]].map((content, turn) => ({
        content,
        finishReason: { unified: turn < turns.length ? 'tool-calls' : 'stop' },
        usage,
        warnings: [],
      }));
      const { text, steps } = await ai.generateText({
        model: new MockLanguageModelV3({ doGenerate }),
        tools,
        prompt: 'Go.',
        stopWhen: ai.stepCountIs(turns.length + 1),
        abortSignal: signal,
      });
      wantEnd(text);
      type Part = { type: string; output?: unknown; error?: Error };
      return steps
        .flatMap(({ content }: { content: Part[] }) => content)
        .filter(({ type }: Part) => type === 'tool-result' || type === 'tool-error')
        .map(({ output, error }: Part) => error?.message ?? output);
    },
  });
}

if (needExtra('examples/mastra')) {
  const { Agent } = await load('@mastra/core/agent', 'examples/mastra');
  const { createTool } = await load('@mastra/core/tools', 'examples/mastra');
  const { z } = await load('zod', 'examples/mastra');
  const inputSchema = z.object({ text: z.string().optional(), number: z.number().optional() });
  FRAMEWORKS.push({
    name: 'Mastra',
    guardTools: mastra.guardTools,
    tools: (names, run) =>
      Object.fromEntries(
        names.map(name => {
          const execute = (args: object, { abortSignal }: { abortSignal?: AbortSignal }) =>
            run(name, args, abortSignal);
          return [name, createTool({ id: name, description: name, inputSchema, execute })];
        }),
      ),
    async converse(tools, turns, signal) {
      const told: string[] = [];
      let turn = 0;
      type Heard = { role: string; content: { output: { value: unknown } }[] };
      const doGenerate = async ({ prompt }: { prompt: Heard[] }) => {
        const heard = prompt.at(-1);
        if (heard?.role === 'tool') told.push(...heard.content.map(each => String(each.output.value)));
        const calls = turns[turn++];
        return {
          content: calls === undefined ? [{ type: 'text', text: DONE }] : v2Calls(calls, turn),
          finishReason: calls === undefined ? 'stop' : 'tool-calls',
          usage: {},
          warnings: [],
        };
      };
      const names = { specificationVersion: 'v2', provider: 'scripted', modelId: 'scripted' };
      const model = { ...names, supportedUrls: {}, doGenerate };
      const agent = new Agent({ id: 'scripted', name: 'Scripted', instructions: '', tools, model });
      const more = { maxSteps: turns.length + 1, abortSignal: signal };
      const { text } = await agent.generate('Go.', more);
      // An aborted run ends with what there is.
      signal?.throwIfAborted();
      wantEnd(text);
      return told;
    },
  });
}

/** Calls as models of the AI SDK, which Mastra uses too, make them. */
function v2Calls(calls: Call[], turn: number): object[] {
  return calls.map(({ name, args }, index) => ({
    type: 'tool-call',
    toolCallId: `${turn}.${index}`,
    toolName: name,
    input: JSON.stringify(args),
  }));
}
