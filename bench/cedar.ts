// A peer that only decides: the Cedar policy engine, as WebAssembly, behind the same HTTP server as the echo. It parses
// the call, authorizes it with ten policies and answers. It has no key, no audit log, and stores nothing.

import { preparsePolicySet, statefulIsAuthorized } from '@cedar-policy/cedar-wasm/nodejs';

const others = Array.from(
  { length: 9 },
  (_, index) => `forbid(principal, action, resource) when { resource == Tool::"server${index}__drop" };`,
);
const staticPolicies = [
  ...others,
  'permit(principal, action == Action::"call", resource == Tool::"github__create_issue");',
].join('\n');

// The policies are parsed once, as one would in production; parsing them for every call took 500 µs.
preparsePolicySet('bench', { staticPolicies });

const server = Bun.serve({
  hostname: process.env.TOOLGATE_HOST ?? '127.0.0.1',
  port: Number(process.env.TOOLGATE_PORT ?? 0),
  async fetch(request) {
    if (request.method === 'GET') return new Response('ready');
    const call = (await request.json()) as { serverName: string; toolName: string };
    const answer = statefulIsAuthorized({
      principal: { type: 'Key', id: 'bench' },
      action: { type: 'Action', id: 'call' },
      resource: { type: 'Tool', id: `${call.serverName}__${call.toolName}` },
      context: {},
      preparsedPolicySetId: 'bench',
      entities: [],
    });
    return Response.json({ decision: answer.type === 'success' ? answer.response.decision : 'deny' });
  },
});

process.once('SIGTERM', () => server.stop(true).then(() => process.exit(0)));
