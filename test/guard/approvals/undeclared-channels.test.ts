// A channel that was removed from the server file, although a rule or a key names it, is found at the next start.

import { expect, test } from 'bun:test';
import { endKey } from '../../../src/guard/approvals/end-key.ts';
import { undeclaredChannels } from '../../../src/guard/approvals/undeclared-channels.ts';
import { createPolicy } from '../../../src/guard/check/policies.ts';
import { createKey } from '../../../src/guard/keys.ts';
import { onEachEngine } from '../../store/stores.ts';
import { depsAt } from '../deps.ts';

await onEachEngine(store => {
  test('policies in force and live keys are named, with the channels that are not there', async () => {
    const declared = depsAt(store.db);
    const channel = { type: 'http', url: 'https://hooks.example/', details: false } as const;
    const channels = { ops: channel, 'on-call': channel, kept: channel };
    const deps = { ...declared, settings: { ...declared.settings, approvalTimeout: 3_600_000, channels } };
    const rule = { tool: '*', action: 'require_approval' as const };
    const rules = [
      { ...rule, notify: ['kept', 'ops'] },
      { ...rule, notify: ['ops', 'default'], escalate: { after: '1m', notify: ['on-call'] } },
    ];
    const policy = await createPolicy(deps, 'admin', { name: 'payments', description: '', rules });
    await createPolicy(deps, 'admin', { name: 'plain', description: '', rules: [rule] });
    const input = { policyId: policy.id, requireSignInToApprove: false, expiresAt: null, forward: [] };
    await createKey(deps, 'admin', { ...input, name: 'agent', notify: ['default', 'on-call'] });
    await createKey(deps, 'admin', { ...input, name: 'own', notify: { url: 'https://own.example' } });
    const { key } = await createKey(deps, 'admin', { ...input, name: 'revoked', notify: ['ops'] });
    await endKey(deps, 'admin', key.id);
    expect(await undeclaredChannels(deps)).toEqual([]);
    const later = { ...deps, settings: { ...deps.settings, channels: { kept: channel } } };
    expect(await undeclaredChannels(later)).toEqual([
      { channel: 'ops', policy: 'payments' },
      { channel: 'on-call', policy: 'payments' },
      { channel: 'on-call', key: 'agent' },
    ]);
  });
});
