// Calls a tool through Toolgate, as an MCP client does, and prints the text of its result:
// node call.mjs <server>__<tool> '{"argument": "value"}'. Needs Node alone.

const [name, given = '{}'] = process.argv.slice(2);
const { TOOLGATE_BASE_URL: base = 'http://127.0.0.1:8787', TOOLGATE_API_KEY: key } = process.env;

const response = await fetch(`${base}/mcp`, {
  method: 'POST',
  headers: {
    Authorization: `Bearer ${key}`,
    Accept: 'application/json, text/event-stream',
    'Content-Type': 'application/json',
    'MCP-Protocol-Version': '2026-07-28',
    'Mcp-Method': 'tools/call',
    'Mcp-Name': name,
  },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name,
      arguments: JSON.parse(given),
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  }),
});
const answered = await response.text();
// The answer may come as a stream of events, of which the last one has the result.
const message = JSON.parse(
  answered
    .match(/^data: (.*)$/gm)
    ?.at(-1)
    ?.slice('data: '.length) ?? answered,
);
const { result, error, detail } = message;
console.log(
  result?.content.map(({ type, text }) => text ?? `(${type})`).join('\n') ?? error?.message ?? detail,
);
