// The reference for all other lines: the least that a Bun server can do for a JSON request. It reads a body of the size
// of a check and answers with a body of the size of a verdict. It has no routes, no store and no key.

const server = Bun.serve({
  hostname: process.env.TOOLGATE_HOST ?? '127.0.0.1',
  port: Number(process.env.TOOLGATE_PORT ?? 0),
  async fetch(request) {
    if (request.method === 'GET') return new Response('ready');
    const call = (await request.json()) as { serverName: string; toolName: string };
    return Response.json({
      decision: 'allow',
      reason: `Rule 9 of policy "bench" allows ${call.serverName}__${call.toolName}.`,
      policyId: '01890a5d-ac96-774b-bcce-b302099a8057',
      toolCallId: '01890a5d-ac96-774b-bcce-b302099a8058',
      latencyMs: 0,
    });
  },
});

process.once('SIGTERM', () => server.stop(true).then(() => process.exit(0)));
