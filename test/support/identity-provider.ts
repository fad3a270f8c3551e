// A real OpenID Connect provider on loopback, with people whom a test declares, and a browser-like visitor that
// goes the whole way by redirects, forms and cookies.

import http from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

export const CLIENT_ID = 'toolgate';
export const CLIENT_SECRET = 'a secret of the client, for tests';

/** Claims by login. */
export type People = Record<string, Record<string, unknown>>;

export class IdentityProvider {
  readonly people: People = {};
  readonly url: string;
  /** The path of every request. */
  readonly asked: string[] = [];
  readonly #server: http.Server;
  #handle: http.RequestListener | null = null;
  down = false;

  private constructor(server: http.Server, url: string) {
    this.#server = server;
    this.url = url;
    server.on('request', (request, response) => {
      this.asked.push(new URL(request.url ?? '', url).pathname);
      if (this.down || this.#handle === null) response.writeHead(503).end();
      else this.#handle(request, response);
    });
  }

  static async start(): Promise<IdentityProvider> {
    const server = http.createServer();
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    return new IdentityProvider(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }

  get settings(): Record<string, string> {
    return {
      TOOLGATE_OIDC_ISSUER: this.url,
      TOOLGATE_OIDC_CLIENT_ID: CLIENT_ID,
      TOOLGATE_OIDC_CLIENT_SECRET: CLIENT_SECRET,
    };
  }

  /** Lets services in; before, the provider answers 503. */
  serve(services: readonly { url: string }[]): void {
    const provider = new Provider(this.url, {
      clients: [
        {
          client_id: CLIENT_ID,
          client_secret: CLIENT_SECRET,
          redirect_uris: services.map(each => `${each.url}/dashboard/sign-in/oidc/callback`),
        },
      ],
      claims: { openid: ['sub'], email: ['email', 'email_verified', 'groups', 'teams'] },
      cookies: { keys: ['a key for cookies'] },
      ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
      findAccount: async (_, id) => ({
        accountId: id,
        claims: async () => ({ sub: id, ...this.people[id] }),
      }),
    });
    this.#handle = provider.callback();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise(resolve => this.#server.close(resolve));
  }
}

/** A person's browser, without script: cookies per host, redirects one by one. */
export class Visitor {
  readonly #cookies = new Map<string, string>();
  readonly #address: string;

  /** Services that trust this machine as a proxy see the visitor come from that address. */
  constructor(address: string) {
    this.#address = address;
  }

  async go(url: string, form?: Record<string, string>): Promise<Response> {
    const response = await fetch(url, {
      method: form === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: {
        Cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        Accept: 'text/html',
        'User-Agent': 'Visitor/1.0',
        'X-Forwarded-For': this.#address,
      },
      ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
    });
    for (const each of response.headers.getSetCookie()) this.#keep(each);
    return response;
  }

  cookie(name: string): string | undefined {
    return this.#cookies.get(name);
  }

  /** Follows redirects until there is a page, or an address that begins so. */
  async follow(from: string, until = '\0'): Promise<{ url: string; response: Response; text: string }> {
    let url = from;
    for (let hops = 0; hops < 20; hops++) {
      const response = await this.go(url);
      const to = response.headers.get('location');
      if (to === null) return { url, response, text: await response.text() };
      url = new URL(to, url).href;
      if (url.startsWith(until)) return { url, response, text: '' };
    }
    throw new Error('redirects do not end');
  }

  /** Signs in at the provider, from its first page to the address that leads back. */
  async signInAt(authorize: string, login: string, back: string): Promise<string> {
    let at = await this.follow(authorize, back);
    for (let forms = 0; forms < 3 && !at.url.startsWith(back); forms++) {
      const action = /<form[^>]* action="([^"]+)"/.exec(at.text)?.[1];
      const prompt = /name="prompt" value="(\w+)"/.exec(at.text)?.[1];
      if (action === undefined || prompt === undefined) throw new Error(`no form at ${at.url}: ${at.text}`);
      const answer = prompt === 'login' ? { prompt, login, password: 'any' } : { prompt };
      const response = await this.go(new URL(action, at.url).href, answer);
      at = await this.follow(new URL(response.headers.get('location') ?? '', at.url).href, back);
    }
    return at.url;
  }

  #keep(header: string): void {
    const [name = '', value = ''] = (header.split(';')[0] ?? '').split('=');
    if (value === '' || /max-age=0|expires=thu, 01 jan 1970/i.test(header)) this.#cookies.delete(name);
    else this.#cookies.set(name, value);
  }
}
