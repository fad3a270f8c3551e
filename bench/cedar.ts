// A peer: "just the decision". The Cedar policy engine, as WebAssembly, behind the same HTTP server as the echo: it
// parses the call, authorizes it by ten policies and answers. No key, no audit log, nothing durable.

import { preparsePolicySet, statefulIsAuthorized } from '@cedar-policy/cedar-wasm/nodejs';

const others = Array.from(
  { length: 9 },
  (_, index) => `forbid(principal, action, resource) when { resource == Tool::"server${index}__drop" };`,
);
const staticPolicies = [
  ...others,
  'permit(principal, action == Action::"call", resource == Tool::"github__create_issue");',
].join('\n');

// Parsed once, as one would; parsing them for every call took 500 µs.
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
