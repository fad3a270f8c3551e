// Makes one attempt at one delivery: signs and sends it, records the outcome and schedules the next attempt. The
// outcome is recorded after the answer, never before: if the process crashes in between, the event is sent again. So
// every event is delivered at least once.

import { waitAfter } from '../../core/approvals/event.ts';
import { GuardError } from '../../core/errors.ts';
import type { Tracer } from '../../core/wire/span.ts';
import {
  type AttemptRecord,
  type DeliveryStatus,
  findEventBody,
  type Leased,
  leaseDeliveries,
  recordAttempt,
  webhooksDue,
} from '../../store/deliveries.ts';
import { findWebhook, type WebhookRecord } from '../../store/webhooks.ts';
import type { Deps } from '../deps.ts';
import { newId } from '../ids.ts';
import { webhookLock } from '../locks.ts';
import type { TargetRules } from './addresses.ts';
import { ATTEMPT_MS, SendError, sendJson } from './send.ts';
import { sign } from './sign.ts';
import { disableWebhook, liveSecrets } from './webhooks.ts';
import type { Job } from './worker.ts';

const GONE = 410;

export interface Attempt {
  status: number | null;
  durationMs: number;
  error: string | null;
  response: string | null;
}

/** The job that sends the deliveries that are due. `tracer` is null where no traces are sent. */
export function deliveries(
  deps: Deps,
  rules: TargetRules,
  onAttempt: (attempt: Attempt) => void,
  tracer: Tracer | null = null,
): Job {
  const { db, now } = deps;
  return async start => {
    for (const webhookId of await webhooksDue(db, now())) {
      await start(
        webhookId,
        (tx, room, until) => leaseDeliveries(tx, webhookId, now(), until, room),
        async leased => onAttempt(await deliver(deps, rules, webhookId, leased, tracer)),
      );
    }
  };
}

/** Sends one leased delivery and records the outcome. */
export async function deliver(
  deps: Deps,
  rules: TargetRules,
  webhookId: string,
  leased: Leased,
  tracer: Tracer | null = null,
): Promise<Attempt> {
  const at = deps.now();
  const webhook = await findWebhook(deps.db, webhookId);
  const body = await findEventBody(deps.db, leased.eventId);
  const wanted = webhook !== null && webhook.disabledAt === null && body !== null;
  const attempt = wanted ? await tryTraced(deps, rules, webhook, leased, body, tracer) : UNWANTED;
  const record: AttemptRecord = { ...attempt, id: newId(), deliveryId: leased.id, at };
  const then = wanted ? next(deps, attempt, leased.attempts + 1) : FAILED;
  const gone = attempt.status === GONE;
  await deps.db.transaction(gone ? { exclusive: [webhookLock(webhookId)] } : {}, async tx => {
    recordAttempt(tx, record, then);
    if (gone) await disableWebhook(tx, deps, webhookId, 'its receiver answered 410 Gone');
  });
  return attempt;
}

const UNWANTED: Attempt = {
  status: null,
  durationMs: 0,
  error: 'the webhook is switched off',
  response: null,
};
const FAILED = { status: 'failed', nextAttemptAt: null } as const;

/** An attempt in a trace of its own, which the receiver can continue. */
async function tryTraced(
  deps: Deps,
  rules: TargetRules,
  webhook: WebhookRecord,
  { eventId, attempts }: Leased,
  body: string,
  tracer: Tracer | null,
): Promise<Attempt> {
  const span = tracer?.begin('toolgate.delivery', 'client', null, performance.now()) ?? null;
  if (span === null) return tryOnce(deps, rules, webhook, eventId, body);
  const attempt = await tryOnce(deps, rules, webhook, eventId, body, span.headers());
  span.set({
    'http.request.method': 'POST',
    // Of the address only the host: its path and query may hold a secret.
    'server.address': new URL(webhook.url).hostname,
    'toolgate.webhook_id': webhook.id,
    'toolgate.event_id': eventId,
    'http.request.resend_count': attempts,
    ...(attempt.status !== null && { 'http.response.status_code': attempt.status }),
  });
  const failed = attempt.status === null ? 'no_answer' : String(attempt.status);
  span.end(attempt.error === null ? null : failed);
  return attempt;
}

/** Signs and sends a body to a webhook. It does not throw if the receiver fails or the secret cannot be decrypted. */
export async function tryOnce(
  deps: Deps,
  rules: TargetRules,
  webhook: WebhookRecord,
  eventId: string,
  body: string,
  trace: Record<string, string> = {},
): Promise<Attempt> {
  const started = performance.now();
  const now = deps.now();
  const secrets = liveSecrets(deps.vault, webhook, now);
  if (secrets === null) return unanswered(LOST_SECRET, started);
  const headers = { ...trace, ...sign(secrets, eventId, Math.floor(now / 1000), body) };
  try {
    const sent = await sendJson({ url: webhook.url, headers, body, timeoutMs: ATTEMPT_MS, rules });
    return { ...sent, error: succeeded(sent.status) ? null : `answered ${sent.status}` };
  } catch (error) {
    if (!(error instanceof SendError || error instanceof GuardError)) throw error;
    return unanswered(error.message, started);
  }
}

const LOST_SECRET =
  'the secret of the webhook cannot be decrypted: it is damaged, or encrypted with another master key; rotate it';

function unanswered(error: string, started: number): Attempt {
  return { status: null, durationMs: Math.round(performance.now() - started), error, response: null };
}

function succeeded(status: number | null): boolean {
  return status !== null && status >= 200 && status <= 299;
}

function next(
  deps: Deps,
  attempt: Attempt,
  made: number,
): { status: DeliveryStatus; nextAttemptAt: number | null } {
  if (succeeded(attempt.status)) return { status: 'delivered', nextAttemptAt: null };
  const wait = attempt.status === GONE ? null : waitAfter(made, Math.random());
  if (wait === null) return FAILED;
  return { status: 'pending', nextAttemptAt: deps.now() + wait };
}
