// `toolgate connect --list`: which clients are on this machine, and which of them are connected.

import type { Client, Scope } from '../../core/clients/client.ts';
import { CLIENTS } from '../../core/clients/clients.ts';
import { type IO, say } from '../io.ts';
import { printJson, printTable } from '../print.ts';
import { foundBy, pathOf } from './paths.ts';
import { type Connected, connectedParts, untold } from './plan.ts';
import { offLine, turnedOff } from './switches.ts';

interface Listed {
  client: string;
  name: string;
  /** A folder or program. */
  found: string | null;
  /** Null where the client reads no file of a project. */
  user: Connected[] | null;
  project: Connected[] | null;
  /** What is wrong with files that cannot be read. */
  faults: string[];
  /** The settings that turn its hooks off, of the machine, of the person, and of the project at hand. */
  turnedOff: { path: string; key: string | null }[];
  fails: 'open' | 'closed';
  about: string;
}

export function listClients(io: IO, asJson: boolean): void {
  const listed = CLIENTS.map(client => listedOf(io, client));
  if (asJson) {
    printJson(io, { clients: listed });
    return;
  }
  printTable(
    io,
    listed,
    [
      ['CLIENT', each => each.client],
      ['FOUND', each => (each.found === null ? 'no' : 'yes')],
      ['USER', each => partsText(each.user)],
      ['THIS PROJECT', each => partsText(each.project)],
      ['FAILS', each => each.fails],
    ],
    '',
  );
  for (const fault of listed.flatMap(each => each.faults)) say(io, fault);
  for (const { name, turnedOff: off } of listed) for (const each of off) say(io, `${name}: ${offLine(each)}`);
  for (const each of listed) for (const line of olderLines(each)) say(io, line);
}

/** How to update the hooks of an earlier version, which know of calls alone. */
function olderLines({ client: id, user, project }: Listed): string[] {
  const client = CLIENTS.find(each => each.id === id) as Client;
  return [
    { parts: user ?? [], command: `toolgate connect ${id}` },
    { parts: project ?? [], command: `toolgate connect ${id} --project` },
  ].flatMap(({ parts, command }) => {
    const missing = untold(client, parts);
    return missing.length === 0 ? [] : [untoldLine(client, missing, command)];
  });
}

export function untoldLine({ name }: Client, missing: readonly Connected[], command: string): string {
  return `${name}: its hooks are of an earlier version and do not tell ${missing.join(' and ')}, so no rule knows what the person said. Run: ${command}`;
}

function partsText(parts: Connected[] | null): string {
  if (parts === null) return '-';
  const names = parts.map(part => (part === 'mcp' ? 'MCP' : part));
  return names.length === 0 ? 'no' : names.join(', ');
}

function listedOf(io: IO, client: Client): Listed {
  const faults: string[] = [];
  const parts = (scope: Scope): Connected[] | null => {
    if (scope === 'project' && pathOf(io, client, client.mcp, scope) === null) return null;
    const found = connectedParts(io, client, scope);
    if (typeof found !== 'string') return found;
    faults.push(found.replace(' Nothing was changed.', ''));
    return [];
  };
  return {
    client: client.id,
    name: client.name,
    found: foundBy(io, client),
    user: parts('user'),
    project: parts('project'),
    faults,
    turnedOff: turnedOff(io, client).map(({ path, key }) => ({ path, key })),
    fails: client.fails,
    about: client.about,
  };
}
