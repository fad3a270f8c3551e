// Marked words of the person, results of tools, prompts of agents and values of approved calls, for the promise that no
// part of them is at rest: of what is known in a run there are digests, and of what a run has read there are names.

import type { Rule } from '../../src/core/policy/policy.ts';
import { connect, modern, RecordingUpstream } from '../support/mcp.ts';
import type { TestService } from '../support/service.ts';
import type { Canaries } from './canaries.ts';

const RULES: Rule[] = [
  { tool: 'web__read', action: 'allow', marks: 'untrusted' },
  { tool: 'trusted', action: 'allow', known: 'results' },
  { tool: 'send', action: 'allow', when: 'known(args.to)' },
  { tool: 'send', action: 'require_approval', show: ['to'] },
];

/** Each way by which a text makes values known, and calls that ask about values that are known and not. */
export async function sendFlows(service: TestService, canaries: Canaries): Promise<void> {
  const { key, keyId } = await service.newKey(RULES);
  const told = async (body: object, status: number) => {
    const reply = await service.json('POST', '/v1/told', key, body);
    if (reply.status !== status) throw new Error(`told: ${reply.text}`);
  };
  const known = canaries.at('a value of a session');
  const session = await service.json('POST', '/v1/sessions', key, { known: [`to ${known}.`] });
  const said = canaries.at('what the person said');
  await told({ text: `Write to <${said}@example.org>, please: ${canaries.at('another word')}` }, 202);
  await told({ text: canaries.at('a text that is too long').repeat(3000) }, 413);
  await told({ text: 1, more: canaries.at('a body that is refused') }, 400);
  const { toolCallId } = (await service.check(key, 'crm', 'trusted')).body;
  await told({ toolCallId, structured: { all: [canaries.at('a result'), 17] } }, 202);
  await told({ toolCallId: crypto.randomUUID(), text: canaries.at('the result of no call') }, 404);
  await service.check(key, 'web', 'read', { args: { url: canaries.at('what was read') } });
  for (const token of [key, session.body.token])
    for (const to of [`${said}@example.org`, known, canaries.at('a value that nobody named')])
      await service.check(token, 'mail', 'send', { args: { to } });
  await approved(service, key, canaries);
  await forwarded(service, key, keyId, canaries);
  await prompted(service, key, canaries);
}

/** What a person approves is known from then on. */
async function approved(service: TestService, key: string, canaries: Canaries): Promise<void> {
  const args = { to: canaries.at('a value that somebody approved') };
  const { referenceId } = (await service.check(key, 'mail', 'send', { args })).body;
  await service.admin('POST', `/approvals/${referenceId}/resolve`, { action: 'approve' });
  const { decision } = (await service.check(key, 'mail', 'send', { args, referenceId })).body;
  if (decision !== 'allow') throw new Error(`an approved call is ${decision}`);
}

async function forwarded(
  service: TestService,
  key: string,
  keyId: string,
  canaries: Canaries,
): Promise<void> {
  const upstream = new RecordingUpstream({
    tools: [{ name: 'trusted', inputSchema: { type: 'object' } }],
    onCall: () => ({ content: [{ type: 'text', text: canaries.at('a result behind /mcp') }] }),
  });
  try {
    await connect(service, keyId, 'up', upstream.url);
    const { result } = await modern(service, key, 'tools/call', { name: 'up__trusted', arguments: {} });
    if (result.isError) throw new Error(JSON.stringify(result));
  } finally {
    upstream.stop();
  }
}

/** Events of a coding agent: what the person typed, a call, and its result. */
async function prompted(service: TestService, key: string, canaries: Canaries): Promise<void> {
  const about = { session_id: 'agent-1', cwd: '/project' };
  const event = (body: object) => service.json('POST', '/v1/hooks/claude-code', key, { ...about, ...body });
  const call = { tool_name: 'mcp__crm__trusted', tool_input: {}, tool_use_id: 'toolu_1' };
  await event({ hook_event_name: 'UserPromptSubmit', prompt: canaries.at('a prompt') });
  await event({ hook_event_name: 'PreToolUse', ...call });
  await event({ hook_event_name: 'PostToolUse', ...call, tool_response: canaries.at('an agent’s result') });
}
