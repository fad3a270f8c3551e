// Mastra. Its tools, and those of the Vercel AI SDK that it takes as well, are run by `execute`, with the abort signal in
// the second parameter. A refusal is thrown here too: an agent gives its message to the model and goes on, and a step of
// a workflow fails.

export { type GuardToolsOptions, guardTools } from './vercel-ai.ts';
