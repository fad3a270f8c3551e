// Plans the steps that make the service's policies, keys and webhooks as a resources file says. Nothing is deleted.
// Keys are matched by name, or by id where several have the same name. A revoked key is not made again.

import type {
  Key,
  KeyWithSecret,
  NotifyTargets,
  Policy,
  Webhook,
  WebhookWithSecret,
  WholePolicy,
} from '../core/api/resources.ts';
import { normalEntry } from '../core/approvals/open-to.ts';
import { diffLines } from '../core/text/diff.ts';
import { allOf, theOne } from './admin.ts';
import { CliError, EXIT } from './exit.ts';
import type { Http } from './http.ts';
import { linesOf, type NamedPolicy, policyBody, textDiffers } from './policy-file.ts';
import type { Resources, WantedKey, WantedPolicy, WantedWebhook } from './resources.ts';

export type Kind = 'policy' | 'key' | 'webhook';

export interface Step {
  action: 'create' | 'update' | 'none' | 'skip';
  kind: Kind;
  name: string;
  /** What an update changes, or why nothing is done. */
  detail: string[];
  /** Carries the step out and returns the new secret, if there is one. */
  run: () => Promise<string | null>;
}

/** The ids by name and by id, of existing resources and of those that the plan has made so far. */
interface Ids {
  policies: Map<string, string>;
  keys: Map<string, string>;
}

export async function makePlan(http: Http, wanted: Resources): Promise<Step[]> {
  const [policies, keys, webhooks] = await Promise.all([
    allOf<Policy>(http, 'policies'),
    allOf<Key>(http, 'keys'),
    allOf<Webhook>(http, 'webhooks'),
  ]);
  const live = keys.filter(key => key.revokedAt === null);
  const ids: Ids = { policies: idsOf(policies), keys: idsOf(live) };
  checkNames(wanted, ids);
  for (const { key } of wanted.webhooks) {
    const named = live.filter(each => each.name === key);
    if (key !== undefined && named.length > 1) theOne('live key', key, named);
  }
  const steps: Step[] = [];
  for (const policy of wanted.policies) steps.push(await policyStep(http, ids, policy));
  for (const key of wanted.keys) steps.push(keyStep(http, ids, keys, key));
  const skipped = new Set(steps.filter(step => step.action === 'skip').map(step => step.name));
  for (const webhook of wanted.webhooks) steps.push(webhookStep(http, ids, webhooks, skipped, webhook));
  return steps;
}

function idsOf(resources: readonly { id: string; name: string }[]): Map<string, string> {
  const ids = new Map(resources.map(({ name, id }) => [name, id]));
  for (const { id } of resources) ids.set(id, id);
  return ids;
}

/** Verifies, before anything is done, that every referenced policy and key exists or is in the file. */
function checkNames({ policies, keys, webhooks }: Resources, ids: Ids): void {
  const knownPolicies = new Set([...ids.policies.keys(), ...policies.map(each => each.name)]);
  const knownKeys = new Set([...ids.keys.keys(), ...keys.map(each => each.name)]);
  for (const { name, policy, shadow } of keys) {
    for (const each of [policy, ...(shadow == null ? [] : [shadow])])
      if (!knownPolicies.has(each)) throw missing(`Key "${name}"`, 'policy', each);
  }
  for (const { url, key } of webhooks) {
    if (key !== undefined && !knownKeys.has(key)) throw missing(`Webhook ${url}`, 'key', key);
  }
}

function missing(who: string, what: string, name: string): CliError {
  return new CliError(
    EXIT.failed,
    `${who} names the ${what} "${name}", which neither exists nor is in the file.`,
  );
}

async function policyStep(http: Http, ids: Ids, { name, policy }: WantedPolicy): Promise<Step> {
  const about = { kind: 'policy', name } as const;
  const body = policyBody(name, policy);
  const id = ids.policies.get(name);
  if (id === undefined) {
    const run = async () => {
      ids.policies.set(name, (await http.post<WholePolicy>('/policies', body)).id);
      return null;
    };
    const detail = linesOf({ ...policy, description: undefined }).map(line => `+ ${line.trim()}`);
    return { ...about, action: 'create', detail, run };
  }
  const current = await http.get<WholePolicy>(`/policies/${id}`);
  const detail = policyChanges(current, name, policy);
  return { ...about, ...updateOrNone(detail), run: () => http.put(`/policies/${id}`, body).then(() => null) };
}

function policyChanges(current: WholePolicy, name: string, policy: NamedPolicy): string[] {
  const lines = (each: Pick<NamedPolicy, 'rules' | 'limits' | 'results'>) =>
    linesOf({ rules: each.rules, limits: each.limits, results: each.results });
  const changed = diffLines(lines(current), lines(policy)).filter(line => line.mark !== ' ');
  const { description } = policy;
  const about = description !== undefined && description !== current.description ? ['description'] : [];
  const detail = [...about, ...changed.map(line => `${line.mark} ${line.text.trim()}`)];
  if (detail.length > 0 || !textDiffers(current, name, policy)) return detail;
  return ['only its text: comments, order or layout'];
}

function updateOrNone(detail: string[]): Pick<Step, 'action' | 'detail'> {
  return { action: detail.length === 0 ? 'none' : 'update', detail };
}

function keyStep(http: Http, ids: Ids, keys: readonly Key[], wanted: WantedKey): Step {
  const { id, name, policy, shadow, ...fields } = wanted;
  const about = { kind: 'key', name } as const;
  const shadowId = () => (shadow == null ? shadow : ids.policies.get(shadow));
  const body = () => ({
    name,
    policyId: ids.policies.get(policy),
    ...(shadow !== undefined && { shadowPolicyId: shadowId() }),
    ...fields,
  });
  const named = keys.filter(key => (id === undefined ? key.name === name : key.id === id));
  if (id !== undefined && named.length === 0) throw missing(`The entry "${name}"`, 'key', id);
  const live = named.filter(key => key.revokedAt === null);
  if (live.length > 0) {
    const current = theOne('live key', name, live, 'Give the entry the "id" of the one that is meant:');
    ids.keys.set(name, current.id);
    const detail = keyChanges(current, wanted, ids.policies.get(policy));
    if (shadow !== undefined && shadowId() !== current.shadowPolicyId)
      detail.push(shadow === null ? 'no shadow' : `shadow "${shadow}"`);
    return {
      ...about,
      ...updateOrNone(detail),
      run: () => http.patch(`/keys/${current.id}`, body()).then(() => null),
    };
  }
  if (named.length > 0) {
    const detail = ['it was revoked, and is not made again; choose another name'];
    return { ...about, action: 'skip', detail, run: async () => null };
  }
  const run = async () => {
    const made = await http.post<KeyWithSecret>('/keys', body());
    ids.keys.set(name, made.id);
    return made.key;
  };
  const detail = [`policy "${policy}"`, ...(shadow == null ? [] : [`shadow "${shadow}"`])];
  return { ...about, action: 'create', detail, run };
}

function keyChanges(current: Key, wanted: WantedKey, policyId: string | undefined): string[] {
  const changed: string[] = [];
  if (current.name !== wanted.name) changed.push(`name, was "${current.name}"`);
  if (current.policyId !== policyId) changed.push(`policy "${wanted.policy}"`);
  const { expiresAt, notify, forward, openTo } = wanted;
  for (const flag of ['requireSignInToApprove', 'tasks', 'approveHere'] as const)
    if (wanted[flag] !== undefined && wanted[flag] !== current[flag]) changed.push(flag);
  if (expiresAt !== undefined && instant(expiresAt) !== instant(current.expiresAt)) changed.push('expiresAt');
  if (notify !== undefined && targets(notify) !== targets(current.notify)) changed.push('notify');
  if (forward !== undefined && sorted(forward) !== sorted(current.forward)) changed.push('forward');
  if (openTo !== undefined && sorted(openTo.map(normalEntry)) !== sorted(current.openTo))
    changed.push('openTo');
  return changed;
}

function instant(iso: string | null): number | null {
  return iso === null ? null : Date.parse(iso);
}

/** The API masks the URLs of notification targets, so only the visible part can be compared. */
function targets(notify: NotifyTargets | null): string {
  if (notify === null || Array.isArray(notify)) return JSON.stringify(notify);
  const masked = (url: string | undefined) => (url && URL.canParse(url) ? `${new URL(url).origin}/…` : null);
  return JSON.stringify([notify.emails ?? [], masked(notify.slackWebhookUrl), masked(notify.url)]);
}

function sorted(words: readonly string[]): string {
  return [...new Set(words)].sort().join(' ');
}

function webhookStep(
  http: Http,
  ids: Ids,
  webhooks: readonly Webhook[],
  skipped: ReadonlySet<string>,
  wanted: WantedWebhook,
): Step {
  const { url, key, events } = wanted;
  const about = { kind: 'webhook', name: key === undefined ? url : `${url} for key "${key}"` } as const;
  const owner = () => (key === undefined ? null : ids.keys.get(key));
  if (key !== undefined && skipped.has(key)) {
    const detail = [`its key "${key}" was revoked`];
    return { ...about, action: 'skip', detail, run: async () => null };
  }
  const found = webhooks.filter(each => each.url === url && each.keyId === owner());
  if (found.length > 0) {
    const current = theOne('webhook', url, found, 'Delete all but one of them:');
    const detail = events !== undefined && sorted(events) !== sorted(current.events) ? ['events'] : [];
    const run = () => http.patch(`/webhooks/${current.id}`, { events }).then(() => null);
    return { ...about, ...updateOrNone(detail), run };
  }
  const run = async () => {
    const body = { url, keyId: owner(), ...(events === undefined ? {} : { events }) };
    return (await http.post<WebhookWithSecret>('/webhooks', body)).secret;
  };
  return { ...about, action: 'create', detail: [], run };
}
