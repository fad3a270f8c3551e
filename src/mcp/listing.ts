// The tools of a key: the union of what its Connected Tools offer, in a stable order, each under a name that model
// APIs accept. The name of a call is looked up as a whole. The part before its first `__` only tells which upstream
// could know it, so that a call waits for no other upstream.

import { joinName } from '../core/text/name.ts';
import type { Json, JsonObject } from '../core/wire/json.ts';
import type { Deps } from '../guard/deps.ts';
import { definitionDigest } from '../guard/tool-servers/definitions.ts';
import type { Connected, Hub } from './hub.ts';
import { type KnownTool, knownTool, unlisted } from './known-tool.ts';
import { Offered } from './offered.ts';
import { StillStarting } from './opening.ts';
import { exposedDefinition } from './schema.ts';
import { isPersonal, signInFirst } from './sign-in.ts';
import type { Upstream } from './upstream.ts';
import type { UpstreamHealth } from './upstream-health.ts';
import { UpstreamError } from './wire.ts';

/** How long an operator waits for a command to start. The command line waits longer than this for an answer. */
const START_PATIENCE_MS = 25_000;

const EACH_FOR_THEMSELVES = 'everybody signs in to this server for themselves, so it cannot be tested here';

export class Listing {
  readonly #deps: Deps;
  readonly #hub: Hub;
  readonly #onError: (upstream: Upstream, error: unknown) => void;
  readonly #strict: boolean;
  readonly #offered = new WeakMap<Upstream, Offered>();

  /** `strict`: calls of all servers depend on whether definitions changed, so none relies on what was remembered. */
  constructor(deps: Deps, hub: Hub, strict: boolean, onError: (upstream: Upstream, error: unknown) => void) {
    this.#deps = deps;
    this.#hub = hub;
    this.#strict = strict;
    this.#onError = onError;
  }

  /** Asks all upstreams at once. An upstream that fails, or failed just before, is left out; the others are listed. */
  async list(keyId: string, personId: string | null = null): Promise<KnownTool[]> {
    const all = await this.#hub.of(keyId, personId);
    const lists = await Promise.all(
      all.map(async connected => {
        const offered = this.#of(connected.upstream);
        // What a server that keys share has just told one of them is not asked again for the next.
        const isAsked = offered.fault === null && connected.tool.toolServerId === null;
        await (isAsked ? offered.read() : offered.refresh());
        if (offered.fault !== null) return [];
        return offered.tools(connected.tool.name).map(([name, tool]) => knownTool(connected, name, tool));
      }),
    );
    return lists.flat();
  }

  /** About how many bytes the list of these tools has. It is known before the list is written. */
  bytesOf(tools: readonly KnownTool[]): number {
    const upstreams = new Set(tools.map(each => each.upstream));
    return [...upstreams].reduce((sum, each) => sum + this.#of(each).bytes, 0);
  }

  /**
   * Finds the tool behind a name that clients see; null when no Connected Tool of the key has it. A known tool is found
   * without waiting for any list, unless calls depend on whether its definition changed, or its server wants a sign-in.
   * `anew`: what calls depend on is asked of the server again, because it is not what the store has.
   */
  async find(
    keyId: string,
    exposedName: string,
    personId: string | null = null,
    anew = false,
  ): Promise<KnownTool | null> {
    const all = await this.#hub.of(keyId, personId);
    const owner = all.find(each => exposedName.startsWith(joinName(each.tool.name, '')));
    if (owner === undefined) return null;
    const { tool, upstream } = owner;
    const offered = this.#of(upstream);
    const find = async () => {
      const found = await offered.find(tool.name, exposedName);
      return found === null ? null : knownTool(owner, exposedName, found);
    };
    if (tool.oauthAs !== null && (await lacksSignIn(upstream, offered))) {
      const known = await find();
      return known === null ? unlisted(owner, exposedName) : { ...known, unsigned: 'listed' };
    }
    const strict = this.#isStrict(upstream);
    if (strict && anew) await offered.read();
    if (strict) await offered.confirm();
    const known = await find();
    if (known !== null && strict && offered.fault === null && !isPersonal(upstream.source))
      known.seenDigest = seenDigest(known.definition);
    if (known !== null && !offered.current) offered.refresh();
    if (known !== null || strict) return known;
    await offered.refresh();
    return find();
  }

  /**
   * The upstream's count of changes at which a call was checked; null where calls do not depend on it. Throws when the
   * upstream could not be asked, because it is then unknown whether the tool is the one that was accepted.
   */
  confirmed({ upstream }: KnownTool): number | null {
    if (!this.#isStrict(upstream)) return null;
    const { fault, changes, unsigned } = this.#of(upstream);
    if (fault === null) return changes;
    if (unsigned) throw signInFirst();
    throw new UpstreamError(`whether the tool has changed could not be seen: ${fault}`);
  }

  /** Asks one upstream now, for an operator who tests it. */
  async test({
    tool,
    upstream,
  }: Connected<{ name: string }>): Promise<{ ok: boolean; error: string | null; tools: string[] }> {
    if (isPersonal(upstream.source)) return { ok: false, error: EACH_FOR_THEMSELVES, tools: [] };
    upstream.retryNow();
    const offered = this.#of(upstream);
    // A command that is still starting is reported as such. Any other failure appears again when the list is read.
    const starting = await upstream
      .reach(new AbortController().signal, START_PATIENCE_MS)
      .catch(error => error);
    if (starting instanceof StillStarting) return { ok: false, error: starting.message, tools: [] };
    await offered.read();
    const { fault } = offered;
    return {
      ok: fault === null,
      error: fault,
      tools: fault === null ? offered.tools(tool.name).map(([name]) => name) : [],
    };
  }

  /** The health of its connection; if that is good, the error says why its tools could not be listed. */
  health(upstream: Upstream): UpstreamHealth {
    const { health } = upstream;
    if (isPersonal(upstream.source)) return { ...health, state: 'idle', error: null };
    return { ...health, error: health.error ?? this.#of(upstream).fault };
  }

  /** Of a server whose definitions are reviewed, a call depends on the present one whatever is done about changes. */
  #isStrict({ source }: Upstream): boolean {
    return this.#strict || source.trust === 'reviewed';
  }

  #of(upstream: Upstream): Offered {
    const known = this.#offered.get(upstream);
    if (known !== undefined) return known;
    const offered = new Offered(this.#deps, upstream, this.#onError);
    this.#offered.set(upstream, offered);
    return offered;
  }
}

const digests = new WeakMap<JsonObject, string>();

/** A definition in memory stays as it is, so its digest is made once. */
function seenDigest(definition: JsonObject): string {
  const known = digests.get(definition);
  if (known !== undefined) return known;
  const digest = definitionDigest(definition);
  digests.set(definition, digest);
  return digest;
}

/** This is found out before the check, so that a call that cannot be sent spends no approval. */
async function lacksSignIn(upstream: Upstream, offered: Offered): Promise<boolean> {
  if (await upstream.needsSignIn()) return true;
  await offered.confirm();
  return offered.unsigned;
}

/** A tool as clients see it. */
export function shown(tool: KnownTool): Json {
  return exposedDefinition(tool.definition, tool.exposedName);
}
