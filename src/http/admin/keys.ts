// /admin/v1/keys: long-lived keys. A key is shown in the answer that creates it and nowhere else.

import { z } from 'zod';
import { MAX_OPEN_TO, normalEntry, openToFault } from '../../core/approvals/open-to.ts';
import { MAX_CHANNELS } from '../../core/policy/channel.ts';
import { endKey } from '../../guard/approvals/end-key.ts';
import { changeKey, decryptNotify, noSuchKey } from '../../guard/keys.ts';
import type { Vault } from '../../guard/secrets.ts';
import { createKeyWith } from '../../guard/tool-servers/new-key.ts';
import type { Queries } from '../../store/engine/db.ts';
import { findLastUses } from '../../store/key-uses.ts';
import { FORWARDS, findKey, findNamesake, type KeyRecord, listKeys } from '../../store/keys.ts';
import { countDrifted } from '../../store/tool-definitions.ts';
import {
  before,
  iso,
  isoOrNull,
  isoTime,
  label,
  list,
  page,
  paged,
  text,
  timeIn,
  uuid,
} from '../serving/fields.ts';
import { actorOf, type Route, route } from '../serving/route.ts';

const webUrl = z.url({ protocol: /^https?$/ });

const notify = z
  .union(
    [
      z.strictObject({
        emails: z.array(z.email()).min(1).max(50).optional(),
        slackWebhookUrl: webUrl.optional(),
        url: webUrl.optional(),
      }),
      z.array(z.string().max(64)).min(1).max(MAX_CHANNELS),
    ],
    'must be an object with emails, slackWebhookUrl or url, or a list of names of channels',
  )
  .nullable()
  .meta({
    description:
      'Where the approval links of this key are sent: targets of its own, or names of channels of the server file. ' +
      '`default`, like null, stands for the targets of the service.',
  });

const fields = {
  name: label(1, 200, 'A name for people; approvers see it.'),
  policyId: uuid,
  shadowPolicyId: uuid.nullable().meta({
    description:
      'A second policy that judges each call of the key. What it says is recorded beside the verdict and changes nothing.',
  }),
  requireSignInToApprove: z.boolean().meta({ description: 'Approving needs a signed-in operator.' }),
  expiresAt: timeIn.nullable(),
  notify,
  forward: z
    .array(z.enum(FORWARDS))
    .transform(values => [...new Set(values)])
    .meta({ description: 'What the MCP proxy relays for this key besides tools.' }),
  openTo: z
    .array(text(openToFault, 'A group or a person.', 'group:dev'))
    .max(MAX_OPEN_TO)
    .transform(entries => [...new Set(entries.map(normalEntry))])
    .meta({
      description:
        'The groups and people who may sign in with a client of their own and use this key: `group:<name>`, `person:<e-mail>`.',
    }),
  tasks: z.boolean().meta({
    description:
      'MCP clients that know tasks get one for a call that waits: its arguments stay in memory, and it runs by itself once it is approved.',
  }),
  approveHere: z.boolean().meta({
    description:
      'A person at an MCP client that can open an address is sent to the approval’s own page, where whoever may answer signs in.',
  }),
};

const shown = z.object({
  id: uuid,
  name: z.string(),
  prefix: z.string(),
  policyId: uuid,
  shadowPolicyId: uuid.nullable(),
  requireSignInToApprove: z.boolean(),
  expiresAt: isoTime.nullable(),
  notify,
  forward: z.array(z.enum(FORWARDS)),
  openTo: z.array(z.string()),
  tasks: z.boolean(),
  approveHere: z.boolean(),
  createdAt: isoTime,
  revokedAt: isoTime.nullable(),
});

function show(vault: Vault, key: KeyRecord): z.output<typeof shown> {
  const { id, name, prefix, policyId, shadowPolicyId, requireSignInToApprove, forward, openTo } = key;
  return {
    id,
    name,
    prefix,
    policyId,
    shadowPolicyId,
    requireSignInToApprove,
    expiresAt: isoOrNull(key.expiresAt),
    notify: shownNotify(vault, id, key.notifyEncrypted),
    forward,
    openTo,
    tasks: key.tasks,
    approveHere: key.approveHere,
    createdAt: iso(key.createdAt),
    revokedAt: isoOrNull(key.revokedAt),
  };
}

/** The URLs of notification targets are secrets, so only their host is shown. */
function shownNotify(vault: Vault, keyId: string, encrypted: string | null) {
  const targets = decryptNotify(vault, keyId, encrypted);
  if (targets === null || Array.isArray(targets)) return targets;
  const masked = (url: string | undefined) => (url === undefined ? undefined : `${new URL(url).origin}/…`);
  return { ...targets, slackWebhookUrl: masked(targets.slackWebhookUrl), url: masked(targets.url) };
}

const listed = shown.extend({
  lastUsedAt: isoTime
    .nullable()
    .meta({ description: 'The newest call of the key or its sessions in the audit log.' }),
  driftedTools: z
    .int()
    .meta({ description: 'How many tools of its Connected Tools differ from their accepted definitions.' }),
});

/** Adds to keys what is found elsewhere, in few statements for all of them. */
async function showListed(
  db: Queries,
  vault: Vault,
  keys: readonly KeyRecord[],
): Promise<z.output<typeof listed>[]> {
  const ids = keys.map(({ id }) => id);
  const [uses, drifted] = [await findLastUses(db, ids), await countDrifted(db, ids)];
  return keys.map(key => ({
    ...show(vault, key),
    lastUsedAt: isoOrNull(uses.get(key.id) ?? null),
    driftedTools: drifted.get(key.id) ?? 0,
  }));
}

const tag = 'keys';

const made = shown.extend({
  key: z.string(),
  warnings: z.array(z.string()).optional().meta({ description: 'What whoever made it should know.' }),
});

const NAMESAKE =
  'Another live key has the same name. People who approve calls see only the name, and the command line then needs the id.';

export const keyRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/keys',
    access: 'view',
    tag,
    summary: 'List keys, revoked ones too, newest first',
    query: z.strictObject(page),
    answers: { 200: { description: 'Keys, without their secret.', schema: list('keys', listed) } },
    handle: async ({ services, query }) => {
      const { db, vault } = services.deps;
      const rows = await listKeys(db, query.limit + 1, before(query));
      const keys = await showListed(db, vault, rows);
      return Response.json(
        paged(
          'keys',
          keys,
          query.limit,
          key => key.id,
          key => key,
        ),
      );
    },
  }),
  route({
    method: 'GET',
    path: '/admin/v1/keys/:id',
    access: 'view',
    tag,
    summary: 'Show one key',
    answers: { 200: { description: 'The key, without its secret.', schema: listed } },
    handle: async ({ services, params }) => {
      const { db, vault } = services.deps;
      const key = await findKey(db, params['id'] ?? '');
      if (key === null) throw noSuchKey();
      return Response.json((await showListed(db, vault, [key]))[0]);
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/keys',
    access: 'admin',
    tag,
    summary: 'Create a key',
    description: '`key` is shown in this answer only.',
    body: z.strictObject({
      name: fields.name,
      policyId: fields.policyId,
      shadowPolicyId: fields.shadowPolicyId.default(null),
      requireSignInToApprove: fields.requireSignInToApprove.default(false),
      expiresAt: fields.expiresAt.default(null),
      notify: fields.notify.default(null),
      forward: fields.forward.default([]),
      openTo: fields.openTo.default([]),
      tasks: fields.tasks.default(true),
      approveHere: fields.approveHere.default(false),
      toolServers: z
        .array(z.string().max(64))
        .max(100)
        .transform(names => [...new Set(names)])
        .default([])
        .meta({
          description: 'The names of tool servers that the key gets, as Connected Tools of these names.',
        }),
    }),
    answers: { 201: { description: 'The key.', schema: made } },
    handle: async incoming => {
      const { deps } = incoming.services;
      const { toolServers, ...input } = incoming.body;
      const { key, token } = await createKeyWith(deps, actorOf(incoming), toolServers, input);
      const warnings = (await findNamesake(deps.db, key, deps.now())) === null ? [] : [NAMESAKE];
      const body = { ...show(deps.vault, key), key: token, ...(warnings.length > 0 && { warnings }) };
      return Response.json(body, { status: 201, headers: { 'Cache-Control': 'no-store' } });
    },
  }),
  route({
    method: 'PATCH',
    path: '/admin/v1/keys/:id',
    access: 'admin',
    tag,
    summary: 'Change a key',
    description:
      'A shadow becomes the policy of its key by `policyId`, which is then its id; the key has no shadow after that.',
    body: z.strictObject(fields).partial(),
    answers: { 200: { description: 'The key.', schema: shown } },
    handle: async incoming => {
      const { deps } = incoming.services;
      const given = Object.entries(incoming.body).filter(([, value]) => value !== undefined);
      const key = await changeKey(
        deps,
        actorOf(incoming),
        incoming.params['id'] ?? '',
        Object.fromEntries(given),
      );
      return Response.json(show(deps.vault, key));
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/v1/keys/:id',
    access: 'admin',
    tag,
    summary: 'Revoke a key and its sessions at once',
    answers: { 204: { description: 'Revoked, now or before.' } },
    handle: async incoming => {
      await endKey(incoming.services.deps, actorOf(incoming), incoming.params['id'] ?? '');
      return new Response(null, { status: 204 });
    },
  }),
];
