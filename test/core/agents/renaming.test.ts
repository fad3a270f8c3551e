// Names that agents make of the names of MCP tools: rules that deny or ask are not dodged by them, and nothing is allowed
// that no rule names.

import { expect, test } from 'bun:test';
import type { Renaming } from '../../../src/core/agents/renaming.ts';
import { consider } from '../../../src/core/decision/consider.ts';
import { decide } from '../../../src/core/decision/decide.ts';
import { compilePolicy } from '../../../src/core/policy/compiled-policy.ts';
import type { Rule } from '../../../src/core/policy/policy.ts';

const SITUATION = {
  now: 0,
  surface: 'check' as const,
  args: {},
  keyId: 'k',
  keyName: '',
  session: null,
  person: null,
  annotations: null,
};

function decisionOf(rules: Rule[], serverName: string, toolName: string, renamed?: Renaming): string {
  const policy = compilePolicy({ id: 'p', name: 'p', version: 1, rules, limits: {} });
  const call = { serverName, toolName, ...(renamed !== undefined && { renamed }) };
  const considered = consider(policy, call, null, SITUATION);
  return decide(considered, { drift: null, freedom: null, approvalLimit: null, usedUp: false }).decision;
}

const ALLOW: Rule = { tool: '*', action: 'allow' };

const DENIED: [Renaming, string, string, string][] = [
  ['codex', 'my-notes__*', 'my_notes', 'add_note_v2'],
  ['codex', 'my-notes__add-note.v2', 'my_notes', 'add_note_v2'],
  ['codex', 'my-*__add*', 'my_notes', 'add_note_v2'],
  ['codex', 'add-note.*', 'my_notes', 'add_note_v2'],
  ['codex', '*.v2', 'my_notes', 'add_note_v2'],
  ['codex', 'my-notes__*', 'my_notes_0123456789ab', 'add'],
  ['codex', 'my-notes__add.note', 'my_notes', 'add_note_0123456789ab'],
  ['vscode', 'github__*', 'vscode', 'mcp_github_create_issue'],
  ['vscode', 'GitHub Enterprise__delete_*', 'vscode', 'mcp_github_enterp_delete_repo'],
  ['vscode', 'delete_*', 'vscode', 'mcp_github_delete_repo'],
  ['copilot', 'github__create_issue', 'copilot', 'github-create_issue'],
];

test.each(DENIED)('%s: a rule for %s applies to %s__%s', (by, tool, server, name) => {
  expect(decisionOf([{ tool, action: 'deny' }, ALLOW], server, name, by)).toBe('deny');
  expect(decisionOf([{ tool, action: 'require_approval' }, ALLOW], server, name, by)).toBe('pending');
  // A deny below stays, a condition counts, and a rule that allows needs the name itself.
  const below: Rule[] = [
    { tool, action: 'require_approval' },
    { tool: '*', action: 'deny' },
  ];
  expect(decisionOf(below, server, name, by)).toBe('deny');
  expect(decisionOf([{ tool, action: 'deny', when: 'has(args.x)' }, ALLOW], server, name, by)).toBe('allow');
  expect(decisionOf([{ tool, action: 'allow' }], server, name, by)).toBe('deny');
  expect(decisionOf([ALLOW, { tool, action: 'deny' }], server, name, by)).toBe('allow');
  expect(decisionOf([{ tool, action: 'deny' }, ALLOW], server, name)).toBe('allow');
});

test.each<[Renaming, string, string, string]>([
  ['codex', 'my-notes__*', 'my_notes2', 'add'],
  ['codex', 'my-notes__*', 'my', 'notes__add'],
  ['codex', 'github__*', 'github_enterprise', 'add'],
  ['vscode', 'github__*', 'vscode', 'mcp_gitlab_add'],
  ['copilot', 'github__delete_*', 'copilot', 'github-create_issue'],
])('%s: a rule for %s leaves %s__%s alone', (by, tool, server, name) =>
  expect(decisionOf([{ tool, action: 'deny' }, ALLOW], server, name, by)).toBe('allow'),
);
