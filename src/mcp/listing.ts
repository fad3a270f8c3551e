// The tools of a key: the union of what its Connected Tools offer, in a stable order, each under a name that
// model APIs take. A call's name is looked up, never taken apart: what stands before its first `__` only says which
// upstream could know it, so that a call waits for no other.

import type { Json } from '../core/json.ts';
import { joinName } from '../core/name.ts';
import type { Deps } from '../guard/deps.ts';
import type { Hub } from './hub.ts';
import { type KnownTool, Offered } from './offered.ts';
import { exposedDefinition } from './schema.ts';
import { StillStarting, type Upstream, type UpstreamHealth } from './upstream.ts';
import { UpstreamError } from './wire.ts';

/** How long an operator waits for a command to start: shorter than the command line waits for an answer. */
const START_PATIENCE_MS = 25_000;

export class Listing {
  readonly #deps: Deps;
  readonly #hub: Hub;
  readonly #onError: (upstream: Upstream, error: unknown) => void;
  readonly #strict: boolean;
  readonly #offered = new WeakMap<Upstream, Offered>();

  /** `strict`: calls depend on whether definitions changed, so none is made by what was remembered. */
  constructor(deps: Deps, hub: Hub, strict: boolean, onError: (upstream: Upstream, error: unknown) => void) {
    this.#deps = deps;
    this.#hub = hub;
    this.#strict = strict;
    this.#onError = onError;
  }

  /** Asks all upstreams at once; one that fails, or failed a moment ago, is left out and fails no other. */
  async list(keyId: string): Promise<KnownTool[]> {
    const upstreams = await this.#hub.of(keyId);
    const lists = await Promise.all(
      upstreams.map(async upstream => {
        const offered = this.#of(upstream);
        await (offered.fault === null ? offered.read() : offered.refresh());
        return offered.fault === null ? offered.tools : [];
      }),
    );
    return lists.flat();
  }

  /**
   * The tool behind a name that clients see; null when no Connected Tool of the key has it. A tool that is known is
   * found without waiting for anybody's list, unless calls depend on whether it changed.
   */
  async find(keyId: string, exposedName: string): Promise<KnownTool | null> {
    const upstreams = await this.#hub.of(keyId);
    const owner = upstreams.find(each => exposedName.startsWith(joinName(each.tool.name, '')));
    if (owner === undefined) return null;
    const offered = this.#of(owner);
    if (this.#strict) await offered.confirm();
    const known = await offered.find(exposedName);
    if (known !== null && !offered.current) offered.refresh();
    if (known !== null || this.#strict) return known;
    await offered.refresh();
    return offered.find(exposedName);
  }

  /**
   * The upstream's count of changes by which a call was checked, where calls depend on it. Throws when the upstream
   * could not be asked: whether the tool is the one that was accepted is then unknown.
   */
  confirmed({ upstream }: KnownTool): number | null {
    if (!this.#strict) return null;
    const { fault, changes } = this.#of(upstream);
    if (fault === null) return changes;
    throw new UpstreamError(`whether the tool has changed could not be seen: ${fault}`);
  }

  /** Asks one upstream now; for operators. */
  async test(upstream: Upstream): Promise<{ ok: boolean; error: string | null; tools: string[] }> {
    upstream.retryNow();
    const offered = this.#of(upstream);
    // A command that is still starting is said to be; any other failure is met again by reading.
    const starting = await upstream
      .reach(new AbortController().signal, START_PATIENCE_MS)
      .catch(error => error);
    if (starting instanceof StillStarting) return { ok: false, error: starting.message, tools: [] };
    await offered.read();
    const { fault, tools } = offered;
    return {
      ok: fault === null,
      error: fault,
      tools: fault === null ? tools.map(each => each.exposedName) : [],
    };
  }

  /** Of its connection, and where that is in order, why its tools could not be listed. */
  health(upstream: Upstream): UpstreamHealth {
    const { health } = upstream;
    return { ...health, error: health.error ?? this.#of(upstream).fault };
  }

  #of(upstream: Upstream): Offered {
    const known = this.#offered.get(upstream);
    if (known !== undefined) return known;
    const offered = new Offered(this.#deps, upstream, this.#onError);
    this.#offered.set(upstream, offered);
    return offered;
  }
}

/** A tool as clients see it. */
export function shown(tool: KnownTool): Json {
  return exposedDefinition(tool.definition, tool.exposedName);
}
