// LangChain: the function given to `tool` is the guarded one; the loop is the usual one.

import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import type { ChatResult } from '@langchain/core/outputs';
import { type StructuredToolInterface, tool } from '@langchain/core/tools';
import { z } from 'zod';
import { DONE, desk, SCRIPT } from '../desk.ts';
import { guardedTool, stopListening } from '../gate.ts';

const tools: StructuredToolInterface[] = [
  tool(guardedTool('github', 'get_issue', desk.get_issue), {
    name: 'get_issue',
    description: 'Reads an issue.',
    schema: z.object({ number: z.number() }),
  }),
  tool(guardedTool('github', 'delete_repo', desk.delete_repo), {
    name: 'delete_repo',
    description: 'Deletes a repository.',
    schema: z.object({ name: z.string() }),
  }),
  tool(guardedTool('github', 'create_issue', desk.create_issue), {
    name: 'create_issue',
    description: 'Files an issue.',
    schema: z.object({ title: z.string() }),
  }),
];

/** Your model goes here: `new ChatAnthropic({ … }).bindTools(tools)`. */
class ScriptedModel extends BaseChatModel {
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

const model = new ScriptedModel({});
const messages: BaseMessage[] = [new HumanMessage('Look after issue 1.')];
while (true) {
  const reply = await model.invoke(messages);
  messages.push(reply);
  for (const call of reply.tool_calls ?? []) {
    const wanted = tools.find(each => each.name === call.name);
    if (wanted === undefined) throw new Error(`There is no tool ${call.name}.`);
    const result: BaseMessage = await wanted.invoke({ ...call, type: 'tool_call' });
    console.log(`${call.name}: ${result.text}`);
    messages.push(result);
  }
  if (!reply.tool_calls?.length) {
    console.log(reply.text);
    break;
  }
}
stopListening();
