// Resources, prompts and completion of the Connected Tools, for keys whose setting `forward` turns them on. Policies
// have rules for tools only, so these are off by default. When they are on, no rule decides about them, but each access
// is recorded before it happens.

import { isObject, type Json, type JsonObject } from '../core/wire/json.ts';
import { ServerChanged } from '../guard/check/facts.ts';
import type { GuardedCall } from '../guard/check/guarded-call.ts';
import { WATCHED } from '../guard/check/request.ts';
import type { Principal } from '../guard/credentials.ts';
import type { Forward } from '../store/keys.ts';
import type { LookedAt } from '../store/log/outcomes.ts';
import { takeListSlot } from './answers.ts';
import type { Connected } from './hub.ts';
import { calledTool } from './known-tool.ts';
import { lookAt, tellable } from './looked-at.ts';
import { listAll } from './pages.ts';
import { CODES, ENVELOPE, isRepeatable, metaOf, RpcError, type RpcRequest } from './protocol.ts';
import { headerValue } from './schema.ts';
import { type ClientRequest, cancelledBy, type McpServices } from './services.ts';
import type { MadeList } from './shared-work.ts';
import { SignInFirst } from './sign-in.ts';
import { signInText } from './sign-in-answer.ts';
import { withoutTasks } from './tasks/declared.ts';
import { beginMcpSpan, sendTraced, withinSpan } from './tracing.ts';
import { metaForUpstream } from './translate.ts';
import { UpstreamError } from './wire.ts';

type Relaying = Pick<
  McpServices,
  | 'checks'
  | 'guarded'
  | 'hub'
  | 'slots'
  | 'outcomes'
  | 'timeoutMs'
  | 'maxMs'
  | 'onVerdict'
  | 'relayedFor'
  | 'serverSignIns'
  | 'tracer'
>;
type Asker = Pick<
  ClientRequest,
  'principal' | 'run' | 'startedAt' | 'request' | 'span' | 'ration' | 'shared'
>;

const NEEDS: Record<string, Forward> = {
  'resources/list': 'resources',
  'resources/templates/list': 'resources',
  'resources/read': 'resources',
  'prompts/list': 'prompts',
  'prompts/get': 'prompts',
  'completion/complete': 'completion',
};

const LISTS: Record<string, string> = {
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
  'prompts/list': 'prompts',
};

export function isRelayed(method: string): boolean {
  return Object.hasOwn(NEEDS, method);
}

/** Null when the credential may not use this method. */
export async function relay(
  services: Relaying,
  asker: Asker,
  message: RpcRequest,
): Promise<JsonObject | null> {
  const { method, params, id } = message;
  const needed = NEEDS[method] as Forward;
  // A session that is scoped to tools may use nothing else.
  const { keyId, scope } = asker.principal;
  const relayed = () => services.relayedFor(keyId);
  if (scope !== null || !(await asker.shared.once('relayed', relayed)).includes(needed)) return null;
  const about = { method, params, id, around: asker.span, startedAt: performance.now(), tool: null };
  const span = beginMcpSpan(services.tracer, about);
  const traced = { ...asker, span };
  const field = LISTS[method];
  const waiting = { ration: asker.ration, signal: asker.request.signal };
  return withinSpan(span, () =>
    field === undefined
      ? oneOrAgain(services, traced, method, params)
      : asker.shared.list(method, waiting, () => list(services, traced, method, field, needed)),
  );
}

/**
 * Joins the lists of all upstreams that offer it. An upstream that fails is left out. What is read counts for the ration
 * as it comes.
 */
async function list(
  services: Relaying,
  asker: Asker,
  method: string,
  field: string,
  needed: Forward,
): Promise<MadeList> {
  takeListSlot(services, asker);
  const connected = await services.hub.of(asker.principal.keyId, asker.principal.personId);
  const lists = await Promise.all(
    connected.map(async ({ tool, upstream }) => {
      try {
        const wanted = asking(services, asker);
        await upstream.reach(wanted.cancel.signal);
        if (!upstream.offers(needed)) return [];
        const { guarded } = await recorded(services, asker, { tool, upstream }, method);
        const { items } = await listAll(upstream, method, field, wanted);
        const shown = guarded === null ? items : await guarded.list(items);
        return shown.map(item => named(item, tool.name));
      } catch (error) {
        if (error instanceof UpstreamError || error instanceof RpcError || error instanceof ServerChanged)
          return [];
        throw error;
      }
    }),
  );
  return { result: { [field]: lists.flat() }, bytes: asker.ration.bytes };
}

/** An access that is recorded, and so may be made. */
interface Recorded {
  /** What looks at the answer; null where the policy has no say about it. */
  guarded: GuardedCall | null;
  /** Records what became of the access, where its answer was looked at. */
  done: (failed: boolean, result: LookedAt | null) => void;
}

/** Takes a slot until the answer is read, and records the access in the audit log. */
async function recorded(
  services: Relaying,
  { principal, run, startedAt, span, ration }: Asker,
  { tool, upstream }: Connected,
  method: string,
): Promise<Recorded> {
  const { none, free } = services.slots.take(tool);
  ration.keep(free);
  const verdict = await services.checks.submit({
    principal,
    surface: 'mcp',
    call: {
      serverName: tool.name,
      toolName: method,
      relayed: true,
      ...(none !== undefined && { noPlace: none }),
    },
    connectedTool: calledTool(tool, upstream),
    args: undefined,
    referenceId: null,
    run,
    startedAt,
    span,
  });
  services.onVerdict(verdict, startedAt, span);
  if (verdict.decision !== 'allow')
    throw new RpcError(
      CODES.internal,
      `Not forwarded: ${verdict.reason} Ask again when one of them has ended.`,
    );
  const { toolCallId, [WATCHED]: watched } = verdict;
  const began = performance.now();
  return {
    guarded: watched === undefined ? null : services.guarded(watched),
    done: (failed, result) => {
      if (result === null) return;
      const durationMs = Math.round(performance.now() - began);
      services.outcomes.record({ toolCallId, outcome: failed ? 'tool_error' : 'ok', durationMs, result });
    },
  };
}

/** Puts the Connected Tool's name before the name of a prompt or the address of a resource. */
function named(item: JsonObject, server: string): JsonObject {
  const renamed: Record<string, Json> = { ...item };
  if (typeof item['uri'] === 'string') renamed['uri'] = `${server}+${item['uri']}`;
  else if (typeof item['uriTemplate'] === 'string')
    renamed['uriTemplate'] = `${server}+${item['uriTemplate']}`;
  else renamed['name'] = `${server}__${item['name']}`;
  return renamed;
}

/** If the server is changed or removed meanwhile, the name is looked for as the key has it now. */
async function oneOrAgain(
  services: Relaying,
  asker: Asker,
  method: string,
  params: JsonObject,
): Promise<JsonObject> {
  try {
    return await one(services, asker, method, params);
  } catch (error) {
    if (!(error instanceof ServerChanged)) throw error;
    services.hub.doubt(asker.principal.keyId);
    return one(services, asker, method, params);
  }
}

async function one(
  services: Relaying,
  asker: Asker,
  method: string,
  params: JsonObject,
): Promise<JsonObject> {
  const target = await resolve(services, asker.principal, method, params);
  if (target === null) throw new RpcError(CODES.invalidParams, 'Unknown prompt or resource.', about(params));
  const { tool, upstream } = target;
  const wanted = {
    ...asking(services, asker),
    capabilities: withoutTasks(metaOf(params)[ENVELOPE.capabilities] ?? {}),
    headers: () => ({
      'Mcp-Name': headerValue(String(target.params['uri'] ?? target.params['name'] ?? '')),
    }),
  };
  const sent = { ...target.params, _meta: metaForUpstream(params) };
  let guarded: GuardedCall | null = null;
  try {
    const access = await recorded(services, asker, target, method);
    guarded = access.guarded;
    const response = await sendTraced(asker.span, tool, method, null, trace =>
      upstream.request(method, sent, { ...wanted, trace }),
    );
    const { result, error, lookedAt } = await lookAt(guarded, asker.ration, response);
    access.done(response.error !== null, lookedAt);
    if (result !== null && lookedAt?.withheld !== true) return shownContents(result, tool.name);
    const said = result === null ? error?.message : reasonIn(result);
    throw new RpcError(
      error?.code ?? CODES.internal,
      said ?? 'The upstream gave no reason.',
      about(params, error?.data),
    );
  } catch (error) {
    if (error instanceof SignInFirst)
      throw new RpcError(CODES.internal, await signInText(services, asker.principal, tool));
    if (error instanceof UpstreamError)
      throw new RpcError(CODES.internal, `The request failed: ${await tellable(error, guarded)}.`);
    throw error;
  }
}

/** Only the result of a tool can say in a text that it is an error, so that here one is an error of the protocol. */
function reasonIn({ content }: JsonObject): string | undefined {
  const [block] = Array.isArray(content) ? content : [];
  return isObject(block) && typeof block['text'] === 'string' ? block['text'] : undefined;
}

/** The data of an error, with the address that the client knows. */
function about(params: JsonObject, data?: Json): { data?: Json } {
  const { uri } = params;
  if (isRepeatable(uri)) return { data: { ...(isObject(data) ? data : {}), uri } };
  return data === undefined ? {} : { data };
}

/** Gives the contents of a resource the address that the client asked for, so that the client can read it again. */
function shownContents(result: JsonObject, server: string): JsonObject {
  const { contents } = result;
  if (!Array.isArray(contents)) return result;
  return { ...result, contents: contents.map(each => (isObject(each) ? named(each, server) : each)) };
}

/** Finds the upstream whose name stands before the requested name, and the request in that upstream's own names. */
async function resolve(
  services: Relaying,
  { keyId, personId }: Principal,
  method: string,
  params: JsonObject,
): Promise<(Connected & { params: JsonObject }) | null> {
  const all = await services.hub.of(keyId, personId);
  const strip = (text: unknown, separator: string) => {
    for (const connected of all) {
      const prefix = connected.tool.name + separator;
      if (typeof text === 'string' && text.startsWith(prefix))
        return { connected, rest: text.slice(prefix.length) };
    }
    return null;
  };
  if (method === 'resources/read') {
    const found = strip(params['uri'], '+');
    return found && { ...found.connected, params: { ...params, uri: found.rest } };
  }
  if (method === 'prompts/get') {
    const found = strip(params['name'], '__');
    return found && { ...found.connected, params: { ...params, name: found.rest } };
  }
  const ref = params['ref'];
  if (!isObject(ref)) return null;
  const found = ref['type'] === 'ref/resource' ? strip(ref['uri'], '+') : strip(ref['name'], '__');
  if (found === null) return null;
  const own = ref['type'] === 'ref/resource' ? { uri: found.rest } : { name: found.rest };
  return { ...found.connected, params: { ...params, ref: { ...ref, ...own } } };
}

function asking(services: Relaying, asker: Asker) {
  const { timeoutMs, maxMs } = services;
  const { request, ration, span } = asker;
  return { cancel: cancelledBy(request.signal), ration, timeoutMs, maxMs, trace: span?.headers() };
}
