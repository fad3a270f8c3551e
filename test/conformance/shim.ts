// What stands between the conformance runner and the gateway, on loopback: the runner cannot send a key and calls
// fixed names, so this adds the key and maps names and addresses to and fro. Host, Origin and all else pass
// through unchanged, so that a scenario about them still asks the gateway.

type JsonObject = Record<string, unknown>;

export interface Shim {
  url: string;
  stop: () => Promise<void>;
}

/** `server`: the Connected Tool whose name stands before the names that the gateway shows. */
export function startShim(gateway: string, key: string, server: string): Shim {
  const names = mapping(server);
  const shim = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const body = request.method === 'POST' ? await request.text() : null;
      const response = await fetch(gateway, {
        method: request.method,
        headers: outgoing(request.headers, key, isAboutTask(body) ? null : names),
        body: body === null ? null : names.request(body),
        signal: request.signal,
        redirect: 'manual',
      });
      return incoming(response, names);
    },
  });
  return { url: `http://localhost:${shim.port}/mcp`, stop: () => shim.stop(true) };
}

/** What names a task in such a request, in the body and in a header, is the id that the gateway gave it. */
function isAboutTask(body: string | null): boolean {
  return body?.includes('"method":"tasks/') ?? false;
}

function outgoing(received: Headers, key: string, names: Mapping | null): Headers {
  const headers = new Headers(received);
  headers.delete('content-length');
  headers.set('Authorization', `Bearer ${key}`);
  const name = headers.get('mcp-name');
  if (name !== null && names !== null) headers.set('Mcp-Name', names.header(name));
  return headers;
}

async function incoming(response: Response, names: Mapping): Promise<Response> {
  const headers = new Headers(response.headers);
  for (const name of ['content-length', 'content-encoding', 'transfer-encoding']) headers.delete(name);
  const { status } = response;
  const type = headers.get('content-type') ?? '';
  if (type.includes('text/event-stream')) {
    return new Response(response.body?.pipeThrough(eachLine(names.answer)) ?? null, { status, headers });
  }
  const text = await response.text();
  return new Response(text === '' ? null : names.answer(text), { status, headers });
}

/** The data lines of a stream of events, mapped as they come. */
function eachLine(map: (text: string) => string): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = '';
  return new TransformStream({
    transform(chunk, controller) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const mapped = line.startsWith('data: ') ? `data: ${map(line.slice(6))}` : line;
        controller.enqueue(encoder.encode(`${mapped}\n`));
      }
    },
  });
}

interface Mapping {
  request: (text: string) => string;
  answer: (text: string) => string;
  header: (value: string) => string;
}

function mapping(server: string): Mapping {
  const name = (value: unknown) => (typeof value === 'string' ? `${server}__${value}` : value);
  const uri = (value: unknown) => (typeof value === 'string' ? `${server}+${value}` : value);
  const bare = (value: unknown) =>
    typeof value === 'string' ? value.replace(new RegExp(`^${server}(__|\\+)`), '') : value;
  const either = (value: string) => String(/^[a-z]+:\/\//.test(value) ? uri(value) : name(value));
  const rename = (holder: unknown, how: Record<string, (value: unknown) => unknown>) => {
    if (typeof holder !== 'object' || holder === null) return;
    for (const [key, map] of Object.entries(how)) {
      if (key in holder) (holder as JsonObject)[key] = map((holder as JsonObject)[key]);
    }
  };
  return {
    request: text =>
      changed(text, ({ method, params }) => {
        if (method === 'tools/call' || method === 'prompts/get') rename(params, { name });
        if (String(method).startsWith('resources/')) rename(params, { uri });
        if (method === 'completion/complete') rename((params as JsonObject)['ref'], { name, uri });
      }),
    answer: text =>
      changed(text, ({ result, error }) => {
        for (const list of ['tools', 'prompts', 'resources', 'resourceTemplates', 'contents']) {
          const items = (result as JsonObject | undefined)?.[list];
          if (!Array.isArray(items)) continue;
          for (const item of items) rename(item, { name: bare, uri: bare, uriTemplate: bare });
        }
        rename((error as JsonObject | undefined)?.['data'], { uri: bare });
      }),
    header: value => {
      const encoded = /^=\?base64\?([A-Za-z0-9+/]+=*)\?=$/.exec(value)?.[1];
      if (encoded === undefined) return value.startsWith('=?') ? value : either(value);
      const decoded = either(Buffer.from(encoded, 'base64').toString('utf8'));
      return `=?base64?${Buffer.from(decoded).toString('base64')}?=`;
    },
  };
}

/** What is no JSON object passes as it is: some scenarios send nonsense on purpose. */
function changed(text: string, change: (message: JsonObject) => void): string {
  try {
    const message = JSON.parse(text) as JsonObject;
    change(message);
    return JSON.stringify(message);
  } catch {
    return text;
  }
}
