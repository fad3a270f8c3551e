// The script in the place of a model. It prints what a model would read: the results of its calls.

import type { MastraModelConfig } from '@mastra/core/llm';
import { DONE, SCRIPT } from '../desk.ts';

type Model = Extract<MastraModelConfig, { specificationVersion: 'v2' }>;

let turn = 0;

export const scriptedModel = {
  specificationVersion: 'v2',
  provider: 'scripted',
  modelId: 'scripted',
  supportedUrls: {},

  async doGenerate({ prompt }) {
    const heard = prompt.at(-1);
    if (heard?.role === 'tool')
      for (const { toolName, output } of heard.content)
        if ('value' in output) console.log(`${toolName}: ${output.value}`);
    const next = SCRIPT[turn++];
    return {
      content:
        next === undefined
          ? [{ type: 'text', text: DONE }]
          : [
              {
                type: 'tool-call',
                toolCallId: `${turn}`,
                toolName: next.name,
                input: JSON.stringify(next.args),
              },
            ],
      finishReason: next === undefined ? 'stop' : 'tool-calls',
      usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
      warnings: [],
    };
  },

  async doStream() {
    throw new Error('This script is not streamed.');
  },
} satisfies Model;
