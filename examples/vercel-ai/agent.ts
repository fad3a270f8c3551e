// Vercel AI SDK: the tools are the usual ones, and `guardTools` puts the guard in front of all of them.

import { guardTools } from '@toolgate/client/vercel-ai';
import { generateText, stepCountIs, tool } from 'ai';
import { z } from 'zod';
import { desk, SCRIPT } from '../desk.ts';
import { listener } from '../listener.ts';
import { scriptedModel } from './model.ts';

const tools = {
  get_issue: tool({
    description: 'Reads an issue.',
    inputSchema: z.object({ number: z.number() }),
    execute: desk.get_issue,
  }),
  delete_repo: tool({
    description: 'Deletes a repository.',
    inputSchema: z.object({ name: z.string() }),
    execute: desk.delete_repo,
  }),
  create_issue: tool({
    description: 'Files an issue.',
    inputSchema: z.object({ title: z.string() }),
    execute: desk.create_issue,
  }),
};

const { text } = await generateText({
  model: scriptedModel, // Your model goes here: anthropic('…'), openai('…').
  tools: guardTools(tools, { server: 'github', listener }),
  prompt: 'Look after issue 1.',
  stopWhen: stepCountIs(SCRIPT.length + 1),
  onStepFinish: ({ content }) => {
    for (const part of content) {
      if (part.type === 'tool-result') console.log(`${part.toolName}: ${part.output}`);
      if (part.type === 'tool-error') console.log(`${part.toolName}: ${(part.error as Error).message}`);
    }
  },
});
console.log(text);
