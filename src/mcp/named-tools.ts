// The tools of one upstream under the names that clients see. Keys may know a server that they share by different names;
// the definitions are in memory once.

import { createHash } from 'node:crypto';
import type { Look } from '../core/definitions/look.ts';
import { joinName } from '../core/text/name.ts';
import type { JsonObject } from '../core/wire/json.ts';

export interface OfferedTool {
  toolName: string;
  /** The definition as the upstream shows it. */
  definition: JsonObject;
  /** Its digest, where one person may be shown another definition than others. */
  shownDigest?: string;
  /** What is known of that definition. */
  shownLook?: Look;
}

type ByName = ReadonlyMap<string, OfferedTool>;

/** For how many names of the server the names of its tools are remembered. Nearly all keys use the server's own name. */
const MAX_REMEMBERED = 8;

export class NamedTools {
  readonly #tools: readonly OfferedTool[];
  /** By the server's name, the one that was made first at the beginning. */
  readonly #under = new Map<string, ByName>();

  constructor(tools: readonly OfferedTool[]) {
    this.#tools = tools;
  }

  /** The tools of a server that is known by this name. If two tools have the same name, the first one counts. */
  under(serverName: string): ByName {
    const known = this.#under.get(serverName);
    if (known !== undefined) return known;
    const made = new Map<string, OfferedTool>();
    for (const tool of this.#tools) {
      const name = exposedName(joinName(serverName, tool.toolName));
      if (!made.has(name)) made.set(name, tool);
    }
    const [oldest] = this.#under.keys();
    if (oldest !== undefined && this.#under.size >= MAX_REMEMBERED) this.#under.delete(oldest);
    this.#under.set(serverName, made);
    return made;
  }
}

const MAX_NAME = 64;
const HASH_CHARS = 10;

/**
 * The full name, as long as model APIs accept it. A name with a character outside `[A-Za-z0-9_-]`, or with more than 64
 * characters, is shortened and given a hash of the whole, so that it stays the same, and two tools do not get the same
 * name.
 */
function exposedName(fullName: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(fullName)) return fullName;
  const hash = createHash('sha256').update(fullName).digest('hex').slice(0, HASH_CHARS);
  const plain = fullName.replace(/[^A-Za-z0-9_-]/gu, '_').slice(0, MAX_NAME - HASH_CHARS - 1);
  return `${plain}_${hash}`;
}
