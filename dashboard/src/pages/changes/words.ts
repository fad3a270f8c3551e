// What a change says to people: what was done to what, where that can be looked at, and what else is known about it.

import { safeJson } from '../../../../src/core/text/visible.ts';
import type { Change } from '../../resources.ts';

/** What happens to an approval is about the call that waits for it. */
const PHRASES: Record<string, string> = {
  'approval.approve': 'Call approved',
  'approval.deny': 'Call denied',
  'approval.vote': 'Vote to approve a call',
  'connect.ticket': 'Command for another machine made',
};

/** The past of the verbs that do not only get a "d" or "ed". */
const DONE: Record<string, string> = {
  update: 'changed',
  reset: 'reset',
  setup: 'set up',
  withdraw: 'withdrawn',
  redeliver: 'sent again',
  role: 'given another role',
  groups: 'put into other groups',
  password: 'given a new password',
  'rotate-secret': 'given a new secret',
  'sign-in': 'signed in to',
  'sign-out': 'signed out of',
};

/** `policy.update` as "Policy changed". */
export function whatHappened(action: string): string {
  const phrase = PHRASES[action];
  if (phrase !== undefined) return phrase;
  const [noun = '', verb = ''] = action.split('.');
  const thing = noun.replaceAll('-', ' ');
  return `${thing.charAt(0).toUpperCase()}${thing.slice(1)} ${DONE[verb] ?? past(verb)}`;
}

const past = (verb: string): string => (verb.endsWith('e') ? `${verb}d` : `${verb}ed`);

/** The page of what was changed; null if it has none any more. */
export function placeOf({ action, target, detail }: Change): string | null {
  const [noun, verb] = action.split('.');
  if (verb === 'delete') return null;
  const within = (path: string, id: unknown) => (typeof id === 'string' ? `/dashboard/${path}/${id}` : null);
  switch (noun) {
    case 'policy':
    case 'limit':
    case 'connect':
      return within('policies', target);
    case 'key':
      return within('keys', target);
    case 'tool-server':
      return within('tool-servers', target);
    case 'webhook':
      return within('webhooks', target);
    case 'approval':
      return within('approvals', target);
    case 'run':
      return within('runs', target);
    case 'call':
      return `/dashboard/audit?entry=${target}`;
    case 'grant':
      return within('approvals', detail['referenceId']);
    case 'delivery':
      return within('webhooks', detail['webhookId']);
    case 'session':
    case 'connected-tool':
      return within('keys', detail['keyId']);
    case 'operator':
      return '/dashboard/operators';
    default:
      return null;
  }
}

/** What it is called, if the change says so. */
export function nameOf({ detail }: Change): string | null {
  const name = [detail['name'], detail['email'], detail['label'], detail['host'], detail['tool']].find(
    each => typeof each === 'string' && each !== '',
  );
  return (name as string | undefined) ?? null;
}

/** Shown as the name, or where the link leads. */
const NAMED = new Set(['name', 'email', 'label', 'host', 'tool', 'referenceId']);

/** The names of what the ids in fields such as `policyId` stand for. */
export type NamesOf = Record<string, (id: string) => string>;

/** What else is known, as `field: value`; unknown ids and other long values only begin here. */
export function restOf({ detail }: Change, names: NamesOf = {}): string[] {
  return Object.entries(detail)
    .filter(([field, value]) => !NAMED.has(field) && value !== null)
    .map(([field, value]) => `${wordsOf(field)}: ${shown(field, value, names)}`);
}

/** `shadowPolicyId` as "shadow policy". */
function wordsOf(field: string): string {
  return field.replace(/Id$/, '').replace(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`);
}

const MOST_CHARS = 60;
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}$/;
const TIME = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/;
const CLOCK = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });

function shown(field: string, value: unknown, names: NamesOf): string {
  if (field === 'changed' && Array.isArray(value)) return value.map(each => wordsOf(String(each))).join(', ');
  if (Array.isArray(value) && value.every(each => typeof each === 'string')) return short(value.join(', '));
  if (field === 'tools' && Array.isArray(value)) return short(value.map(toolName).join(', '));
  if (typeof value !== 'string') return short(safeJson(value));
  if (TIME.test(value)) return CLOCK.format(new Date(value));
  return ID.test(value) ? (names[field]?.(value) ?? `${value.slice(0, 8)}…`) : short(value);
}

/** Of a definition that was accepted. */
const toolName = (each: unknown): string =>
  typeof each === 'object' && each !== null && 'name' in each ? String(each.name) : safeJson(each);

function short(text: string): string {
  return text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS)}…` : text;
}
