// LangChain: the tools are the usual ones, and `guardTools` puts the guard in front of all of them.

import { type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { type StructuredToolInterface, tool } from '@langchain/core/tools';
import { guardTools } from '@toolgate/client/langchain';
import { z } from 'zod';
import { desk } from '../desk.ts';
import { listener } from '../listener.ts';
import { ScriptedModel } from './model.ts';

const tools = [
  tool(desk.get_issue, {
    name: 'get_issue',
    description: 'Reads an issue.',
    schema: z.object({ number: z.number() }),
  }),
  tool(desk.delete_repo, {
    name: 'delete_repo',
    description: 'Deletes a repository.',
    schema: z.object({ name: z.string() }),
  }),
  tool(desk.create_issue, {
    name: 'create_issue',
    description: 'Files an issue.',
    schema: z.object({ title: z.string() }),
  }),
];

const guarded: StructuredToolInterface[] = guardTools(tools, { server: 'github', listener });

const model = new ScriptedModel({}); // Your model goes here: new ChatAnthropic({ … }).bindTools(guarded).
const messages: BaseMessage[] = [new HumanMessage('Look after issue 1.')];
while (true) {
  const reply = await model.invoke(messages);
  messages.push(reply);
  for (const call of reply.tool_calls ?? []) {
    const wanted = guarded.find(each => each.name === call.name);
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
