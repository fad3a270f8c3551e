// /admin/v1/policies: policies and their versions.

import { z } from 'zod';
import { groupWarning } from '../../core/approvals/approval.ts';
import type { Limits, Rule } from '../../core/policy/policy.ts';
import type { ResultEntry } from '../../core/policy/result-fields.ts';
import { policyText } from '../../core/policy-file/policy-text.ts';
import { lackingIn } from '../../guard/approvals/able.ts';
import { createPolicy, deletePolicy, noSuchPolicy, replacePolicy } from '../../guard/check/policies.ts';
import type { Deps } from '../../guard/deps.ts';
import { findPolicy, listPolicies, listPolicyVersions, type PolicyRecord } from '../../store/policies.ts';
import { before, iso, isoTime, list, page, paged, uuid, wholeNumberText } from '../serving/fields.ts';
import { actorOf, type Route, route } from '../serving/route.ts';
import { MAX_POLICY_VALUES, newPolicy, policyFields, policyIn, TEXT_OR_RULES } from './policy-body.ts';
import { limits, results, rules } from './rule-fields.ts';

const summary = z.object({
  id: uuid,
  name: z.string(),
  description: z.string(),
  version: z.int(),
  createdAt: isoTime,
  updatedAt: isoTime,
});
const text = z.string().meta({
  description: 'The text that the policy was written in; made from the rules if they came without one.',
});
const whole = summary.extend({ rules, limits, results, text });
const saved = whole.extend({
  warnings: z.array(z.string()).optional().meta({
    description: 'What the policy needs of this service and does not find, such as people of a group.',
  }),
});
const version = z.object({
  version: z.int(),
  name: z.string(),
  rules,
  limits,
  results,
  text,
  createdAt: isoTime,
  createdBy: z.string(),
});

function show(policy: PolicyRecord): z.output<typeof summary> {
  return { ...policy, createdAt: iso(policy.createdAt), updatedAt: iso(policy.updatedAt) };
}

interface Content {
  rules: readonly Rule[];
  limits: Limits;
  results: readonly ResultEntry[];
  text?: string | null | undefined;
}

function showWhole(policy: PolicyRecord, { text, rules, limits, results }: Content) {
  const content = { rules, limits, results };
  return { ...show(policy), ...content, text: text ?? policyText({ ...policy, ...content }) };
}

/**
 * A policy that was just saved, with warnings about groups that have too few people. Lint cannot give them, because it
 * does not know the people.
 */
async function showSaved({ db }: Deps, policy: PolicyRecord, content: Content) {
  const lacking = await lackingIn(db, content.rules);
  const warnings = lacking.map(groupWarning);
  return { ...showWhole(policy, content), ...(warnings.length > 0 && { warnings }) };
}

const tag = 'policies';
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
    description: TEXT_OR_RULES,
    body: z.strictObject(policyFields),
    bodyLimit: 'policyBodyLimit',
    maxValues: MAX_POLICY_VALUES,
    answers: { 201: { description: 'The policy, at version 1.', schema: saved } },
    handle: async incoming => {
      const input = newPolicy(incoming.body);
      const policy = await createPolicy(incoming.services.deps, actorOf(incoming), input);
      return Response.json(await showSaved(incoming.services.deps, policy, input), { status: 201 });
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
      const [current] = await listPolicyVersions(services.deps.db, policy.id, 1, policy.version + 1);
      return Response.json(showWhole(policy, current ?? { rules: [], limits: {}, results: [] }));
    },
  }),
  route({
    method: 'PUT',
    path: '/admin/v1/policies/:id',
    access: 'admin',
    tag,
    summary: 'Replace a policy’s rules by a new version',
    description: `Once this has answered, the new version decides on every replica. ${TEXT_OR_RULES}`,
    body: z.strictObject({
      ...policyFields,
      version: z
        .int()
        .optional()
        .meta({ description: 'The version to replace. If it is not the current one, nothing is changed.' }),
    }),
    bodyLimit: 'policyBodyLimit',
    maxValues: MAX_POLICY_VALUES,
    answers: {
      200: { description: 'The policy at its new version.', schema: saved },
      409: { description: 'The name is taken, or the version is not the current one.' },
    },
    handle: async incoming => {
      const { deps } = incoming.services;
      const { version } = incoming.body;
      const input = { ...policyIn(incoming.body), version };
      const policy = await replacePolicy(deps, actorOf(incoming), incoming.params['id'] ?? '', input);
      return Response.json(await showSaved(deps, policy, input));
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
      const show = (row: (typeof rows)[number]) => ({
        ...row,
        text: row.text ?? policyText(row),
        createdAt: iso(row.createdAt),
      });
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
