// The script in the place of a model.

import { MockLanguageModelV3 } from 'ai/test';
import { DONE, SCRIPT } from '../desk.ts';

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

export const scriptedModel = new MockLanguageModelV3({
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
