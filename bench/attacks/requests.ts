// Requests to the service that is attacked, over real HTTP: of an agent, of an MCP client of 2026-07-28, and of an operator.

import type { Call } from './stage.ts';

const PROTOCOL = '2026-07-28';
const META = 'io.modelcontextprotocol/';

/** What a tool call came to. */
export interface Made {
  ran: boolean;
  /** The approval that it waits for. */
  referenceId?: string;
  text: string;
}

export class Requests {
  readonly #url: string;
  readonly #adminToken: string;

  constructor(url: string, adminToken: string) {
    this.#url = url;
    this.#adminToken = adminToken;
  }

  /** A tool call on /mcp; `approved` names the approval that permits it. */
  async call(token: string, server: string, { tool, args }: Call, approved?: string): Promise<Made> {
    const name = `${server}__${tool}`;
    const meta = {
      [`${META}protocolVersion`]: PROTOCOL,
      [`${META}clientCapabilities`]: {},
      ...(approved && { 'toolgate/referenceId': approved }),
    };
    const message = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: args, _meta: meta },
    };
    const headers = { 'MCP-Protocol-Version': PROTOCOL, 'Mcp-Method': 'tools/call', 'Mcp-Name': name };
    const { result, error } = await this.#send<Answered>('POST', '/mcp', token, message, headers);
    if (result === undefined) throw new Error(`${name} was answered with ${JSON.stringify(error)}`);
    return made(result);
  }

  post<Answer>(route: string, token: string, body: object): Promise<Answer> {
    return this.#send('POST', route, token, body);
  }

  admin<Answer = { id: string }>(method: string, route: string, body?: object): Promise<Answer> {
    return this.#send(method, `/admin/v1/${route}`, this.#adminToken, body);
  }

  async #send<Answer>(
    method: string,
    route: string,
    token: string,
    body?: object,
    more: Record<string, string> = {},
  ): Promise<Answer> {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
      ...more,
    };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${this.#url}${route}`, { method, headers, ...sent });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${route} answered ${response.status}: ${text}`);
    return read(response.headers.get('content-type') ?? '', text) as Answer;
  }
}

interface Answered {
  result?: {
    content: { text?: string }[];
    structuredContent?: { status?: string; referenceId?: string };
    isError?: boolean;
  };
  error?: object;
}

/** An answer on /mcp may come as the last event of a stream. */
function read(type: string, text: string): unknown {
  if (!type.startsWith('text/event-stream')) return text === '' ? {} : JSON.parse(text);
  const data = text.split('\n').filter(line => line.startsWith('data: {'));
  return JSON.parse(data.at(-1)?.slice('data: '.length) ?? '{}');
}

function made({ content, structuredContent, isError }: NonNullable<Answered['result']>): Made {
  const text = content.map(part => part.text ?? '').join('\n');
  if (structuredContent?.status === 'pending' && structuredContent.referenceId !== undefined)
    return { ran: false, referenceId: structuredContent.referenceId, text };
  return { ran: !(isError && text.startsWith('Blocked by policy: ')), text };
}
