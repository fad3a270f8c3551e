// Webhooks: what is written comes back, one at a time, and a deleted one is not found any more.

import { expect, test } from 'bun:test';
import * as webhooks from '../../src/store/webhooks.ts';
import { NOW, onEachEngine } from './stores.ts';

const webhook = (id: string): webhooks.WebhookRecord => ({
  id,
  url: `https://${id}.example.com`,
  keyId: null,
  events: ['approval.created', 'approval.denied'],
  secretEncrypted: 'secret',
  previousSecretEncrypted: null,
  previousSecretUntil: null,
  createdAt: NOW,
  disabledAt: null,
  disabledReason: null,
});

await onEachEngine(store => {
  test('webhooks are found, changed and deleted one by one, and listed newest first', async () => {
    const { db } = store;
    const ids = ['w1', 'w2', 'w3', 'w4', 'w5'];
    for (const id of ids) await webhooks.insertWebhook(db, webhook(id));
    const changed: webhooks.WebhookRecord = {
      ...webhook('w4'),
      url: 'https://example.org',
      keyId: 'key-1',
      events: [],
      secretEncrypted: 'new',
      previousSecretEncrypted: 'secret',
      previousSecretUntil: NOW + 1,
      disabledAt: NOW + 2,
      disabledReason: 'gone',
    };
    await webhooks.updateWebhook(db, changed);
    await webhooks.markWebhookDeleted(db, 'w3', NOW);
    expect(await webhooks.findWebhook(db, 'w4')).toEqual(changed);
    expect(await webhooks.findWebhook(db, 'w2')).toEqual(webhook('w2'));
    expect(await webhooks.findWebhook(db, 'w3')).toBeNull();
    expect(await webhooks.findWebhook(db, 'unknown')).toBeNull();
    expect(await webhooks.listWebhooks(db, 2, 'z')).toEqual([webhook('w5'), changed]);
    expect(await webhooks.listWebhooks(db, 2, 'w4')).toEqual([webhook('w2'), webhook('w1')]);
  });
});
