// A request that succeeds, for every route on which a signed-in operator changes something. What it needs is put into the
// store first, anew for each request.

import { createPolicy } from '../../src/guard/check/policies.ts';
import type { Deps } from '../../src/guard/deps.ts';
import { newId } from '../../src/guard/ids.ts';
import { createKey } from '../../src/guard/keys.ts';
import { createWebhook } from '../../src/guard/outgoing/webhooks.ts';
import { createOAuthClient } from '../../src/guard/people/oauth-clients.ts';
import { consentFor } from '../../src/guard/people/oauth-codes.ts';
import { beginAdding } from '../../src/guard/people/passkeys.ts';
import type { SignedIn } from '../../src/guard/people/sign-ins.ts';
import { mintToken } from '../../src/guard/secrets.ts';
import type { ServerSignIns } from '../../src/guard/server-sign-ins/server-sign-ins.ts';
import { connectTool } from '../../src/guard/tool-servers/connected-tools.ts';
import { compareDefinitions } from '../../src/guard/tool-servers/definitions.ts';
import type { OAuthSettings } from '../../src/guard/tool-servers/source-secrets.ts';
import { makeToolServer } from '../../src/guard/tool-servers/tool-servers.ts';
import { type ApprovalRecord, insertApproval, resolveApproval } from '../../src/store/approvals.ts';
import { insertDelivery } from '../../src/store/deliveries.ts';
import { giveUpExecutions, insertExecutions } from '../../src/store/executions.ts';
import { insertGrant } from '../../src/store/grants.ts';
import { insertAudit } from '../../src/store/log/audit.ts';
import { insertOperator } from '../../src/store/operators.ts';
import { insertPasskey } from '../../src/store/passkeys.ts';
import { insertRun } from '../../src/store/runs.ts';
import { insertSession } from '../../src/store/sessions.ts';
import { listDefinitions } from '../../src/store/tool-definitions.ts';
import { approvalRecord, auditEntry, sessionRecord } from '../store/stores.ts';
import { Authenticator } from '../support/authenticator.ts';
import { PASSWORD } from './people.ts';

/** The public address, at which nobody listens. */
export const HERE = 'http://localhost:9';
const RP = { id: 'localhost', origin: HERE };
const RULES = [{ tool: '*', action: 'allow' as const }];
const LIMITED = {
  rules: [{ tool: 'x__*', action: 'allow' as const, limit: 'calls' }],
  limits: { calls: { calls: 5, each: 'day' as const } },
};
const PRIVATE = { allowPrivate: true };
const HOUR = 3_600_000;
const OTHER_PASSWORD = 'marble anchor thistle seven';

export interface Asked {
  /** With the values of its parameters, and a query. */
  path: string;
  body?: unknown;
  /** It is sent as a form. */
  form?: Record<string, string>;
  cookie?: string;
  /** How many transactions come before the one that counts. */
  after?: number;
}

export interface World {
  deps: Deps;
  serverSignIns: ServerSignIns;
  /** The address of an MCP server that wants OAuth. */
  upstream: string;
}

type Prepare = (world: World, person: SignedIn) => Promise<Asked>;

export const REQUESTS: Record<string, Prepare> = {
  'POST /admin/v1/policies': async () => to('policies', { name: newId(), rules: RULES }),
  'PUT /admin/v1/policies/:id': async world => to(`policies/${await policy(world)}`, { rules: [] }),
  'DELETE /admin/v1/policies/:id': async world => to(`policies/${await policy(world)}`),
  'POST /admin/v1/limits/reset': async world => {
    const { deps } = world;
    const { id } = await createPolicy(deps, 'admin', { name: newId(), description: '', ...LIMITED });
    return to('limits/reset', { policyId: id, name: 'calls', subject: await key(world) });
  },
  'POST /admin/v1/runs/:id/clear': async world => {
    const [id, keyId, now] = [newId(), await key(world), world.deps.now()];
    const of = { keyId, sessionId: null, personId: null, surface: 'check', name: null } as const;
    const times = { lastCallAt: now, endsAt: now + 3_600_000 };
    await insertRun(world.deps.db, { id, ref: id, ...of, ...times });
    return to(`runs/${id}/clear`, {});
  },
  'POST /admin/v1/keys': async world => to('keys', { name: 'k', policyId: await policy(world) }),
  'POST /admin/v1/connect-tickets': async world =>
    to('connect-tickets', { client: 'claude-code', policyId: await policy(world) }),
  'PATCH /admin/v1/keys/:id': async world => to(`keys/${await key(world)}`, { name: 'other' }),
  'DELETE /admin/v1/keys/:id': async world => to(`keys/${await key(world)}`),
  'POST /admin/v1/keys/:id/connected-tools': async world =>
    to(`keys/${await key(world)}/connected-tools`, { name: 'up', transport: 'http', url: world.upstream }),
  'DELETE /admin/v1/keys/:id/connected-tools/:toolId': async world => to(await toolPath(world)),
  'PATCH /admin/v1/keys/:id/connected-tools/:toolId': async world =>
    to(await toolPath(world), { name: 'other' }),
  'POST /admin/v1/keys/:id/connected-tools/:toolId/accept': async world => {
    const { deps } = world;
    const connected = await tool(world);
    const { id, keyId } = connected;
    for (const description of ['one', 'two'])
      await compareDefinitions(deps, connected, [{ toolName: 'a', definition: { description } }]);
    const digest = (await listDefinitions(deps.db, id))[0]?.changedDigest;
    return to(`keys/${keyId}/connected-tools/${id}/accept`, { tool: 'a', digest });
  },
  'POST /admin/v1/keys/:id/connected-tools/:toolId/connect': async world =>
    to(`${await toolPath(world, { as: 'key' })}/connect`),
  'DELETE /admin/v1/keys/:id/connected-tools/:toolId/connect': async world =>
    to(`${await toolPath(world, { as: 'key' })}/connect`),
  'POST /admin/v1/keys/:id/connected-tools/:toolId/share': async world =>
    to(`${await toolPath(world)}/share`, { name: newName() }),
  'POST /admin/v1/tool-servers': async world =>
    to('tool-servers', { name: newName(), transport: 'http', url: world.upstream }),
  'PATCH /admin/v1/tool-servers/:id': async world =>
    to(`tool-servers/${(await server(world)).id}`, { trust: 'reviewed' }),
  'DELETE /admin/v1/tool-servers/:id': async world => to(`tool-servers/${(await server(world)).id}`),
  'POST /admin/v1/tool-servers/:id/accept': async world => {
    const shared = await server(world);
    await compareDefinitions(world.deps, shared, [{ toolName: 'a', definition: {} }]);
    const digest = (await listDefinitions(world.deps.db, shared.id))[0]?.digest;
    return to(`tool-servers/${shared.id}/accept`, { tools: [{ name: 'a', digest }] });
  },
  'POST /admin/v1/tool-servers/:id/connect': async world =>
    to(`tool-servers/${(await server(world, { as: 'key' })).id}/connect`),
  'DELETE /admin/v1/tool-servers/:id/connect': async world =>
    to(`tool-servers/${(await server(world, { as: 'key' })).id}/connect`),
  'POST /admin/v1/server-file/reload': async () => to('server-file/reload'),
  'POST /admin/v1/me/servers/:toolId/connect': async (world, person) =>
    to(`me/servers/${(await tool(world, { as: 'person' }, person)).id}/connect`),
  'DELETE /admin/v1/me/servers/:toolId': async (world, person) =>
    to(`me/servers/${(await tool(world, { as: 'person' }, person)).id}`),
  'DELETE /admin/v1/sessions/:id': async world => to(`sessions/${await session(world, null)}`),
  'POST /admin/v1/approvals/:referenceId/resolve': async world =>
    to(`approvals/${(await approval(world)).id}/resolve`, { action: 'approve' }),
  'POST /admin/v1/approvals/:referenceId/withdraw': async world => {
    const { id } = await approval(world);
    const answer = { status: 'approved' as const, by: 'admin', grantExpiresAt: null, note: null };
    await world.deps.db.transaction({}, tx => resolveApproval(tx, id, { ...answer, at: world.deps.now() }));
    return to(`approvals/${id}/withdraw`);
  },
  'POST /admin/v1/calls/:toolCallId/settle': async world =>
    to(`calls/${await lostCall(world)}/settle`, { ran: true }),
  'POST /admin/v1/approvals/:referenceId/proof': async (world, person) => {
    await passkey(world, person);
    const { id } = await approval(world, { proof: 'passkey' });
    return to(`approvals/${id}/proof`, { action: 'approve' });
  },
  'DELETE /admin/v1/grants/:id': async world => to(`grants/${await grant(world)}`),
  'POST /admin/v1/webhooks': async world => to('webhooks', { url: world.upstream }),
  'PATCH /admin/v1/webhooks/:id': async world => to(`webhooks/${await webhook(world)}`, { enabled: false }),
  'DELETE /admin/v1/webhooks/:id': async world => to(`webhooks/${await webhook(world)}`),
  'POST /admin/v1/webhooks/:id/rotate-secret': async world =>
    to(`webhooks/${await webhook(world)}/rotate-secret`),
  'POST /admin/v1/deliveries/:id/redeliver': async world => {
    const [id, eventId, createdAt] = [newId(), newId(), world.deps.now()];
    const webhookId = await webhook(world);
    const sql = 'INSERT INTO events (id, type, reference_id, body, created_at) VALUES ($1, $2, $1, $2, $3)';
    await world.deps.db.transaction({}, async tx => {
      await tx.run(sql, [eventId, 'approval.created', createdAt]);
      insertDelivery(tx, { id, eventId, webhookId, createdAt });
    });
    return to(`deliveries/${id}/redeliver`);
  },
  'POST /admin/v1/operators': async () => to('operators', { email: `${newId()}@example.com`, role: 'admin' }),
  'PATCH /admin/v1/operators/:id': async world =>
    to(`operators/${await colleague(world)}`, { role: 'admin' }),
  'DELETE /admin/v1/operators/:id': async world => to(`operators/${await colleague(world)}`),
  'POST /admin/v1/operators/:id/reset': async world => to(`operators/${await colleague(world)}/reset`),
  'POST /admin/v1/oauth-clients': async () => to('oauth-clients', { name: 'c', redirectUris: [`${HERE}/`] }),
  'DELETE /admin/v1/oauth-clients/:clientId': async world => to(`oauth-clients/${await client(world)}`),
  'DELETE /admin/v1/me/sign-ins': async () => to('me/sign-ins'),
  'POST /admin/v1/me/password': async () =>
    to('me/password', { current: PASSWORD, password: OTHER_PASSWORD }),
  'POST /admin/v1/me/passkeys': async (world, person) => {
    const response = new Authenticator(HERE).make(await beginAdding(world.deps, person, RP));
    return to('me/passkeys', { name: 'Laptop', response });
  },
  'PATCH /admin/v1/me/passkeys/:id': async (world, person) =>
    to(`me/passkeys/${await passkey(world, person)}`, { name: 'Phone' }),
  'DELETE /admin/v1/me/passkeys/:id': async (world, person) =>
    to(`me/passkeys/${await passkey(world, person)}`),
  'DELETE /admin/v1/me/connections/:id': async (world, person) =>
    to(`me/connections/${await session(world, person)}`),
  // On these, everybody may come in, and the route itself asks who is signed in.
  'POST /v1/approve/:token': async world => {
    const { token } = await approval(world, {}, { requireSignInToApprove: true });
    return { path: `/v1/approve/${token}`, body: { action: 'approve' } };
  },
  'POST /oauth/authorize': async (world, person) => {
    const query = new URLSearchParams({
      client_id: await client(world),
      redirect_uri: `${HERE}/back`,
      response_type: 'code',
      code_challenge: 'a'.repeat(43),
      code_challenge_method: 'S256',
    });
    const request = `?${query}`;
    const consent = consentFor(world.deps, person, request);
    const keyId = await key(world, { openTo: [`person:${person.email}`] });
    return { path: '/oauth/authorize', form: { request, consent, key: keyId, answer: 'connect' } };
  },
  'POST /oauth/connect/:ticket': async world => {
    const url = await world.serverSignIns.ticket(await tool(world, { as: 'key' }), null);
    return { path: new URL(url).pathname };
  },
  'GET /oauth/callback/:toolId': async world => {
    const connected = await tool(world, { as: 'key' });
    const by = { actor: 'admin', browser: null, shown: null } as const;
    const begun = await world.serverSignIns.begin(connected, null, by);
    const state = new URL(begun?.url ?? '').searchParams.get('state') ?? '';
    const path = `/oauth/callback/${connected.id}?code=c&state=${state}`;
    return { path, cookie: `toolgate_server=${begun?.browser}`, after: 1 };
  },
};

const to = (path: string, body?: unknown): Asked => ({
  path: `/admin/v1/${path}`,
  ...(body !== undefined && { body }),
});

const policy = async ({ deps }: World) =>
  (await createPolicy(deps, 'admin', { name: newId(), description: '', rules: RULES })).id;

async function key(
  world: World,
  more: { openTo?: string[]; requireSignInToApprove?: boolean } = {},
): Promise<string> {
  const plain = { requireSignInToApprove: false, expiresAt: null, notify: null, forward: [] };
  const input = { ...plain, name: 'agent', policyId: await policy(world), ...more };
  return (await createKey(world.deps, 'admin', input)).key.id;
}

async function tool(world: World, oauth: OAuthSettings | null = null, person: SignedIn | null = null) {
  const keyId = await key(world, person === null ? {} : { openTo: [`person:${person.email}`] });
  const input = { name: 'up', transport: 'http' as const, target: world.upstream, headers: null };
  return connectTool(world.deps, 'admin', PRIVATE, keyId, { ...input, ...(oauth !== null && { oauth }) });
}

/** The name of a tool server has at most 32 characters. */
const newName = () => `up-${newId().slice(-12)}`;

function server(world: World, oauth: OAuthSettings | null = null) {
  const input = { name: newName(), transport: 'http' as const, target: world.upstream, headers: null };
  return makeToolServer(world.deps, 'admin', PRIVATE, { ...input, oauth });
}

async function toolPath(world: World, oauth: OAuthSettings | null = null): Promise<string> {
  const { id, keyId } = await tool(world, oauth);
  return `keys/${keyId}/connected-tools/${id}`;
}

async function session(world: World, person: SignedIn | null): Promise<string> {
  const now = world.deps.now();
  const keyId = await key(world);
  const own = { keyId, createdAt: now, expiresAt: now + HOUR, personId: person?.operatorId ?? null };
  const record = sessionRecord({ ...own, ...(person !== null && { prefix: 'tg_oat_' }) });
  await insertSession(world.deps.db, record, record.id);
  return record.id;
}

async function approval(
  world: World,
  more: Partial<ApprovalRecord> = {},
  keyWith: { requireSignInToApprove?: boolean } = {},
): Promise<{ id: string; token: string }> {
  const now = world.deps.now();
  const record = approvalRecord({ keyId: await key(world, keyWith), createdAt: now, ...more });
  const { token, hash } = mintToken('approval');
  await world.deps.db.transaction({}, async tx =>
    insertApproval(tx, { ...record, expiresAt: now + HOUR }, hash),
  );
  return { id: record.id, token };
}

async function grant(world: World): Promise<string> {
  const [id, now, { id: referenceId }] = [newId(), world.deps.now(), await approval(world)];
  const of = { serverName: 'prod', toolName: 'deploy', definitionDigest: null, ruleDigest: null };
  const bounds = { sessionId: null, samePaths: null, sameDigest: null };
  const times = { openedBy: 'admin', createdAt: now, expiresAt: now + HOUR };
  const keyId = await key(world);
  await world.deps.db.transaction({}, async tx =>
    insertGrant(tx, { id, referenceId, keyId, ...of, ...bounds, ...times }),
  );
  return id;
}

/** A call of which it is not known whether it ran. */
async function lostCall({ deps: { db, now } }: World): Promise<string> {
  const { id, keyId, at } = auditEntry();
  await db.transaction({}, async tx => {
    await insertAudit(tx, [auditEntry({ id })]);
    insertExecutions(tx, [{ toolCallId: id, keyId, processId: 'dead', at }]);
  });
  await db.transaction({}, tx => giveUpExecutions(tx, 'dead', [id], now()));
  return id;
}

async function webhook({ deps, upstream }: World): Promise<string> {
  const input = { url: upstream, keyId: null, events: ['approval.created'] };
  return (await createWebhook(deps, 'admin', PRIVATE, input)).webhook.id;
}

async function colleague({ deps }: World): Promise<string> {
  const id = newId();
  const operator = { id, email: `${id}@example.com`, role: 'viewer' as const, createdAt: deps.now() };
  await insertOperator(deps.db, operator, 'not a hash');
  return id;
}

const client = async ({ deps }: World): Promise<string> =>
  (await createOAuthClient(deps, 'admin', { name: 'c', redirectUris: [`${HERE}/back`] })).id;

async function passkey({ deps }: World, { operatorId }: SignedIn): Promise<string> {
  const id = newId();
  const made = { publicKey: 'k', counter: 0, transports: [], name: 'Laptop', usedAt: null };
  await insertPasskey(deps.db, { id, operatorId, createdAt: deps.now(), ...made });
  return id;
}
