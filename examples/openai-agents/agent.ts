// OpenAI Agents SDK: the tools are the usual ones, and `guardTools` puts the guard in front of all of them.

import { Agent, run, setTracingDisabled, tool } from '@openai/agents';
import { guardTools } from '@toolgate/client/openai-agents';
import { z } from 'zod';
import { desk } from '../desk.ts';
import { listener } from '../listener.ts';
import { ScriptedModel } from './model.ts';

setTracingDisabled(true);

const tools = [
  tool({
    name: 'get_issue',
    description: 'Reads an issue.',
    parameters: z.object({ number: z.number() }),
    execute: desk.get_issue,
  }),
  tool({
    name: 'delete_repo',
    description: 'Deletes a repository.',
    parameters: z.object({ name: z.string() }),
    execute: desk.delete_repo,
  }),
  tool({
    name: 'create_issue',
    description: 'Files an issue.',
    parameters: z.object({ title: z.string() }),
    execute: desk.create_issue,
  }),
];

const agent = new Agent({
  name: 'Desk',
  instructions: 'Use the tools.',
  tools: guardTools(tools, { server: 'github', listener }),
  model: new ScriptedModel(), // Leave it out to have the SDK's own.
});
agent.on('agent_tool_end', (_context, { name }, result) => console.log(`${name}: ${result}`));
const result = await run(agent, 'Look after issue 1.');
console.log(result.finalOutput);
