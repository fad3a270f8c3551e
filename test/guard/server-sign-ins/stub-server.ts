// A tool server with its own authorization server, of which a test can replace every answer. It grants everything.

// biome-ignore lint/suspicious/noExplicitAny: a test reads and says whatever it likes
type Any = any;

export class StubServer {
  /** What the metadata says in addition or instead; undefined takes a member away. */
  metadata: Record<string, unknown> = {};
  resourceMetadata: Record<string, unknown> = {};
  /** What the token endpoint grants. */
  grant: Record<string, unknown> = { expires_in: 3600 };
  registered: Record<string, unknown> = {};
  challenge: string | null = null;
  /** Answers in place of the usual ones, by path. */
  readonly instead: Record<string, (request: Request) => Response | Promise<Response>> = {};
  /** Method and path of every request. */
  readonly asked: string[] = [];
  readonly registrations: Any[] = [];
  readonly tokenRequests: { headers: Headers; body: URLSearchParams }[] = [];
  /** The path of the issuer. */
  issuerPath = '';
  #tokens = 0;
  readonly #server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: request => this.#answer(request),
  });

  get origin(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  get url(): string {
    return `${this.origin}/mcp`;
  }

  get issuer(): string {
    return this.origin + this.issuerPath;
  }

  /** As it was made. */
  reset(): void {
    this.metadata = {};
    this.resourceMetadata = {};
    this.grant = { expires_in: 3600 };
    this.registered = {};
    this.challenge = null;
    this.issuerPath = '';
    for (const path of Object.keys(this.instead)) delete this.instead[path];
    for (const list of [this.asked, this.registrations, this.tokenRequests]) list.length = 0;
  }

  close(): Promise<void> {
    return this.#server.stop(true);
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    this.asked.push(`${request.method} ${pathname}`);
    const instead = this.instead[pathname];
    if (instead !== undefined) return instead(request);
    switch (pathname) {
      case '/mcp': {
        const headers = { 'WWW-Authenticate': this.challenge ?? 'Bearer' };
        return new Response(null, { status: 401, headers });
      }
      case '/.well-known/oauth-protected-resource/mcp':
        return json({
          resource: this.url,
          authorization_servers: [this.issuer],
          ...this.resourceMetadata,
        });
      case `/.well-known/oauth-authorization-server${this.issuerPath}`:
        return json(this.described());
      case '/register':
        this.registrations.push(await request.json());
        return json({ client_id: `client-${this.registrations.length}`, ...this.registered }, 201);
      case '/token':
        this.tokenRequests.push({
          headers: request.headers,
          body: new URLSearchParams(await request.text()),
        });
        return json({ access_token: `access-${++this.#tokens}`, token_type: 'Bearer', ...this.grant });
      default:
        return new Response('not here', { status: 404 });
    }
  }

  described(): Record<string, unknown> {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.origin}/authorize`,
      token_endpoint: `${this.origin}/token`,
      registration_endpoint: `${this.origin}/register`,
      code_challenge_methods_supported: ['S256'],
      ...this.metadata,
    };
  }
}

const json = (value: unknown, status = 200): Response => Response.json(value, { status });
