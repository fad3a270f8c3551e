// /admin/v1/policies: policies and their versions.

import { z } from 'zod';
import { MAX_RULES, type Rule } from '../../core/policy.ts';
import { createPolicy, deletePolicy, noSuchPolicy, replacePolicy } from '../../guard/check/policies.ts';
import {
  findPolicy,
  findPolicyVersion,
  listPolicies,
  listPolicyVersions,
  type PolicyRecord,
} from '../../store/policies.ts';
import { before, iso, isoTime, label, list, page, paged, rules, uuid, wholeNumberText } from '../fields.ts';
import { actorOf, type Route, route } from '../route.ts';

const name = label(1, 200, 'Unique among policies; it appears in the reasons of verdicts.');
const description = label(0, 2000, 'A description for people.');

const summary = z.object({
  id: uuid,
  name: z.string(),
  description: z.string(),
  version: z.int(),
  createdAt: isoTime,
  updatedAt: isoTime,
});
const whole = summary.extend({ rules });
const version = z.object({
  version: z.int(),
  name: z.string(),
  rules,
  createdAt: isoTime,
  createdBy: z.string(),
});

function show(policy: PolicyRecord): z.output<typeof summary> {
  return { ...policy, createdAt: iso(policy.createdAt), updatedAt: iso(policy.updatedAt) };
}

function showWhole(policy: PolicyRecord, rules: readonly Rule[]) {
  return { ...show(policy), rules };
}

const tag = 'policies';
/** How many JSON values the largest policy has: each rule is an object with its fields. Only admins send policies. */
const MAX_VALUES = 50 + MAX_RULES * (1 + Object.keys(rules.element.shape).length);
const NO_VERSION = Number.MAX_SAFE_INTEGER;

export const policyRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/policies',
    access: 'view',
    tag,
    summary: 'List policies, newest first',
    query: z.strictObject(page),
    answers: { 200: { description: 'Policies without their rules.', schema: list('policies', summary) } },
    handle: async ({ services, query }) => {
      const rows = await listPolicies(services.deps.db, query.limit + 1, before(query));
      return Response.json(paged('policies', rows, query.limit, row => row.id, show));
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/policies',
    access: 'admin',
    tag,
    summary: 'Create a policy',
    body: z.strictObject({ name, description: description.default(''), rules }),
    bodyLimit: 'policyBodyLimit',
    maxValues: MAX_VALUES,
    answers: { 201: { description: 'The policy, at version 1.', schema: whole } },
    handle: async incoming => {
      const policy = await createPolicy(incoming.services.deps, actorOf(incoming), incoming.body);
      return Response.json(showWhole(policy, incoming.body.rules), { status: 201 });
    },
  }),
  route({
    method: 'GET',
    path: '/admin/v1/policies/:id',
    access: 'view',
    tag,
    summary: 'Read a policy with its current rules',
    answers: { 200: { description: 'The policy.', schema: whole } },
    handle: async ({ services, params }) => {
      const policy = await findPolicy(services.deps.db, params['id'] ?? '');
      if (policy === null) throw noSuchPolicy();
      const current = await findPolicyVersion(services.deps.db, policy.id, policy.version);
      return Response.json(showWhole(policy, current?.rules ?? []));
    },
  }),
  route({
    method: 'PUT',
    path: '/admin/v1/policies/:id',
    access: 'admin',
    tag,
    summary: 'Replace a policy’s rules by a new version',
    description: 'Once this has answered, the new version decides on every replica.',
    body: z.strictObject({
      name: name.optional(),
      description: description.optional(),
      rules,
      version: z
        .int()
        .optional()
        .meta({ description: 'The version to replace. If it is not the current one, nothing is changed.' }),
    }),
    bodyLimit: 'policyBodyLimit',
    maxValues: MAX_VALUES,
    answers: {
      200: { description: 'The policy at its new version.', schema: whole },
      409: { description: 'The name is taken, or the version is not the current one.' },
    },
    handle: async incoming => {
      const { deps } = incoming.services;
      const policy = await replacePolicy(deps, actorOf(incoming), incoming.params['id'] ?? '', incoming.body);
      return Response.json(showWhole(policy, incoming.body.rules));
    },
  }),
  route({
    method: 'GET',
    path: '/admin/v1/policies/:id/versions',
    access: 'view',
    tag,
    summary: 'List a policy’s versions, newest first',
    query: z.strictObject({ ...page, cursor: wholeNumberText(NO_VERSION).optional() }),
    answers: { 200: { description: 'Versions with their rules.', schema: list('versions', version) } },
    handle: async ({ services, params, query }) => {
      const policy = await findPolicy(services.deps.db, params['id'] ?? '');
      if (policy === null) throw noSuchPolicy();
      const from = query.cursor ?? NO_VERSION;
      const rows = await listPolicyVersions(services.deps.db, policy.id, query.limit + 1, from);
      const show = (row: (typeof rows)[number]) => ({ ...row, createdAt: iso(row.createdAt) });
      return Response.json(paged('versions', rows, query.limit, row => String(row.version), show));
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/v1/policies/:id',
    access: 'admin',
    tag,
    summary: 'Delete a policy that no key uses',
    answers: { 204: { description: 'Deleted.' }, 409: { description: 'Keys use it.' } },
    handle: async incoming => {
      await deletePolicy(incoming.services.deps, actorOf(incoming), incoming.params['id'] ?? '');
      return new Response(null, { status: 204 });
    },
  }),
];
