#!/usr/bin/env node
// A PreToolUse hook for Claude Code: asks Toolgate before each tool call, and prints what Claude Code shall do. One
// file for Node 20+, no dependencies. Whatever goes wrong is a deny: a missing answer never counts as allow.
//
// An MCP tool `mcp__github__create_issue` is asked for as github / create_issue; Claude Code's own tools as
// claude-code / Bash, claude-code / Write and so on.

const { TOOLGATE_API_KEY: key, TOOLGATE_BASE_URL: base = 'http://127.0.0.1:8787' } = process.env;
/** What a held call gets: `deny`, or `ask` where the person at the terminal is the one to decide. */
const pending = process.env.TOOLGATE_HOOK_PENDING === 'ask' ? 'ask' : 'deny';
const TIMEOUT_MS = 10_000;

function nameOf(tool) {
  const [, server, name] = /^mcp__(.+?)__(.+)$/.exec(tool) ?? [null, 'claude-code', tool];
  return { serverName: server, toolName: name };
}

async function verdictOn(call) {
  const response = await fetch(new URL('/v1/check', base), {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ ...nameOf(call.tool_name), args: call.tool_input ?? {} }),
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const body = await response.json();
  if (response.status !== 200) throw new Error(`${body.detail ?? 'no reason given'} (${response.status})`);
  return body;
}

async function decide() {
  let input = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) input += chunk;
  const verdict = await verdictOn(JSON.parse(input));
  if (verdict.decision === 'allow') return ['allow', verdict.reason];
  if (verdict.decision !== 'pending') return ['deny', verdict.reason];
  const next = 'A person has been asked: tell the user, and call it again, unchanged, only when they say so.';
  return [pending, `${verdict.reason} ${next} Reference: ${verdict.referenceId}`];
}

const [permissionDecision, permissionDecisionReason] = await decide().catch(error => [
  'deny',
  `Toolgate gave no verdict, so the call is not made: ${error.message}`,
]);
const hookSpecificOutput = { hookEventName: 'PreToolUse', permissionDecision, permissionDecisionReason };
console.log(JSON.stringify({ hookSpecificOutput }));
