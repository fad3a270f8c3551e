// Vercel AI SDK: `execute` of each tool is the guarded function; nothing else changes.

import { generateText, stepCountIs, tool } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { z } from 'zod';
import { DONE, desk, SCRIPT } from '../desk.ts';
import { guardedTool, stopListening } from '../gate.ts';

const getIssue = guardedTool('github', 'get_issue', desk.get_issue);
const deleteRepo = guardedTool('github', 'delete_repo', desk.delete_repo);
const createIssue = guardedTool('github', 'create_issue', desk.create_issue);

const tools = {
  get_issue: tool({
    description: 'Reads an issue.',
    inputSchema: z.object({ number: z.number() }),
    execute: input => getIssue(input),
  }),
  delete_repo: tool({
    description: 'Deletes a repository.',
    inputSchema: z.object({ name: z.string() }),
    execute: input => deleteRepo(input),
  }),
  create_issue: tool({
    description: 'Files an issue.',
    inputSchema: z.object({ title: z.string() }),
    execute: input => createIssue(input),
  }),
};

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

/** Your model goes here: `anthropic('…')`, `openai('…')`. */
const model = new MockLanguageModelV3({
  doGenerate: [
    ...SCRIPT.map(({ name, args }, index) => ({
      content: [
        { type: 'tool-call' as const, toolCallId: `${index}`, toolName: name, input: JSON.stringify(args) },
      ],
      finishReason: { unified: 'tool-calls' as const, raw: undefined },
      usage,
      warnings: [],
    })),
    {
      content: [{ type: 'text', text: DONE }],
      finishReason: { unified: 'stop', raw: undefined },
      usage,
      warnings: [],
    },
  ],
});

/** The SDK hands what a tool throws to the model, as a result; a guard that cannot be asked ends the run instead. */
type Parts = { content: { type: string; error?: unknown }[] };
const failure = ({ content }: Parts) => content.find(part => part.type === 'tool-error');

const { text, steps } = await generateText({
  model,
  tools,
  prompt: 'Look after issue 1.',
  stopWhen: [stepCountIs(SCRIPT.length + 1), ({ steps }) => steps.some(step => failure(step) !== undefined)],
  onStepFinish: ({ toolResults }) => {
    for (const { toolName, output } of toolResults) console.log(`${toolName}: ${output}`);
  },
});
for (const step of steps) if (failure(step) !== undefined) throw failure(step)?.error;
console.log(text);
stopListening();
