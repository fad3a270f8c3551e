// An agent whose call needs approval, and who sleeps on it: the call is answered by a task, about which the agent asks now
// and then. It may even end meanwhile, since the id of the task is all that it has to remember. Needs Node alone:
//
//   node examples/tasks/agent.mjs "Mend the build"
//   node examples/tasks/agent.mjs --task <id>

import { setTimeout as sleep } from 'node:timers/promises';

const { TOOLGATE_BASE_URL: base = 'http://127.0.0.1:8787', TOOLGATE_API_KEY: key } = process.env;

/** One request of MCP, of the revision 2026-07-28. `name` is what the header Mcp-Name has to repeat. */
async function ask(method, params, name) {
  const response = await fetch(`${base}/mcp`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key}`,
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': method,
      'Mcp-Name': name,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          // This is how a client says that it knows tasks.
          'io.modelcontextprotocol/clientCapabilities': {
            extensions: { 'io.modelcontextprotocol/tasks': {} },
          },
        },
      },
    }),
  });
  const text = await response.text();
  // The answer may come as a stream of events, of which the last one has the result.
  const last = text.match(/^data: (.*)$/gm)?.at(-1);
  const { result, error, detail } = JSON.parse(last?.slice('data: '.length) ?? text);
  if (result === undefined) throw new Error(error?.message ?? detail);
  return result;
}

const TOOL = 'tickets__file_ticket';
const fileTicket = title => ask('tools/call', { name: TOOL, arguments: { title } }, TOOL);
const getTask = taskId => ask('tasks/get', { taskId }, taskId);

/** Asks until the task has ended. A service that cannot be reached is asked again later: it may be started anew. */
async function ended(task) {
  while (task.status === 'working') {
    await sleep(task.pollIntervalMs ?? 5000);
    task = await getTask(task.taskId).catch(error => {
      if (error instanceof TypeError) return task;
      throw error;
    });
  }
  return task;
}

const say = text => console.log(`Agent: ${text}`.trimEnd());
const textOf = ({ content }) => content.map(each => each.text).join('\n');

async function follow(begun, title) {
  say(`task ${begun.taskId} is ${begun.status}. ${begun.statusMessage ?? ''}`);
  const { status, result, error } = await ended(begun);
  if (status === 'completed') return say(textOf(result));
  say(`the task is ${status}. ${error?.message ?? ''}`);
  // The service has lost the call. It is still approved, for one call.
  if (error?.message.endsWith('call again') && title !== undefined) say(textOf(await fileTicket(title)));
}

const [first = 'Mend the build', id] = process.argv.slice(2);
if (first === '--task') await follow(await getTask(id));
else {
  const answer = await fileTicket(first);
  // Without a task, the policy has allowed or denied the call at once.
  if (answer.resultType === 'task') await follow(answer, first);
  else say(textOf(answer));
}
