// The issuer of a company's tokens on loopback: its metadata, its keys, and tokens that it signs.

import http from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTHeaderParameters,
  SignJWT,
} from 'jose';

export const AUDIENCE = 'https://gate.example/mcp';

interface SigningKey {
  alg: string;
  kid: string;
  privateKey: CryptoKey;
  jwk: JWK;
}

export class TokenIssuer {
  readonly url: string;
  /** The path of every request. */
  readonly asked: string[] = [];
  /** What is answered at a path, in place of metadata and keys. */
  readonly answers = new Map<string, http.RequestListener>();
  /** The keys that the issuer shows; the first one signs. */
  keys: SigningKey[] = [];
  readonly #server: http.Server;

  private constructor(server: http.Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request, response) => this.#answer(request, response));
  }

  static async start(alg = 'ES256'): Promise<TokenIssuer> {
    const server = http.createServer();
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const issuer = new TokenIssuer(server);
    await issuer.newKey(alg);
    return issuer;
  }

  get settings(): Record<string, string> {
    return { TOOLGATE_JWT_ISSUER: this.url, TOOLGATE_JWT_AUDIENCE: AUDIENCE };
  }

  /** A new key, which is the only one that is shown from now on. */
  async newKey(alg: string): Promise<SigningKey> {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    const kid = crypto.randomUUID();
    const key = { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
    this.keys = [key];
    return key;
  }

  /** A token that is valid for ten minutes, of somebody whose e-mail is verified, unless the claims say otherwise. */
  token(
    claims: Record<string, unknown> = {},
    header: Partial<JWTHeaderParameters> = {},
    key = this.keys[0] as SigningKey,
  ): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const sub = (claims['sub'] as string | undefined) ?? 'ann';
    const usual = { iss: this.url, aud: AUDIENCE, sub, iat: now, exp: now + 600, jti: crypto.randomUUID() };
    const person = { email: `${sub}@example.com`, email_verified: true };
    return new SignJWT({ ...usual, ...person, ...claims })
      .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header })
      .sign(key.privateKey);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise(resolve => this.#server.close(resolve));
  }

  #answer(request: http.IncomingMessage, response: http.ServerResponse): void {
    const path = new URL(request.url ?? '', this.url).pathname;
    this.asked.push(path);
    const other = this.answers.get(path) ?? this.answers.get('*');
    if (other !== undefined) other(request, response);
    else if (path === '/.well-known/openid-configuration')
      response.end(JSON.stringify({ issuer: this.url, jwks_uri: `${this.url}/keys` }));
    else if (path === '/keys') response.end(JSON.stringify({ keys: this.keys.map(({ jwk }) => jwk) }));
    else response.writeHead(404).end();
  }
}
