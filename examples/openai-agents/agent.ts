// OpenAI Agents SDK: `execute` of each tool is the guarded function. `errorFunction: null` lets an error end the
// run; by default the SDK would hand it to the model as a result.

import { Agent, type Model, type ModelResponse, run, setTracingDisabled, tool, Usage } from '@openai/agents';
import { z } from 'zod';
import { DONE, desk, SCRIPT } from '../desk.ts';
import { guardedTool, stopListening } from '../gate.ts';

setTracingDisabled(true);

const getIssue = guardedTool('github', 'get_issue', desk.get_issue);
const deleteRepo = guardedTool('github', 'delete_repo', desk.delete_repo);
const createIssue = guardedTool('github', 'create_issue', desk.create_issue);

const tools = [
  tool({
    name: 'get_issue',
    description: 'Reads an issue.',
    parameters: z.object({ number: z.number() }),
    execute: input => getIssue(input),
    errorFunction: null,
  }),
  tool({
    name: 'delete_repo',
    description: 'Deletes a repository.',
    parameters: z.object({ name: z.string() }),
    execute: input => deleteRepo(input),
    errorFunction: null,
  }),
  tool({
    name: 'create_issue',
    description: 'Files an issue.',
    parameters: z.object({ title: z.string() }),
    execute: input => createIssue(input),
    errorFunction: null,
  }),
];

/** Leave `model` out below to have the SDK's own. */
class ScriptedModel implements Model {
  #turn = 0;

  async getResponse(): Promise<ModelResponse> {
    const turn = this.#turn++;
    const next = SCRIPT[turn];
    return { usage: new Usage(), output: next === undefined ? [said(DONE)] : [called(turn, next)] };
  }

  getStreamedResponse(): never {
    throw new Error('This script is not streamed.');
  }
}

const said = (text: string) => ({
  type: 'message' as const,
  role: 'assistant' as const,
  status: 'completed' as const,
  content: [{ type: 'output_text' as const, text }],
});

const called = (turn: number, { name, args }: (typeof SCRIPT)[number]) => ({
  type: 'function_call' as const,
  callId: `${turn}`,
  name,
  arguments: JSON.stringify(args),
  status: 'completed' as const,
});

const agent = new Agent({ name: 'Desk', instructions: 'Use the tools.', tools, model: new ScriptedModel() });
agent.on('agent_tool_end', (_context, { name }, result) => console.log(`${name}: ${result}`));
const result = await run(agent, 'Look after issue 1.');
console.log(result.finalOutput);
stopListening();
