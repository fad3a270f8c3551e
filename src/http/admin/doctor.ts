// What the doctor finds about the running service. A process has one run at a time: whoever asks while it goes on gets
// the same report.

import { z } from 'zod';
import { checksOf } from '../../doctor/doctor.ts';
import { examine, type Report } from '../../doctor/examine.ts';
import { type Examined, readOnce } from '../../doctor/examined.ts';
import { toolsCheck } from '../../doctor/tools.ts';
import { isPersonal } from '../../mcp/sign-in.ts';
import type { ConnectedTool } from '../../store/connected-tools.ts';
import { holdOpen, type Route, route } from '../serving/route.ts';
import type { Services } from '../serving/services.ts';

const report = z.object({
  ok: z.boolean().meta({ description: 'Whether nothing is bad.' }),
  checks: z.array(
    z.object({
      name: z.string(),
      state: z.enum(['good', 'warning', 'bad']),
      message: z.string().meta({ description: 'What was found and, unless it is good, what to do.' }),
    }),
  ),
});

export const doctorRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/doctor',
    access: 'admin',
    tag: 'settings',
    summary: 'What is wrong with this service, and what to do about it',
    description:
      'Looks at settings, store, disk, clock, and the servers that the service depends on, from this replica. It changes nothing and sends no message. It takes up to 10 s.',
    answers: { 200: { description: 'The report.', schema: report } },
    handle: async incoming => {
      holdOpen(incoming);
      return Response.json(await reportOf(incoming.services, incoming.server.port ?? 0));
    },
  }),
];

/** The run in progress. Its key is the config, because every operator's request has a services object of its own. */
const underWay = new WeakMap<Services['config'], Promise<Report>>();

function reportOf(services: Services, port: number): Promise<Report> {
  const known = underWay.get(services.config);
  if (known !== undefined) return known;
  const begun = examine(checksOf(examined(services, port))).finally(() => underWay.delete(services.config));
  underWay.set(services.config, begun);
  return begun;
}

function examined(services: Services, port: number): Examined {
  const { config, deps, version } = services;
  const store = readOnce(async () => deps.db);
  return {
    config,
    version,
    running: true,
    localUrl: `http://127.0.0.1:${port}`,
    store,
    tryEngine: null,
    vault: () => deps.vault,
    tools: toolsCheck({ store }, (tool, signal) => faultOf(services, tool, signal)),
  };
}

/** How long a command may take to start before it counts as a fault. It is below the limit of a check. */
const PATIENCE_MS = 6000;
/** The longest message of a server that the report shows. */
const MOST_CHARS = 300;

/** Connects if necessary, and asks for one page of tools. Nothing of the answer is kept, so no tool is pinned by it. */
async function faultOf(
  { mcp }: Services,
  { id, keyId }: ConnectedTool,
  signal: AbortSignal,
): Promise<string | null> {
  const { upstream = null } = (await mcp.hub.find(keyId, id)) ?? {};
  // A server to which everybody signs in for themselves has no connection that everybody shares.
  if (upstream === null || isPersonal(upstream.source)) return null;
  const cancel = new AbortController();
  signal.addEventListener('abort', () => cancel.abort(), { once: true });
  try {
    await upstream.reach(signal, PATIENCE_MS);
    const { result, error } = await upstream.request('tools/list', {}, { cancel, timeoutMs: PATIENCE_MS });
    if (result === null) throw upstream.refusal('tools/list', error);
    return null;
  } catch (error) {
    return (error as Error).message.slice(0, MOST_CHARS);
  }
}
