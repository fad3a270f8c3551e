// A collector of OpenTelemetry as far as a sender sees it: it reads what it is sent, and answers that it has taken it.

const taking = Bun.serve({
  hostname: process.env.TOOLGATE_HOST ?? '127.0.0.1',
  port: Number(process.env.TOOLGATE_PORT ?? 0),
  async fetch(request) {
    await request.bytes();
    return new Response();
  },
});

process.once('SIGTERM', () => taking.stop(true).then(() => process.exit(0)));
