// What the page for changes says about a change, and where it leads.

import { describe, expect, test } from 'bun:test';
import { nameOf, placeOf, restOf, whatHappened } from '../../dashboard/src/pages/changes/words.ts';

const ID = '01a1dd48-5e8b-775f-a10d-5b326348fd31';
const change = (action: string, detail: Record<string, unknown> = {}) => ({
  id: ID,
  at: '2026-11-16T12:00:00.000Z',
  actor: 'admin',
  action,
  target: ID,
  detail,
});

describe('what happened, and where', () => {
  const cases: [string, Record<string, unknown>, string, string | null][] = [
    ['policy.update', {}, 'Policy changed', `/dashboard/policies/${ID}`],
    ['policy.delete', {}, 'Policy deleted', null],
    ['key.revoke', {}, 'Key revoked', `/dashboard/keys/${ID}`],
    ['approval.deny', {}, 'Call denied', `/dashboard/approvals/${ID}`],
    ['grant.revoke', { referenceId: 'r' }, 'Grant revoked', '/dashboard/approvals/r'],
    ['connected-tool.sign-in', { keyId: 'k' }, 'Connected tool signed in to', '/dashboard/keys/k'],
    ['tool-server.accept', { name: 'mail' }, 'Tool server accepted', `/dashboard/tool-servers/${ID}`],
    ['tool-server.delete', { name: 'mail' }, 'Tool server deleted', null],
    ['connect.ticket', {}, 'Command for another machine made', `/dashboard/policies/${ID}`],
    ['session.revoke', {}, 'Session revoked', null],
    ['run.clear', { keyId: 'k', marks: ['untrusted'] }, 'Run cleared', `/dashboard/runs/${ID}`],
    ['call.settle', { tool: 'bank__pay', ran: true }, 'Call settled', `/dashboard/audit?entry=${ID}`],
    ['operator.invite', {}, 'Operator invited', '/dashboard/operators'],
    ['passkey.add', {}, 'Passkey added', null],
    ['unheard-of.move', {}, 'Unheard of moved', null],
  ];
  for (const [action, detail, what, place] of cases) {
    test(action, () => {
      expect(whatHappened(action)).toBe(what);
      expect(placeOf(change(action, detail))).toBe(place);
    });
  }
});

test('a name is shown as a name, and the rest in short', () => {
  const made = change('key.create', {
    name: 'agent',
    policyId: ID,
    rules: 3,
    none: null,
    long: 'x'.repeat(99),
  });
  expect(nameOf(made)).toBe('agent');
  expect(nameOf(change('key.create', { name: 7 }))).toBeNull();
  expect(restOf(made)).toEqual(['policy: 01a1dd48…', 'rules: 3', `long: ${'x'.repeat(60)}…`]);
});

test('of definitions that were accepted, the tools are named', () => {
  const tools = [
    { name: 'read', digest: 'a'.repeat(64) },
    { name: 'send', digest: 'b'.repeat(64) },
  ];
  expect(restOf(change('tool-server.accept', { name: 'mail', tools }))).toEqual(['tools: read, send']);
});

test('ids are shown as names, and times and fields in words', () => {
  const names = { shadowPolicyId: (id: string) => `the name of ${id.slice(0, 4)}` };
  const changed = change('key.update', {
    changed: ['shadowPolicyId', 'expiresAt'],
    shadowPolicyId: ID,
    expiresAt: '2026-11-16T12:00:00.000Z',
    openTo: ['group:dev', 'person:ann@example.com'],
  });
  const [fields, shadow, expires, openTo] = restOf(changed, names);
  expect(fields).toBe('changed: shadow policy, expires at');
  expect(shadow).toBe('shadow policy: the name of 01a1');
  expect(openTo).toBe('open to: group:dev, person:ann@example.com');
  expect(expires).toMatch(/^expires at: Nov 1[567], 2026/);
});
