// A call, and what a decision may know about it besides its name: who makes it, when, and with which arguments.
// Conditions read it as variables; a limit counts by it. Nothing of it is kept.

import type { AgentCall } from '../agents/acts.ts';
import type { Renaming } from '../agents/renaming.ts';
import { type Declarations, Failure, KNOWN, type Knows, type Scope, types } from '../condition/condition.ts';
import type { Surface } from '../text/surface.ts';
import type { Json, JsonObject } from '../wire/json.ts';

/** No further call may be forwarded now: so many of the key, or of the Connected Tool, are under way. */
export interface NoPlace {
  atMost: number;
  of: 'key' | 'connected_tool';
}

export interface ToolCall {
  serverName: string;
  toolName: string;
  /**
   * True for a resource, a prompt or a completion, which the key's setting `forward` allows; `toolName` is then the
   * method.
   */
  relayed?: true;
  /** Set when no further call may be forwarded now. */
  noPlace?: NoPlace;
  /**
   * True if the call will not be made now in any case: somebody has to sign in to its server first, or it comes to the
   * MCP proxy next and is decided there once more. It is decided like any other, but it spends no approval and counts
   * for nothing.
   */
  unsent?: true;
  /** The agent that renames the tools of MCP servers, if the name is one of its making. */
  renamed?: Renaming;
  /**
   * True if the arguments are not known, because a gateway passed on only the headers of the call. Whatever depends on
   * them is then decided in the strictest way.
   */
  unseen?: true;
}

export interface Person {
  email: string;
  groups: readonly string[];
  /** Nobody has said that the e-mail is theirs, so nothing is decided by it. */
  unverified?: true;
}

export interface Situation {
  now: number;
  surface: Surface;
  args: Json | undefined;
  keyId: string;
  keyName: string;
  /** Null when the call is made with the key itself. */
  session: SessionFacts | null;
  /** Null unless somebody signed in. */
  person: Person | null;
  /** What the accepted definition of the tool says about itself; null where no definition is known. */
  annotations: JsonObject | null;
  /** What a coding agent's door says of the call; absent on every other surface. */
  agent?: AgentCall | undefined;
  /** What the run has met before this call; absent where nothing is remembered of it. */
  run?: RunFacts | undefined;
}

interface SessionFacts {
  id: string;
  label: string;
  /** What its owner said of it when it was minted. */
  attributes?: JsonObject | undefined;
}

/** What is remembered of a run: the calls that belong together. */
export interface RunFacts {
  marks: readonly string[];
  /** Whether somebody who is trusted has named a value. */
  knows: Knows;
  /** Whether conditions have asked for values that are looked up only now, after which they are evaluated again. */
  isWaiting?: () => boolean;
  /** How many values are not known because there was no room for them, where somebody tries the call. */
  dropped?: number;
}

const { BOOL, DYN, STRING, listOf, mapOf, structOf } = types;
const ANYTHING = mapOf(STRING, DYN);

/** The variables of conditions. */
export const VARIABLES: Declarations = {
  args: ANYTHING,
  tool: structOf({
    server: { type: STRING },
    name: { type: STRING },
    annotations: { type: ANYTHING, optional: true },
  }),
  key: structOf({ name: { type: STRING } }),
  session: structOf({
    label: { type: STRING, optional: true },
    attributes: { type: ANYTHING, optional: true },
  }),
  person: structOf({
    email: { type: STRING, optional: true },
    groups: { type: listOf(STRING), optional: true },
  }),
  surface: STRING,
  agent: structOf({
    folder: { type: STRING, optional: true },
    reads: { type: listOf(STRING), optional: true },
    writes: { type: listOf(STRING), optional: true },
    runs: { type: listOf(STRING), optional: true },
    fetches: { type: listOf(STRING), optional: true },
    plans: { type: BOOL, optional: true },
  }),
  marks: listOf(STRING),
};

/** The values of the variables for one call. */
export function scopeOf(call: ToolCall, situation: Situation): Scope {
  const { annotations, keyName, session, person, surface, run } = situation;
  // A condition that reads an absent variable fails. Without arguments `args` is empty, and `has()` is false.
  const args = call.unseen ? undefined : (situation.args ?? {});
  return {
    args,
    tool: { server: call.serverName, name: call.toolName, ...(annotations === null ? {} : { annotations }) },
    key: { name: keyName },
    session: session === null ? {} : sessionScope(session),
    person: person === null ? {} : personScope(person),
    surface,
    agent: situation.agent === undefined ? {} : agentScope(situation.agent),
    marks: run === undefined ? NO_MARKS : run.marks,
    [KNOWN]: run?.knows,
  };
}

const NO_MARKS: readonly string[] = [];

function sessionScope({ label, attributes }: SessionFacts) {
  return attributes === undefined ? { label } : { label, attributes };
}

function agentScope({ folder, acts }: AgentCall) {
  return {
    ...(folder !== null && { folder }),
    ...(acts !== null && {
      reads: [...acts.reads],
      writes: [...acts.writes],
      runs: [...acts.runs],
      fetches: [...acts.fetches],
      plans: acts.plans,
    }),
  };
}

/** An e-mail that is not verified is absent: a condition that reads it fails. */
function personScope({ email, groups, unverified }: Person): { email?: string; groups: string[] } {
  return { ...(!unverified && { email }), groups: [...groups] };
}

const NOT_KNOWN = new Failure('It is not known any more.');

/** What is known of a call when it is over: its names, its key, and whether it was made in a person's name. */
export interface Recollection extends Pick<ToolCall, 'serverName' | 'toolName'> {
  keyName: string | null;
  inPersonsName: boolean;
}

/**
 * The values of the variables for a call that is over. Whatever reads an unknown one fails, `has()` included, so a
 * condition that is true or false nevertheless would be so whatever the values were.
 */
export function scopeOfRecollection({ serverName, toolName, keyName, inPersonsName }: Recollection): Scope {
  return {
    args: NOT_KNOWN,
    tool: { server: serverName, name: toolName, annotations: NOT_KNOWN },
    key: { name: keyName ?? NOT_KNOWN },
    session: NOT_KNOWN,
    person: inPersonsName ? NOT_KNOWN : {},
    surface: NOT_KNOWN,
    agent: NOT_KNOWN,
    marks: NOT_KNOWN,
    [KNOWN]: NOT_KNOWN,
  };
}
