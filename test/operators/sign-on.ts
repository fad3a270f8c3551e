// What the tests of single sign-on share: a provider, services that know it, and people who go the whole way.

import { rmSync } from 'node:fs';
import { newDataDir } from '../support/faults.ts';
import { IdentityProvider, Visitor } from '../support/identity-provider.ts';
import { type ServiceOptions, startService, type TestService } from '../support/service.ts';
import { newAddress } from './people.ts';

export const BEGIN = '/dashboard/sign-in/oidc';

export interface Landed {
  status: number;
  location: string | null;
  text: string;
  setCookies: string[];
}

/** One sign-on between its beginning and its end. */
export interface Begun {
  visitor: Visitor;
  /** The address at the provider. */
  authorize: string;
}

export class SignOns {
  readonly provider: IdentityProvider;
  readonly services: TestService[];
  readonly #dataDirs: string[];

  constructor(provider: IdentityProvider, services: TestService[], dataDirs: string[]) {
    this.provider = provider;
    this.services = services;
    this.#dataDirs = dataDirs;
  }

  get service(): TestService {
    return this.services[0] as TestService;
  }

  /** Somebody with an account at the provider; answers their login. */
  person(claims: Record<string, unknown>): { login: string; email: string } {
    const login = `p-${crypto.randomUUID().slice(0, 8)}`;
    const email = `${login}@example.com`;
    this.provider.people[login] = { email, email_verified: true, ...claims };
    return { login, email };
  }

  async begin(query = ''): Promise<Begun> {
    const visitor = new Visitor(newAddress());
    const response = await visitor.go(this.service.url + BEGIN + query);
    const authorize = response.headers.get('location');
    if (authorize === null) throw new Error(`not begun: ${await response.text()}`);
    return { visitor, authorize };
  }

  /** Signs in at the provider; answers the address that leads back. */
  atProvider({ visitor, authorize }: Begun, login: string): Promise<string> {
    return visitor.signInAt(authorize, login, this.service.url);
  }

  async back(visitor: Visitor, url: string): Promise<Landed> {
    const response = await visitor.go(url);
    const { status, headers } = response;
    const text = await response.text();
    return { status, location: headers.get('location'), text, setCookies: headers.getSetCookie() };
  }

  /** The whole way. */
  async signOn(login: string, query = ''): Promise<Landed & { visitor: Visitor }> {
    const begun = await this.begin(query);
    const url = await this.atProvider(begun, login);
    return { ...(await this.back(begun.visitor, url)), visitor: begun.visitor };
  }

  /** Who the visitor is here; null when nobody. */
  async me(visitor: Visitor): Promise<{ email: string; role: string } | null> {
    const response = await visitor.go(`${this.service.url}/admin/v1/me`);
    return response.status === 200 ? ((await response.json()) as { email: string; role: string }) : null;
  }

  async close(): Promise<void> {
    for (const service of this.services) await service.close();
    await this.provider.close();
    for (const dataDir of this.#dataDirs) rmSync(dataDir, { recursive: true, force: true });
  }
}

export async function openSignOns({
  replicas = 1,
  ...options
}: ServiceOptions & { replicas?: number } = {}): Promise<SignOns> {
  const provider = await IdentityProvider.start();
  const env = {
    ...provider.settings,
    TOOLGATE_OIDC_ROLES: 'admin=platform,approver=on-call,viewer=staff,user=everyone',
    TOOLGATE_OIDC_GROUPS_CLAIM: 'teams',
    TOOLGATE_OIDC_ALLOWED_DOMAINS: 'example.com',
    TOOLGATE_TRUSTED_PROXIES: '127.0.0.1/32',
    ...options.env,
  };
  const first = await startService({ ...options, env });
  const services = [first];
  const dataDirs: string[] = [];
  while (services.length < replicas) {
    const dataDir = newDataDir();
    dataDirs.push(dataDir);
    services.push(await startService({ ...options, env, databaseUrl: first.databaseUrl, dataDir }));
  }
  provider.serve(services);
  return new SignOns(provider, services, dataDirs);
}
