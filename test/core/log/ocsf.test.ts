// Audit entries in the Open Cybersecurity Schema Framework, compared with the published schema of their class: every
// attribute is known there and has its type, what is required is there, and numbers mean what their texts say.

import { expect, test } from 'bun:test';
import { DECISIONS } from '../../../src/core/decision/decide.ts';
import { type OcsfEntry, ocsfEvent } from '../../../src/core/log/ocsf.ts';
import { SURFACES } from '../../../src/core/text/surface.ts';
import schema from '../../vectors/ocsf/api-activity-1.6.0.json';

interface Attribute {
  type: string;
  requirement: string;
  array?: boolean;
  profile?: string;
  enum?: Record<string, string>;
}
interface Shape {
  attributes: Record<string, Attribute>;
  atLeastOne?: string[];
}
const OBJECTS = schema.objects as unknown as Record<string, Shape>;

const PRIMITIVES: Record<string, (value: unknown) => boolean> = {
  string_t: value => typeof value === 'string',
  username_t: value => typeof value === 'string',
  resource_uid_t: value => typeof value === 'string',
  boolean_t: value => typeof value === 'boolean',
  integer_t: value => Number.isSafeInteger(value),
  long_t: value => Number.isSafeInteger(value),
  timestamp_t: value => Number.isSafeInteger(value) && (value as number) > 1e12,
};

function faults(value: object, shape: Shape, profiles: readonly string[], path = ''): string[] {
  const found: string[] = [];
  const given = value as Record<string, unknown>;
  for (const [name, attribute] of Object.entries(shape.attributes)) {
    const isOn = attribute.profile === undefined || profiles.includes(attribute.profile);
    if (isOn && attribute.requirement === 'required' && given[name] === undefined)
      found.push(`${path}/${name} is required`);
  }
  if (shape.atLeastOne?.every(name => given[name] === undefined))
    found.push(`${path} has none of ${shape.atLeastOne.join(', ')}`);
  for (const [name, each] of Object.entries(given)) {
    const attribute = shape.attributes[name];
    if (attribute === undefined) found.push(`${path}/${name} is unknown`);
    else found.push(...valueFaults(each, attribute, given, profiles, `${path}/${name}`));
  }
  return found;
}

function valueFaults(
  value: unknown,
  { type, array, profile, enum: named }: Attribute,
  beside: Record<string, unknown>,
  profiles: readonly string[],
  path: string,
): string[] {
  if (profile !== undefined && !profiles.includes(profile)) return [`${path} needs the profile ${profile}`];
  if (array) {
    if (!Array.isArray(value)) return [`${path} is no list`];
    return value.flatMap((each, at) =>
      valueFaults(each, { type, requirement: '' }, {}, profiles, `${path}/${at}`),
    );
  }
  if (type === 'object') return value !== null && typeof value === 'object' ? [] : [`${path} is no object`];
  const primitive = PRIMITIVES[type];
  if (primitive === undefined) {
    const shape = OBJECTS[type];
    if (shape === undefined) return [`${path} is of the type ${type}, which the test does not know`];
    return faults(value as object, shape, profiles, path);
  }
  if (!primitive(value)) return [`${path} is no ${type}`];
  if (named === undefined) return [];
  const caption = named[String(value)];
  if (caption === undefined) return [`${path} has no value ${value}`];
  // The text beside a number is its caption, except for Other, where it is our own.
  const text = beside[(path.split('/').at(-1) as string).replace(/_uid$/, '_name').replace(/_id$/, '')];
  return text === undefined || caption === 'Other' || text === caption
    ? []
    : [`${path} means ${caption}, not ${text}`];
}

const ENTRY: OcsfEntry = {
  id: '019a8c3e-7b1d-7c52-9d0e-3f6b1c2a4d5e',
  at: '2026-11-17T05:04:03.021Z',
  keyId: '019a8c3e-0000-7c52-9d0e-3f6b1c2a4d5e',
  sessionId: null,
  surface: 'check',
  serverName: 'payments',
  toolName: 'refund',
  decision: 'deny',
  reason: 'Denied by rule 2.',
  policyId: 'default',
  policyVersion: 3,
  ruleIndex: 1,
  referenceId: null,
  latencyMs: 2,
};
const SHADOW = { policyId: 'next', policyVersion: 1, decision: 'allow', ruleIndex: null };

test('events of every kind of entry agree with the published schema', () => {
  const kinds: OcsfEntry[] = DECISIONS.flatMap(decision =>
    SURFACES.flatMap(surface => [
      { ...ENTRY, decision, surface, ruleIndex: null },
      { ...ENTRY, decision, surface, sessionId: 's', personId: 'p', referenceId: 'r', shadow: SHADOW },
      { ...ENTRY, decision, surface, traceId: '4bf92f3577b34da6a3ce929d0e0e4736', latencyMs: 0.4 },
    ]),
  );
  for (const entry of kinds) {
    const event = ocsfEvent(7, entry) as { metadata: { profiles: string[] } };
    expect(faults(event, schema.class as unknown as Shape, event.metadata.profiles)).toEqual([]);
  }
});

test('the comparison finds what is missing, unknown, of another type, or named wrongly', () => {
  const { actor, ...rest } = ocsfEvent(7, ENTRY) as Record<string, unknown>;
  const wrong = { ...rest, colour: 'red', time: '2026', src_endpoint: { svc_name: 'x' }, action: 'Allowed' };
  expect(faults(wrong, schema.class as unknown as Shape, ['security_control']).sort()).toEqual([
    '/action_id means Denied, not Allowed',
    '/actor is required',
    '/colour is unknown',
    '/src_endpoint has none of name, uid',
    '/time is no timestamp_t',
  ]);
});

test('nothing of an entry is lost, and the decision is the one that analysts look for', () => {
  const whole = {
    ...ENTRY,
    sessionId: 'ses',
    personId: 'per',
    referenceId: 'ref',
    shadow: SHADOW,
    traceId: 'tra',
  };
  expect(ocsfEvent(42, whole)).toMatchObject({
    class_uid: 6003,
    type_uid: 600399,
    time: Date.UTC(2026, 10, 17, 5, 4, 3, 21),
    metadata: { uid: ENTRY.id, sequence: 42, profiles: ['security_control', 'trace'] },
    actor: { app_uid: ENTRY.keyId, session: { uid: 'ses' }, user: { uid: 'per' } },
    api: { operation: 'refund', service: { name: 'payments' } },
    policy: { uid: 'default', version: '3' },
    src_endpoint: { svc_name: 'check' },
    action_id: 2,
    disposition_id: 2,
    status_id: 2,
    status_code: 'deny',
    status_detail: 'Denied by rule 2.',
    duration: 2,
    trace: { uid: 'tra' },
    unmapped: { ruleIndex: 1, referenceId: 'ref', shadow: SHADOW },
  });
  expect(ocsfEvent(0, { ...ENTRY, decision: 'allow' })).toMatchObject({
    action_id: 1,
    disposition_id: 1,
    status_id: 1,
  });
  expect(ocsfEvent(0, { ...ENTRY, decision: 'pending' })).toMatchObject({ action_id: 99, action: 'Pending' });
});
