// The script in the place of a model.

import { type Model, type ModelResponse, Usage } from '@openai/agents';
import { DONE, SCRIPT } from '../desk.ts';

export class ScriptedModel implements Model {
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
