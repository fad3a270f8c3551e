// The model's side of Anthropic's Messages API, streamed, as Claude Code asks it.

import { type Call, type Dialect, eventStream } from './model.ts';

interface Block {
  type: string;
  content?: string | { text?: string }[];
}
interface Tool {
  name: string;
  input_schema?: { properties?: object };
}
interface Message {
  role: string;
  content: string | Block[];
}

const textOf = ({ content }: Block): string =>
  typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('');

function message(calls: Call[], turn: number, isStreamed: boolean): Response {
  const blocks = calls.map(({ name, args }, at) => ({
    type: 'tool_use',
    id: `toolu_${turn}_${at}`,
    name,
    input: args,
  }));
  const head = {
    id: `msg_${turn}`,
    type: 'message',
    role: 'assistant',
    model: 'scripted',
    stop_sequence: null,
  };
  const usage = { input_tokens: 1, output_tokens: 1 };
  const stop_reason = calls.length === 0 ? 'end_turn' : 'tool_use';
  const content = calls.length === 0 ? [{ type: 'text', text: 'Done.' }] : blocks;
  if (!isStreamed) return Response.json({ ...head, content, stop_reason, usage });
  return eventStream([
    event('message_start', { message: { ...head, content: [], stop_reason: null, usage } }),
    ...content.flatMap((block, index) => blockEvents(block, index)),
    event('message_delta', { delta: { stop_reason, stop_sequence: null }, usage }),
    event('message_stop', {}),
  ]);
}

const event = (type: string, more: object) => ({ event: type, data: { type, ...more } });

function blockEvents(block: { type: string; text?: string; input?: unknown }, index: number) {
  const isText = block.type === 'text';
  const begun = isText ? { type: 'text', text: '' } : { ...block, input: {} };
  const delta = isText
    ? { type: 'text_delta', text: block.text }
    : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };
  return [
    event('content_block_start', { index, content_block: begun }),
    event('content_block_delta', { index, delta }),
    event('content_block_stop', { index }),
  ];
}

export const anthropic: Dialect = {
  results(path, body) {
    const tools = body['tools'] as unknown[] | undefined;
    if (path !== '/v1/messages' || !tools?.length) return null;
    const last = (body['messages'] as Message[]).findLast(({ role }) => role === 'user');
    const blocks = typeof last?.content === 'object' ? last.content : [];
    return blocks.filter(({ type }) => type === 'tool_result').map(textOf);
  },
  aside(path, body) {
    if (path !== '/v1/messages') return Response.json({ input_tokens: 1 });
    return message([], 0, body['stream'] === true);
  },
  offered: body =>
    (body['tools'] as Tool[]).map(({ name, input_schema }) => ({
      name,
      args: Object.keys(input_schema?.properties ?? {}),
    })),
  answer: (calls, turn) => message(calls, turn, true),
};
