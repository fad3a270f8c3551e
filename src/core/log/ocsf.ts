// An audit entry in the Open Cybersecurity Schema Framework, version 1.6.0: an event of the class API Activity (6003)
// with the profile Security Control, which has the action of a policy. What the schema has no field for stands in
// `unmapped` under the names that the entry has.

import type { Decision } from '../decision/decide.ts';
import { joinName } from '../text/name.ts';
import type { Surface } from '../text/surface.ts';
import type { ShownEntry } from './entry.ts';

const VERSION = '1.6.0';
const CATEGORY = 6;
const CLASS = 6003;
/** Other: an entry does not say whether a tool creates, reads, updates or deletes. */
const ACTIVITY = 99;
/** Informational: that a call was denied is the normal work of a policy. */
const SEVERITY = 1;

/** What the mapping reads of an entry. */
export type OcsfEntry = ShownEntry<{
  id: string;
  at: number;
  keyId: string;
  sessionId: string | null;
  personId: string | null;
  surface: Surface;
  serverName: string;
  toolName: string;
  decision: Decision;
  reason: string;
  policyId: string;
  policyVersion: number;
  ruleIndex: number | null;
  referenceId: string | null;
  latencyMs: number;
  shadow: object | null;
  traceId: string | null;
  runId: string | null;
  marks: string | null;
}>;

interface Outcome {
  status_id: number;
  status: string;
  action_id: number;
  action: string;
  disposition_id: number;
  disposition: string;
}

/** A call that waits for a person is neither allowed nor denied, for which the schema has only Other. */
const OUTCOMES: Record<Decision, Outcome> = {
  allow: outcome([1, 'Success'], [1, 'Allowed'], [1, 'Allowed']),
  deny: outcome([2, 'Failure'], [2, 'Denied'], [2, 'Blocked']),
  pending: outcome([99, 'Pending'], [99, 'Pending'], [99, 'Pending']),
};

/** `seq` is the place of the entry in the sealed log. */
export function ocsfEvent(seq: number, entry: OcsfEntry): object {
  const { traceId } = entry;
  return {
    metadata: {
      version: VERSION,
      product: { name: 'Toolgate', vendor_name: 'Toolgate' },
      profiles: ['security_control', ...(traceId === undefined ? [] : ['trace'])],
      log_name: 'audit',
      uid: entry.id,
      sequence: seq,
      original_time: entry.at,
    },
    category_uid: CATEGORY,
    category_name: 'Application Activity',
    class_uid: CLASS,
    class_name: 'API Activity',
    activity_id: ACTIVITY,
    activity_name: 'Call',
    type_uid: CLASS * 100 + ACTIVITY,
    type_name: 'API Activity: Other',
    severity_id: SEVERITY,
    severity: 'Informational',
    time: Date.parse(entry.at),
    duration: Math.round(entry.latencyMs),
    message: entry.reason,
    status_code: entry.decision,
    status_detail: entry.reason,
    ...OUTCOMES[entry.decision],
    actor: actor(entry),
    api: {
      operation: entry.toolName,
      service: { name: entry.serverName },
      request: { uid: entry.id },
    },
    resources: [
      {
        uid: joinName(entry.serverName, entry.toolName),
        name: entry.toolName,
        namespace: entry.serverName,
        type: 'tool',
      },
    ],
    // The class requires a source of the request. The log has no network addresses, only the key and the surface.
    src_endpoint: { uid: entry.keyId, svc_name: entry.surface },
    policy: { uid: entry.policyId, version: String(entry.policyVersion), is_applied: true },
    ...(traceId === undefined ? {} : { trace: { uid: traceId } }),
    unmapped: unmapped(entry),
  };
}

function actor({ keyId, sessionId, personId }: OcsfEntry): object {
  return {
    app_uid: keyId,
    ...(sessionId === null ? {} : { session: { uid: sessionId, credential_uid: keyId } }),
    ...(personId === undefined ? {} : { user: { uid: personId, type_id: 1 } }),
  };
}

function unmapped({ ruleIndex, referenceId, shadow, reasonCode }: OcsfEntry): object {
  return { ruleIndex, referenceId, ...(reasonCode && { reasonCode }), ...(shadow && { shadow }) };
}

function outcome(status: [number, string], action: [number, string], disposition: [number, string]): Outcome {
  return {
    status_id: status[0],
    status: status[1],
    action_id: action[0],
    action: action[1],
    disposition_id: disposition[0],
    disposition: disposition[1],
  };
}
