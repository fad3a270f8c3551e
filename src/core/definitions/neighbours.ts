// The tool servers beside that of a tool, made ready for comparing many definitions with them (shadows.ts).

import { SEPARATOR } from '../text/name.ts';
import { skeletonOf } from './skeleton.ts';

/** A tool server, with the names of its tools. */
export interface ToolNames {
  serverName: string;
  toolNames: readonly string[];
}

/** The other tool servers of a key, as definitions are compared with them. */
export interface Neighbours {
  bySkeleton: ReadonlyMap<string, readonly { serverName: string; toolName: string }[]>;
  servers: readonly NamedServer[];
}

export interface NamedServer {
  serverName: string;
  /** Its name and the separator, in lower case. */
  prefix: string;
  /** The names of its tools in lower case, and how long they are. */
  names: ReadonlySet<string>;
  lengths: readonly number[];
}

export const NO_NEIGHBOURS: Neighbours = { bySkeleton: new Map(), servers: [] };

/** The servers, made ready for many definitions: a skeleton takes about a microsecond. */
export function neighboursOf(servers: readonly ToolNames[]): Neighbours {
  const bySkeleton = new Map<string, { serverName: string; toolName: string }[]>();
  for (const { serverName, toolNames } of servers)
    for (const toolName of toolNames) {
      const skeleton = skeletonOf(toolName);
      const alike = bySkeleton.get(skeleton);
      if (alike === undefined) bySkeleton.set(skeleton, [{ serverName, toolName }]);
      else alike.push({ serverName, toolName });
    }
  return { bySkeleton, servers: servers.map(named) };
}

export function named({ serverName, toolNames }: ToolNames): NamedServer {
  const names = new Set(toolNames.map(name => name.toLowerCase()));
  const lengths = [...new Set([...names].map(name => name.length))];
  return { serverName, prefix: (serverName + SEPARATOR).toLowerCase(), names, lengths };
}
