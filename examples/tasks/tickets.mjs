// A small tool server with one tool, which files a ticket: a line of tickets.txt in the folder where the service runs.
// Speaks MCP over standard input and output, and needs Node alone.

import { appendFileSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const FILE = 'tickets.txt';

const TOOLS = [
  {
    name: 'file_ticket',
    description: 'Files a ticket.',
    inputSchema: {
      type: 'object',
      properties: { title: { type: 'string', description: 'What the ticket is about, in one line.' } },
      required: ['title'],
    },
  },
];

function fileTicket({ title }) {
  appendFileSync(FILE, `${String(title).replaceAll('\n', ' ')}\n`);
  const number = readFileSync(FILE, 'utf8').trimEnd().split('\n').length;
  return { content: [{ type: 'text', text: `Ticket ${number} is filed: ${title}` }] };
}

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'tickets', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: TOOLS }),
  'tools/call': ({ arguments: given }) => fileTicket(given),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = METHODS[method];
  const outcome =
    answer === undefined
      ? { error: { code: -32601, message: 'There is no such method.' } }
      : { result: answer(params) };
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }));
}
