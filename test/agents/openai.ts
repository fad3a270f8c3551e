// The model's side of OpenAI's Responses API, streamed, as Codex asks it.

import { type Call, type Dialect, eventStream } from './model.ts';

interface Item {
  type: string;
  output?: string | { text?: string }[] | { content?: string };
}

interface Tool {
  type: string;
  name?: string;
  parameters?: { properties?: object };
}

/** Tools of an MCP server are called by their own name in the server's namespace. */
const item = ({ name, namespace, args }: Call, id: string) =>
  typeof args['input'] === 'string' && name === 'apply_patch'
    ? { type: 'custom_tool_call', id, call_id: id, name, input: args['input'], status: 'completed' }
    : {
        type: 'function_call',
        id,
        call_id: id,
        name,
        ...(namespace !== undefined && { namespace }),
        arguments: JSON.stringify(args),
        status: 'completed',
      };

const DONE = {
  type: 'message',
  id: 'msg_done',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Done.', annotations: [] }],
};

const OUTPUTS = ['function_call_output', 'custom_tool_call_output', 'local_shell_call_output'];

function textOf({ output }: Item): string {
  if (typeof output === 'string') return output;
  if (Array.isArray(output)) return output.map(({ text = '' }) => text).join('');
  return output?.content ?? '';
}

export const openai: Dialect = {
  results(path, body) {
    if (!path.endsWith('/responses')) return null;
    const input = (body['input'] ?? []) as Item[];
    // The results of the last calls stand at the end, perhaps with remarks of the agent between them.
    const called = input.findLastIndex(({ type }) => type.endsWith('_call'));
    return input
      .slice(called)
      .filter(({ type }) => OUTPUTS.includes(type))
      .map(textOf);
  },
  aside: () => Response.json({ models: [], data: [] }),
  offered: body =>
    (body['tools'] as Tool[]).map(({ name, type, parameters }) => ({
      name: name ?? type,
      args: Object.keys(parameters?.properties ?? {}),
    })),
  answer(calls, turn) {
    const id = `resp_${turn}`;
    const output = calls.length === 0 ? [DONE] : calls.map((call, at) => item(call, `call_${turn}_${at}`));
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    const event = (type: string, more: object) => ({ event: type, data: { type, ...more } });
    return eventStream([
      event('response.created', { response: { id, status: 'in_progress', output: [] } }),
      ...output.flatMap((each, output_index) => [
        event('response.output_item.added', { output_index, item: each }),
        event('response.output_item.done', { output_index, item: each }),
      ]),
      event('response.completed', { response: { id, status: 'completed', output, usage } }),
    ]);
  },
};
