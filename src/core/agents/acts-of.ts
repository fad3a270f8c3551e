// What a call of an agent's own tool would do, by the table of agents: the variable `agent` of conditions. Paths are made
// absolute against the folder that the harness names, and never against anything that the model says.

import { type AgentName, isAgent } from '../agents.ts';
import { EXTENSION, TYPE } from '../condition/file-types.ts';
import { pathJoin } from '../condition/path.ts';
import { joinName } from '../text/name.ts';
import type { Json, JsonObject } from '../wire/json.ts';
import type { Acts, AgentCall } from './acts.ts';
import { filesOfPatch } from './patch.ts';
import { TABLE } from './table.ts';
import type { Argument, Tool } from './tools/tool.ts';

/**
 * `tool` is the name of the tool in policies, without the agent's, or null for a tool of a server; `folder` is the one that
 * the harness names.
 */
export function agentCallOf(
  agent: AgentName,
  tool: string | null,
  args: JsonObject | undefined,
  folder: string | null,
): AgentCall {
  const tools = TABLE[agent];
  const known = tool !== null && Object.hasOwn(tools, tool) ? tools[tool] : undefined;
  return { folder, acts: known === undefined ? null : actsOf(known, args ?? {}, folder) };
}

/** The agent whose own tool has this name in policies, and the tool's name in the table; null for a tool of a server. */
export function agentOf(call: {
  serverName: string;
  toolName: string;
}): { agent: AgentName; tool: string } | null {
  const { serverName, toolName } = call;
  if (isAgent(serverName)) return { agent: serverName, tool: toolName };
  const named = joinName(serverName, toolName);
  return Object.hasOwn(TABLE.goose, named) ? { agent: 'goose', tool: named } : null;
}

function actsOf(
  { args: known, plans, searches, printsHiddenUnless: filters }: Tool,
  args: JsonObject,
  folder: string | null,
): Acts | null {
  const acts = { reads: [], writes: [], runs: [], fetches: [], plans: plans === true };
  for (const [name, value] of Object.entries(args)) {
    const argument = Object.hasOwn(known, name) ? known[name] : undefined;
    if (argument === undefined || !take(argument, value, folder, acts)) return null;
  }
  if (filters !== undefined && printsHidden(args, filters)) return null;
  if (searches && acts.reads.length === 0 && !path('.', folder, acts.reads)) return null;
  const found = [acts.reads, acts.writes, acts.runs, acts.fetches].some(each => each.length > 0);
  return found === acts.plans ? null : acts;
}

/**
 * A search that only lists names prints no lines of files, and a search in one source file prints lines of that file
 * only.
 */
function printsHidden(args: JsonObject, filters: readonly string[]): boolean {
  if (args['output_mode'] !== 'content' || filters.some(each => args[each] !== undefined)) return false;
  return !SOURCE.test(String(args['path'] ?? ''));
}

interface Found {
  reads: string[];
  writes: string[];
  runs: string[];
  fetches: string[];
}

/** Adds what an argument means to what was found; false if the value is not one that is understood. */
function take(argument: Argument, value: Json, folder: string | null, found: Found): boolean {
  switch (argument) {
    case 'any':
      return true;
    case 'number':
      return typeof value === 'number';
    case 'flag':
      return typeof value === 'boolean';
    case 'off':
      return value === false;
    default:
      return typeof value === 'string' && takeText(argument, value, folder, found);
  }
}

type OfText = Exclude<Argument, 'any' | 'number' | 'flag' | 'off'>;

function takeText(argument: OfText, text: string, folder: string | null, found: Found): boolean {
  switch (argument) {
    case 'text':
      return true;
    case 'reads':
      return path(text, folder, found.reads);
    case 'writes':
      return path(text, folder, found.writes);
    case 'readsAndWrites':
      return path(text, folder, found.reads, found.writes);
    case 'writesAbsolute':
      return text.startsWith('/') && path(text, folder, found.writes);
    case 'runs':
      // Where the folder is no POSIX path, neither is the shell.
      return isHere('.', folder) && found.runs.push(text) > 0;
    case 'fetches':
      return found.fetches.push(text) > 0;
    case 'patch':
      return filesOfPatch(text)?.every(file => path(file, folder, found.writes)) ?? false;
    case 'here':
      return isHere(text, folder);
    case 'names':
      return NAMES.test(text) && !ELSEWHERE.test(text);
    case 'files':
      return FILES.test(text);
    case 'type':
      return OF_TYPE.test(text);
  }
}

/** An absolute path needs no folder. */
function path(text: string, folder: string | null, ...lists: string[][]): boolean {
  const found = pathJoin(folder ?? (text.startsWith('/') ? '/' : ''), text);
  if (found === null) return false;
  for (const list of lists) list.push(found);
  return true;
}

function isHere(text: string, folder: string | null): boolean {
  if (folder === null) return false;
  const here = pathJoin(folder, '.');
  return here !== null && pathJoin(folder, text) === here;
}

const SOURCE = new RegExp(`/[^/]*[^/.][^/]*\\.${EXTENSION}$`);
const NAMES = /^[\p{L}\p{N}\p{M}_@+ .*?{},[\]!()/-]+$/u;
/** A pattern that leaves the folder, also by one of its alternatives. */
const ELSEWHERE = /(?:^|[{,([!])[/ ]|\.\./;

// *.ts, or *.{ts,tsx} in folders.
const FILES = new RegExp(
  `^(?:\\*\\*/|[\\w-]+/)*\\*\\.(?:\\{${EXTENSION}(?:,${EXTENSION})*\\}|${EXTENSION})$`,
);
const OF_TYPE = new RegExp(`^${TYPE}$`);
