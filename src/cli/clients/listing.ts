// `toolgate connect --list`: which clients are on this machine, and which of them are connected.

import type { Client, Scope } from '../../core/clients/client.ts';
import { CLIENTS } from '../../core/clients/clients.ts';
import { type IO, say } from '../io.ts';
import { printJson, printTable } from '../print.ts';
import { foundBy, pathOf } from './paths.ts';
import { connectedParts, type Part } from './plan.ts';
import { offLine, turnedOff } from './switches.ts';

interface Listed {
  client: string;
  name: string;
  /** A folder or program. */
  found: string | null;
  /** Null where the client reads no file of a project. */
  user: Part[] | null;
  project: Part[] | null;
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
}

function partsText(parts: Part[] | null): string {
  if (parts === null) return '-';
  const names = parts.map(part => (part === 'mcp' ? 'MCP' : part));
  return names.length === 0 ? 'no' : names.join(', ');
}

function listedOf(io: IO, client: Client): Listed {
  const faults: string[] = [];
  const parts = (scope: Scope): Part[] | null => {
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
