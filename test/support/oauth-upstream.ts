// An MCP server behind OAuth: a real authorization server (oidc-provider) that rotates refresh tokens, knows resource
// indicators and registers clients, and in front of a recording MCP server a door that asks for its tokens. Both are on
// loopback. `Visitor` of identity-provider.ts goes through its pages.

import http from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';
import { RecordingUpstream, type UpstreamOptions } from './mcp.ts';

// biome-ignore lint/suspicious/noExplicitAny: the package comes without types
type Any = any;

export interface TokenRequest {
  grant: string;
  refreshToken: string | null;
  resource: string | null;
  status: number;
}

export class OAuthUpstream {
  /** What reaches the MCP server behind the door. */
  readonly mcp: RecordingUpstream;
  /** Every request to the token endpoint, with the status that it got. */
  readonly tokenRequests: TokenRequest[] = [];
  /** The Authorization header of every request to the MCP server. */
  readonly authorizations: (string | null)[] = [];
  /** The path of every request to the authorization server. */
  readonly asked: string[] = [];
  /** Every token that was given out. */
  readonly tokens: string[] = [];
  /** How long access tokens live, in seconds. */
  lifetime = 3600;
  /** The scope that a call of a tool needs; the challenge of a call without it names it. */
  needed = 'mcp:tools';
  /** Holds back answers of the token endpoint until it resolves, although the request has taken effect. */
  hold: Promise<unknown> | null = null;
  /** The token endpoint answers with this status, before the request takes effect. */
  failWith: number | null = null;
  readonly #issuer: http.Server;
  readonly #door: Bun.Server<undefined>;
  readonly #provider: Any;

  private constructor(issuer: http.Server, options: UpstreamOptions) {
    this.#issuer = issuer;
    this.mcp = new RecordingUpstream(options);
    this.#door = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      idleTimeout: 0,
      fetch: ask => this.#enter(ask),
    });
    this.#provider = this.#authorizationServer();
    const handle: http.RequestListener = this.#provider.callback();
    issuer.on('request', (request, response) => this.#ask(handle, request, response));
  }

  static async start(options: UpstreamOptions = {}): Promise<OAuthUpstream> {
    const issuer = http.createServer();
    await new Promise<void>(resolve => issuer.listen(0, '127.0.0.1', resolve));
    return new OAuthUpstream(issuer, options);
  }

  /** The address to connect. */
  get url(): string {
    return `http://127.0.0.1:${this.#door.port}/mcp`;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#issuer.address() as AddressInfo).port}`;
  }

  get refreshes(): TokenRequest[] {
    return this.tokenRequests.filter(each => each.grant === 'refresh_token');
  }

  /** The server forgets an access token. */
  async revoke(access: string): Promise<void> {
    await (await this.#provider.AccessToken.find(access))?.destroy();
  }

  async close(): Promise<void> {
    this.mcp.stop();
    this.#issuer.closeAllConnections();
    await Promise.all([this.#door.stop(true), new Promise(resolve => this.#issuer.close(resolve))]);
  }

  #authorizationServer(): Any {
    return new Provider(this.issuer, {
      claims: { openid: ['sub'], email: ['email'] },
      scopes: ['openid', 'email', 'offline_access', 'mcp:tools', 'mcp:admin'],
      cookies: { keys: ['a key for cookies'] },
      pkce: { required: () => true },
      rotateRefreshToken: true,
      issueRefreshToken: async () => true,
      features: {
        registration: { enabled: true },
        revocation: { enabled: true },
        resourceIndicators: {
          enabled: true,
          useGrantedResource: () => true,
          getResourceServerInfo: (_: Any, resource: string) => ({
            scope: 'mcp:tools mcp:admin',
            audience: resource,
            accessTokenTTL: this.lifetime,
            accessTokenFormat: 'opaque',
          }),
        },
      },
      ttl: { Interaction: 600, Session: 600, Grant: 6000, RefreshToken: 6000 },
      findAccount: async (_: Any, id: string) => ({
        accountId: id,
        claims: async () => ({ sub: id, email: `${id}@server.example` }),
      }),
    });
  }

  async #ask(
    handle: http.RequestListener,
    request: http.IncomingMessage,
    response: http.ServerResponse,
  ): Promise<void> {
    const { pathname } = new URL(request.url ?? '', this.issuer);
    this.asked.push(pathname);
    if (pathname !== '/token') return handle(request, response);
    if (this.failWith !== null) {
      response.writeHead(this.failWith).end();
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const given = new URLSearchParams(Buffer.concat(chunks).toString());
    (request as Any).body = Object.fromEntries(given);
    const noted: TokenRequest = {
      grant: given.get('grant_type') ?? '',
      refreshToken: given.get('refresh_token'),
      resource: given.get('resource'),
      status: 0,
    };
    this.tokenRequests.push(noted);
    const end = response.end.bind(response) as Any;
    response.end = ((body?: Any, ...rest: Any[]) => {
      noted.status = response.statusCode;
      for (const [, token = ''] of String(body).matchAll(/"(?:access|refresh|id)_token":"([^"]+)"/g))
        this.tokens.push(token);
      if (this.hold === null) end(body, ...rest);
      else this.hold.then(() => end(body, ...rest));
      return response;
    }) as Any;
    handle(request, response);
  }

  async #enter(request: Request): Promise<Response> {
    const { pathname, origin } = new URL(request.url);
    if (pathname === '/.well-known/oauth-protected-resource/mcp') {
      return Response.json({
        resource: this.url,
        authorization_servers: [this.issuer],
        scopes_supported: ['openid', 'email', 'mcp:tools'],
      });
    }
    if (pathname !== '/mcp') return new Response(null, { status: 404 });
    const header = request.headers.get('authorization');
    this.authorizations.push(header);
    const token = await this.#provider.AccessToken.find(header?.replace(/^Bearer /, '') ?? '');
    const metadata = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
    if (token === undefined || token.isExpired || token.aud !== this.url)
      return challenge(401, `Bearer ${metadata}`);
    const body = await request.text();
    if (body.includes('"tools/call"') && !token.scope.split(' ').includes(this.needed)) {
      return challenge(403, `Bearer error="insufficient_scope", scope="${this.needed}", ${metadata}`);
    }
    const { method, headers, signal } = request;
    const inner = new URL(this.mcp.url);
    return fetch(inner, { method, headers, signal, ...(body === '' ? {} : { body }) });
  }
}

function challenge(status: number, header: string): Response {
  return Response.json({ error: 'invalid_token' }, { status, headers: { 'WWW-Authenticate': header } });
}
