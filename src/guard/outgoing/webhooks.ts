// Registers, changes, switches off and deletes webhooks, and rotates their secrets. A secret is shown once, in the
// answer that creates it, and is stored encrypted. After a rotation, deliveries are signed with the old secret too for
// a day.

import { EVENT_TYPES } from '../../core/approvals/event.ts';
import { GuardError, invalidInput } from '../../core/errors.ts';
import { failPending, findDelivery, rescheduleDelivery } from '../../store/deliveries.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { findKey } from '../../store/keys.ts';
import {
  findWebhook,
  insertWebhook,
  markWebhookDeleted,
  updateWebhook,
  type WebhookRecord,
} from '../../store/webhooks.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import { newId } from '../ids.ts';
import { webhookLock } from '../locks.ts';
import type { Vault } from '../secrets.ts';
import { requireTarget, type TargetRules } from './addresses.ts';
import { newWebhookSecret } from './sign.ts';

const ROTATION_MS = 24 * 3_600_000;

export interface WebhookInput {
  url: string;
  keyId: string | null;
  events: string[];
}

export async function createWebhook(
  deps: Deps,
  actor: Actor,
  rules: TargetRules,
  input: WebhookInput,
): Promise<{ webhook: WebhookRecord; secret: string }> {
  await requireTarget(input.url, rules);
  const secret = newWebhookSecret();
  const id = newId();
  const webhook: WebhookRecord = {
    ...input,
    id,
    secretEncrypted: encryptSecret(deps.vault, id, secret),
    previousSecretEncrypted: null,
    previousSecretUntil: null,
    createdAt: deps.now(),
    disabledAt: null,
    disabledReason: null,
  };
  await deps.db.transaction({}, async tx => {
    await requireKey(tx, input.keyId);
    await insertWebhook(tx, webhook);
    await recordChange(tx, deps, actor, 'webhook.create', id, {
      host: hostOf(input.url),
      keyId: input.keyId,
    });
  });
  return { webhook, secret };
}

export async function changeWebhook(
  deps: Deps,
  actor: Actor,
  rules: TargetRules,
  id: string,
  input: Partial<WebhookInput> & { enabled?: boolean },
): Promise<WebhookRecord> {
  if (input.url !== undefined) await requireTarget(input.url, rules);
  return alone(deps, id, async (tx, current) => {
    const { enabled, ...rest } = input;
    const webhook = { ...current, ...rest };
    await requireKey(tx, webhook.keyId);
    if (enabled === true) Object.assign(webhook, { disabledAt: null, disabledReason: null });
    await updateWebhook(tx, webhook);
    await recordChange(tx, deps, actor, 'webhook.update', id, { changed: Object.keys(input) });
    if (enabled !== false || current.disabledAt !== null) return webhook;
    return switchOff(tx, deps, actor, webhook, 'switched off by an operator');
  });
}

/**
 * Switches a webhook off because its receiver wants no more events. Its pending deliveries become failed and can be
 * redelivered. The caller holds the webhook's lock.
 */
export async function disableWebhook(tx: Transaction, deps: Deps, id: string, reason: string): Promise<void> {
  const webhook = await findWebhook(tx, id);
  if (webhook?.disabledAt === null) await switchOff(tx, deps, 'system', webhook, reason);
}

async function switchOff(
  tx: Transaction,
  deps: Deps,
  actor: Actor,
  webhook: WebhookRecord,
  reason: string,
): Promise<WebhookRecord> {
  const off = { ...webhook, disabledAt: deps.now(), disabledReason: reason };
  await updateWebhook(tx, off);
  await failPending(tx, webhook.id);
  await recordChange(tx, deps, actor, 'webhook.disable', webhook.id, { reason });
  return off;
}

/** Reads a webhook and works on it under its lock, so that nobody else changes it meanwhile. */
function alone<T>(
  deps: Deps,
  id: string,
  work: (tx: Transaction, webhook: WebhookRecord) => Promise<T>,
): Promise<T> {
  return deps.db.transaction({ exclusive: [webhookLock(id)] }, async tx =>
    work(tx, await requireWebhook(tx, id)),
  );
}

export async function deleteWebhook(deps: Deps, actor: Actor, id: string): Promise<void> {
  await alone(deps, id, async (tx, webhook) => {
    await markWebhookDeleted(tx, id, deps.now());
    await failPending(tx, id);
    await recordChange(tx, deps, actor, 'webhook.delete', id, { host: hostOf(webhook.url) });
  });
}

export async function rotateSecret(
  deps: Deps,
  actor: Actor,
  id: string,
): Promise<{ webhook: WebhookRecord; secret: string }> {
  const secret = newWebhookSecret();
  return alone(deps, id, async (tx, current) => {
    const webhook: WebhookRecord = {
      ...current,
      secretEncrypted: encryptSecret(deps.vault, id, secret),
      previousSecretEncrypted: current.secretEncrypted,
      previousSecretUntil: deps.now() + ROTATION_MS,
    };
    await updateWebhook(tx, webhook);
    await recordChange(tx, deps, actor, 'webhook.rotate-secret', id, {});
    return { webhook, secret };
  });
}

/**
 * The secrets that sign now: the current one and, for a day after a rotation, the previous one. Null if the current one
 * cannot be decrypted. A previous one that cannot be decrypted is left out, since that may be why it was rotated.
 */
export function liveSecrets(vault: Vault, webhook: WebhookRecord, now: number): string[] | null {
  const { id, secretEncrypted, previousSecretEncrypted, previousSecretUntil } = webhook;
  const current = decrypted(vault, id, secretEncrypted);
  if (current === null) return null;
  const previous = (previousSecretUntil ?? 0) > now ? decrypted(vault, id, previousSecretEncrypted) : null;
  return previous === null ? [current] : [current, previous];
}

export async function redeliver(deps: Deps, actor: Actor, deliveryId: string): Promise<void> {
  await deps.db.transaction({}, async tx => {
    const delivery = await findDelivery(tx, deliveryId);
    if (delivery === null) throw new GuardError('not_found', 'There is no delivery with this id.');
    const webhook = await findWebhook(tx, delivery.webhookId);
    if (webhook === null || webhook.disabledAt !== null) {
      throw new GuardError('conflict', 'Its webhook is switched off or deleted; switch it on first.');
    }
    await rescheduleDelivery(tx, deliveryId, deps.now());
    await recordChange(tx, deps, actor, 'delivery.redeliver', deliveryId, { webhookId: webhook.id });
  });
  deps.db.wake();
}

export async function requireWebhook(
  db: Pick<Transaction, 'all' | 'run'>,
  id: string,
): Promise<WebhookRecord> {
  const webhook = await findWebhook(db, id);
  if (webhook === null) throw new GuardError('not_found', 'There is no webhook with this id.');
  return webhook;
}

export const ALL_EVENTS: string[] = [...EVENT_TYPES];

async function requireKey(tx: Transaction, keyId: string | null): Promise<void> {
  if (keyId !== null && (await findKey(tx, keyId)) === null) {
    throw invalidInput([{ path: '/keyId', message: 'there is no key with this id' }]);
  }
}

const about = (webhookId: string): string => `webhook ${webhookId} secret`;
export const encryptSecret = (vault: Vault, id: string, secret: string): string =>
  vault.encrypt(secret, about(id));

function decrypted(vault: Vault, id: string, encrypted: string | null): string | null {
  try {
    return encrypted === null ? null : vault.decrypt(encrypted, about(id));
  } catch {
    return null;
  }
}

function hostOf(url: string): string {
  return new URL(url).host;
}
