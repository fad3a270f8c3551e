// For which keys the calls of a tool are held, for people who look at it. What is decided about a call is read anew in the
// transaction that decides it (check/held.ts).

import { heldFor } from '../../core/definitions/held.ts';
import { type Look, readLook } from '../../core/definitions/look.ts';
import type { ToolNames } from '../../core/definitions/neighbours.ts';
import { hasFullName } from '../../core/definitions/shadows.ts';
import type { JsonObject } from '../../core/wire/json.ts';
import {
  type LookAlike,
  listAllNeighbours,
  listKeysUsing,
  listLookAlikes,
  type Neighbour,
  type Reviewed,
} from '../../store/definition-reviews.ts';
import { listToolNames } from '../../store/tool-definitions.ts';
import type { ToolSource } from '../../store/tool-servers.ts';
import type { Deps } from '../deps.ts';
import { MOST_TOOLS, mayBeNamed } from '../shadowing.ts';

/** The most keys that are told, and the most that are compared. */
const MOST_KEYS = 1000;
const MOST_NEIGHBOURS = 10_000;

export interface HeldTool {
  /** The ids of keys. */
  heldFor: string[];
  /** The tools of other servers that this one may look like, or name. */
  neighbours: ToolNames[];
}

/** The server whose tools are looked at. */
export type HeldSource = Pick<ToolSource, 'sourceId' | 'name' | 'trust'>;

export class HeldKeys {
  readonly #deps: Deps;
  readonly #source: HeldSource;
  #using: Promise<string[]> | null = null;
  #neighbours: Promise<Neighbour[]> | null = null;
  readonly #toolNames = new Map<string, Promise<string[]>>();

  constructor(deps: Deps, source: HeldSource) {
    this.#deps = deps;
    this.#source = source;
  }

  async of(row: Reviewed, definition: JsonObject): Promise<HeldTool> {
    const { toolsLock } = this.#deps.settings;
    const look = readLook(row.look, row.digest);
    const { name: server, trust } = this.#source;
    const { toolName: tool, digest, acceptedDigest } = row;
    const alike = await this.#alike(row);
    const named = await this.#named(look, definition);
    const neighbours = [
      ...alike.map(({ serverName, toolName }) => ({ serverName, toolNames: [toolName] })),
      ...named,
    ];
    const why = heldFor({ server, tool, digest, acceptedDigest, trust, look }, toolsLock);
    if (why === null) return { heldFor: [], neighbours };
    if (why !== 'unless alone') return { heldFor: await this.#keys(), neighbours };
    const keys = new Set([...alike, ...named.flatMap(each => each.keys)].map(each => each.keyId));
    return { heldFor: [...keys].sort().slice(0, MOST_KEYS), neighbours };
  }

  #keys(): Promise<string[]> {
    this.#using ??= listKeysUsing(this.#deps.db, this.#source.sourceId, MOST_KEYS);
    return this.#using;
  }

  async #alike({ toolName, skeleton, isAlike }: Reviewed): Promise<LookAlike[]> {
    if (isAlike === 0 || skeleton === null) return [];
    const { sourceId } = this.#source;
    return listLookAlikes(this.#deps.db, { sourceId, toolName, skeleton }, MOST_KEYS);
  }

  /** The servers of which the definition names a tool, each with the keys that have it under this name. */
  async #named(look: Look | null, definition: JsonObject): Promise<(ToolNames & { keys: Neighbour[] })[]> {
    if (look === null || look.servers?.length === 0) return [];
    this.#neighbours ??= listAllNeighbours(this.#deps.db, this.#source.sourceId, MOST_NEIGHBOURS);
    const servers = new Map<string, ToolNames & { keys: Neighbour[] }>();
    for (const each of mayBeNamed(look, await this.#neighbours)) {
      const { sourceId, serverName } = each;
      const same = `${sourceId} ${serverName}`;
      const known = servers.get(same);
      if (known === undefined)
        servers.set(same, { serverName, toolNames: await this.#namesOf(sourceId), keys: [each] });
      else known.keys.push(each);
    }
    return [...servers.values()].filter(server => hasFullName(definition, [server]));
  }

  #namesOf(sourceId: string): Promise<string[]> {
    const known = this.#toolNames.get(sourceId) ?? listToolNames(this.#deps.db, sourceId, MOST_TOOLS);
    this.#toolNames.set(sourceId, known);
    return known;
  }
}
