// A small MCP server over stdio, run as a program by the service: `<behaviour> <file>`. It writes each call it gets
// into the file before it does anything else, and then behaves well or as badly as it is told.

import { appendFileSync, existsSync, writeSync } from 'node:fs';

const [behaviour = 'good', file = '/dev/null'] = process.argv.slice(2);
const note = (line: string) => appendFileSync(file, `${line}\n`);
const say = (message: unknown): void => {
  process.stdout.write(`${JSON.stringify(message)}\n`);
};

note(`pid ${process.pid}`);
if (behaviour === 'environment') note(`env ${JSON.stringify(process.env)}`);
if (behaviour === 'fork') {
  const child = Bun.spawn(['sleep', '300'], { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' });
  note(`fork ${child.pid}`);
}

// As one that is still being downloaded: it is ready once it may go.
while (behaviour === 'slow start' && !existsSync(`${file}.go`)) await Bun.sleep(5);

const tools = ['echo', 'other'].map(name => ({ name, inputSchema: { type: 'object' } }));

// biome-ignore lint/suspicious/noExplicitAny: a message is whatever came
type Any = any;

const ASKED = Buffer.from(
  `${JSON.stringify({ jsonrpc: '2.0', id: 'theirs', method: 'roots/list' })}\n`.repeat(1000),
);

/** Blocks until the pipe took it. */
function writeAll(bytes: Buffer): void {
  for (let from = 0; from < bytes.length; ) {
    try {
      from += writeSync(1, bytes, from);
    } catch (error) {
      if ((error as { code?: string }).code !== 'EAGAIN') throw error;
      Bun.sleepSync(1);
    }
  }
}

async function call(id: Any, params: Any): Promise<void> {
  const answer = (of: Any, said: string) =>
    say({ jsonrpc: '2.0', id: of, result: { content: [{ type: 'text', text: said }] } });
  const said = JSON.stringify(params.arguments ?? {});
  const how = params.arguments?.how ?? behaviour;
  switch (how) {
    case 'silent':
      return;
    case 'waits':
      while (!existsSync(`${file}.go`)) await Bun.sleep(5);
      return answer(id, said);
    case 'exit':
      process.exit(3);
      break;
    case 'foreign':
      answer(id + 1, 'foreign');
      answer(String(id), 'foreign');
      answer(null, 'foreign');
      process.stdout.write('not a message\n[]\n{"jsonrpc":"2.0","id":{},"result":{}}\n');
      return answer(id, said);
    case 'asks':
      say({ jsonrpc: '2.0', id: 'theirs', method: 'sampling/createMessage', params: {} });
      return;
    case 'long line':
      for (let sent = 0; sent < 1024; sent++) {
        if (!process.stdout.write('x'.repeat(1024 * 1024))) await new Promise(setImmediate);
      }
      return;
    case 'long answer':
      return answer(id, 'x'.repeat(20 * 1024 * 1024));
    case 'floods':
      // Asks without end, and reads nothing meanwhile.
      for (let left = params.arguments.bytes; left > 0; left -= ASKED.length) writeAll(ASKED);
      return answer(id, 'after all that');
    case 'stderr':
      process.stderr.write(`${said}\n`.repeat(100));
      return answer(id, said);
    case 'pieces': {
      const result = { content: [{ type: 'text', text: said }] };
      for (const char of `${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`) writeAll(Buffer.from(char));
      return;
    }
    default:
      say({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: said } });
      return answer(id, said);
  }
}

let rest = '';
process.stdin.setEncoding('utf8').on('data', async (chunk: string) => {
  rest += chunk;
  for (;;) {
    const end = rest.indexOf('\n');
    if (end < 0) return;
    const { id, method, params, error } = JSON.parse(rest.slice(0, end));
    rest = rest.slice(end + 1);
    note(
      method === 'tools/call' ? `call ${JSON.stringify(params)}` : `${method ?? `declined ${error?.code}`}`,
    );
    if (behaviour === 'deaf' && method === 'notifications/initialized') Bun.sleepSync(600_000);
    if (method === 'initialize') {
      const { protocolVersion } = params;
      say({
        jsonrpc: '2.0',
        id,
        result: {
          protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'script', version: '1' },
        },
      });
    } else if (method === 'tools/list') say({ jsonrpc: '2.0', id, result: { tools } });
    else if (method === 'tools/call') await call(id, params);
  }
});
