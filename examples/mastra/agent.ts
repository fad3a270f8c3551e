// Mastra: the tools are the usual ones, and `guardTools` puts the guard in front of all of them.

import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { guardTools } from '@toolgate/client/mastra';
import { z } from 'zod';
import { desk, SCRIPT } from '../desk.ts';
import { listener } from '../listener.ts';
import { scriptedModel } from './model.ts';

const tools = {
  get_issue: createTool({
    id: 'get_issue',
    description: 'Reads an issue.',
    inputSchema: z.object({ number: z.number() }),
    execute: desk.get_issue,
  }),
  delete_repo: createTool({
    id: 'delete_repo',
    description: 'Deletes a repository.',
    inputSchema: z.object({ name: z.string() }),
    execute: desk.delete_repo,
  }),
  create_issue: createTool({
    id: 'create_issue',
    description: 'Files an issue.',
    inputSchema: z.object({ title: z.string() }),
    execute: desk.create_issue,
  }),
};

const agent = new Agent({
  id: 'desk',
  name: 'Desk',
  instructions: 'Use the tools.',
  tools: guardTools(tools, { server: 'github', listener }),
  model: scriptedModel, // Your model goes here: 'openai/…', 'anthropic/…'.
});
const { text } = await agent.generate('Look after issue 1.', { maxSteps: SCRIPT.length + 1 });
console.log(text);
