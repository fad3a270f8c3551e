// What a coding agent tells besides its calls: what the person wrote, and what a call returned. Both make values known in
// the run that the agent names. Where the policy has a say about a result, another one takes its place if the agent's hooks
// can do that. What cannot be recorded is not known.

import { AGENTS, type AgentName, eventName, runIn, tells } from '../../core/agents.ts';
import { runNameFault } from '../../core/flows/names.ts';
import { joinName } from '../../core/text/name.ts';
import { canonicalJson } from '../../core/wire/canonical.ts';
import { isObject, type Json, type JsonObject } from '../../core/wire/json.ts';
import { MAX_TOLD_BYTES } from '../../guard/check/told.ts';
import type { LookedAt } from '../../store/log/outcomes.ts';
import { agentOf, type Incoming } from '../serving/route.ts';
import { runOf } from '../serving/run-header.ts';
import type { AgentDoor, Returned } from './agent.ts';
import { shapeOf } from './agent-results.ts';
import { type DoorCall, proxied } from './door.ts';

type Teller = Pick<AgentDoor, 'readPrompt' | 'readResult' | 'replace' | 'nameOf'> & { name: AgentName };

/** What an event tells; null for an event that is about a call, or about nothing that is wanted. */
export function toldIn(agent: Teller, event: JsonObject): ReturnType<typeof tells> {
  const row = AGENTS[agent.name];
  return tells(agent.nameOf === undefined ? eventName(event, row) : agent.nameOf(event), row);
}

/** Takes what an event tells. Returns the answer that puts something else in the place of a result; null: it goes on as it is. */
export async function tell(
  agent: Teller,
  incoming: Incoming<JsonObject, unknown>,
): Promise<JsonObject | null> {
  const { services, request, body: event } = incoming;
  const told = toldIn(agent, event);
  if (told === null) return null;
  const speaker = {
    principal: agentOf(incoming),
    surface: agent.name,
    run: runOf(request.headers) ?? runNameIn(event),
  };
  if (told === 'prompt') {
    const text = wordsOfPerson(agent, event);
    if (text !== '') await services.told.byPerson(speaker, text);
    return null;
  }
  const returned = agent.readResult?.(event) ?? null;
  if (returned === null) return null;
  const failed = told === 'failure';
  const shape = shapeOf(shownIn(event, returned), failed);
  const { call, args, agent: acts } = await proxied(returned, incoming);
  const { result, lookedAt } = await services.results.ofAgentsCall(speaker, {
    call,
    args,
    ...(acts !== undefined && { agent: acts }),
    name: resultNameOf(event, returned),
    result: shape.result,
    replaces: (agent.replace?.(event, NOTHING_LEFT) ?? null) !== null,
    says: passed =>
      failed || returned.value === undefined ? NOTHING : saidBy(shape.replacement(passed, false).value),
  });
  if (lookedAt === null || !hasChanged(lookedAt)) return null;
  return agent.replace?.(event, shape.replacement(result, lookedAt.withheld)) ?? null;
}

const NOTHING_LEFT = { value: null, text: '' };

/** What the model is shown. Of a call that failed, most agents tell only the error. */
const shownIn = (event: JsonObject, { shown, value }: Returned): Json | undefined =>
  shown ?? value ?? event['error'] ?? undefined;

const hasChanged = ({ hidden, withheld, cut }: LookedAt): boolean =>
  withheld || cut || Object.keys(hidden).length > 0;

/** The name of the run that an event belongs to. An id that cannot be a name is named by its digest. */
export function runNameIn(event: JsonObject): string | undefined {
  const id = runIn(event);
  if (id === null) return undefined;
  if (runNameFault(id) === null && !id.startsWith(DIGEST)) return id;
  return DIGEST + new Bun.CryptoHasher('sha256').update(JSON.stringify(id)).digest('hex');
}

const DIGEST = 'sha256:';

/** An agent's call with the names of its run and of its result. */
export function withNames(agent: AgentName, event: JsonObject, call: DoorCall): DoorCall {
  const resultName = AGENTS[agent].results.length === 0 ? undefined : resultNameOf(event, call);
  return { ...call, run: runNameIn(event), resultName };
}

/** The agent's own id of the call, or else what was called with which arguments. */
function resultNameOf(event: JsonObject, { call, args }: Pick<DoorCall, 'call' | 'args'>): string {
  const id = event['tool_use_id'] ?? event['toolUseId'];
  if (typeof id === 'string' && id !== '') return `id ${id}`;
  return `call ${joinName(call.serverName, call.toolName)} ${canonicalJson(args ?? {})}`;
}

/** What an agent has told of a result or a failure, and the name of the call. */
export function resultIn(agent: Teller, event: JsonObject): { name: string; said: Json } | null {
  const returned = agent.readResult?.(event) ?? null;
  if (returned === null) return null;
  const failed = toldIn(agent, event) === 'failure';
  return { name: resultNameOf(event, returned), said: failed ? NOTHING : saidBy(returned.value) };
}

/** The result of a call that failed makes nothing known, and the call is over: no later result is taken for its own. */
const NOTHING: Json = [];

function saidBy(value: Json | undefined): Json {
  return value === undefined || (isObject(value) && value['isError'] === true) ? NOTHING : value;
}

/** Fields that only events of subagents have. The model writes their prompts. */
const OF_SUBAGENT = ['agent_id', 'agentId', 'subagent_type', 'subagentType'];

/** Whose words a prompt is, where Claude Code says so; all else is scheduled, or comes from other agents. */
const OF_PERSON: readonly Json[] = ['user', 'sdk'];

/**
 * A line that begins what the harness has put into the prompt, such as the report of a task in the background (a tag) or
 * files that were mentioned (the line of Gemini CLI). What follows may be anybody's words.
 */
const INSERTED = /^[ \t]*(?:<[a-z][\w-]*[\s/>]|--- Content from referenced )/im;

/** The part of a prompt that the person wrote, as far as it can be told. */
export function wordsOfPerson(agent: Teller, event: JsonObject): string {
  const prompt = agent.readPrompt?.(event);
  if (typeof prompt !== 'string' || !OF_PERSON.includes(event['source'] ?? 'user')) return '';
  if (OF_SUBAGENT.some(field => (event[field] ?? null) !== null)) return '';
  const inserted = prompt.search(INSERTED);
  return beginningOf(inserted < 0 ? prompt : prompt.slice(0, inserted));
}

/** Of a long text the first words. A part of a word would be another one. */
function beginningOf(text: string): string {
  if (Buffer.byteLength(text) <= MAX_TOLD_BYTES) return text;
  const beginning = Buffer.from(text).toString('utf8', 0, MAX_TOLD_BYTES);
  return beginning.slice(0, Math.max(0, beginning.search(/\s\S*$/)));
}
