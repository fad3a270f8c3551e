// The script in the place of a model.

import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, type BaseMessage } from '@langchain/core/messages';
import type { ChatResult } from '@langchain/core/outputs';
import { DONE, SCRIPT } from '../desk.ts';

export class ScriptedModel extends BaseChatModel {
  override _llmType(): string {
    return 'scripted';
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const turn = messages.filter(AIMessage.isInstance).length;
    const next = SCRIPT[turn];
    const message =
      next === undefined
        ? new AIMessage(DONE)
        : new AIMessage({ content: '', tool_calls: [{ ...next, id: `${turn}`, type: 'tool_call' }] });
    return { generations: [{ text: message.text, message }] };
  }
}
