// MCP sessions of clients of the older era: rows bound to a credential, found by any replica. In memory is only what
// belongs to this process: the streams that clients have open here, and the calls that they may cancel.

import { GuardError } from '../core/errors.ts';
import type { JsonObject } from '../core/wire/json.ts';
import type { Principal } from '../guard/credentials.ts';
import type { Deps } from '../guard/deps.ts';
import { giveHint, onHint } from '../guard/hints.ts';
import { changeLogLevel, closeMcpSession, lookUpMcpSession, openMcpSession } from '../guard/mcp-sessions.ts';
import type { EventWriter } from '../guard/rations/event-writer.ts';
import { hashToken } from '../guard/secrets.ts';
import type { McpSessionRecord } from '../store/mcp-sessions.ts';
import type { Id } from './protocol.ts';

const BELIEVED_MS = 1000;
const MAX_FOUND = 10_000;

/**
 * How many streams one key may have open on this process, with its sessions. A stream only tells a client that tools
 * changed, so a client can do without it.
 */
const MAX_STREAMS_OF_KEY = 100;

interface Stream {
  keyId: string;
  writer: EventWriter;
}

interface Cancellable {
  cancel: AbortController;
  /** The hash by which other replicas name the call; null until one of them asks. */
  hash: string | null;
}

interface Found {
  mcpSession: McpSessionRecord;
  principal: Principal;
  until: number;
}

export class McpSessions {
  readonly #deps: Deps;
  readonly #streams = new Map<string, Stream>();
  /** The calls under way here, by MCP session and id. */
  readonly #calls = new Map<string, Cancellable>();
  readonly #found = new Map<string, Found>();
  #endsStreams = false;

  constructor(deps: Deps) {
    this.#deps = deps;
    onHint(deps.db, 'cancel', hash => this.#cancelHashed(hash));
    onHint(deps.db, 'ended', id => this.#forget(id));
  }

  open(principal: Principal, protocolVersion: string, elicitsUrl = false): Promise<string> {
    return openMcpSession(this.#deps, principal, protocolVersion, elicitsUrl);
  }

  /**
   * Finds an MCP session. An unknown one, an ended one and one of another key look the same. What was found is used for
   * a second without asking again: it authorises nothing, since every call's credential is checked in its own commit.
   */
  async find(id: string, principal: Principal): Promise<McpSessionRecord> {
    const known = this.#found.get(id);
    if (known !== undefined && known.until > performance.now() && known.principal === principal) {
      return known.mcpSession;
    }
    const mcpSession = await lookUpMcpSession(this.#deps, principal, id);
    if (mcpSession === null)
      throw new GuardError('not_found', 'There is no such MCP session; initialize again.');
    if (this.#found.size >= MAX_FOUND) this.#found.clear();
    this.#found.set(id, { mcpSession, principal, until: performance.now() + BELIEVED_MS });
    return mcpSession;
  }

  setLevel(id: string, level: string): Promise<void> {
    this.#found.delete(id);
    return changeLogLevel(this.#deps, id, level);
  }

  async end(id: string, principal: Principal): Promise<void> {
    await this.find(id, principal);
    await closeMcpSession(this.#deps, id);
    this.#forget(id);
    giveHint(this.#deps.db, 'ended', id);
  }

  #forget(id: string): void {
    this.#found.delete(id);
    this.#streams.get(id)?.writer.close();
  }

  /** Throws when the key has as many streams open here as it may. A stream that replaces another does not count. */
  admitStream(id: string, { keyId }: Principal): void {
    let open = 0;
    for (const [other, stream] of this.#streams) if (stream.keyId === keyId && other !== id) open++;
    if (open < MAX_STREAMS_OF_KEY) return;
    const what = `This key has ${MAX_STREAMS_OF_KEY} streams open here, the most it may. Close one, or do without:`;
    throw new GuardError('rate_limited', `${what} a stream only tells that tools changed.`);
  }

  /** A client's newest stream replaces the one before. */
  stream(id: string, { keyId }: Principal, writer: EventWriter): void {
    this.#streams.get(id)?.writer.close();
    this.#streams.set(id, { keyId, writer });
    if (this.#endsStreams) writer.close();
  }

  streamEnded(id: string, writer: EventWriter): void {
    if (this.#streams.get(id)?.writer === writer) this.#streams.delete(id);
  }

  /** Sends the client a message that may be lost, if it listens here. */
  tell(id: string, message: JsonObject): void {
    this.#streams.get(id)?.writer.hint(message);
  }

  /** Lets a call be cancelled by its id. Returns the function that ends this. */
  follow(mcpSessionId: string, id: Id, cancel: AbortController): () => void {
    const name = callName(mcpSessionId, id);
    const call = { cancel, hash: null };
    // If a client uses an id twice at once, the id means the newer call.
    this.#calls.set(name, call);
    return () => {
      if (this.#calls.get(name) === call) this.#calls.delete(name);
    };
  }

  cancel(mcpSessionId: string, id: Id): void {
    const name = callName(mcpSessionId, id);
    const here = this.#calls.get(name);
    // The client's messages may reach any replica, and the call runs on one of them.
    if (here === undefined) giveHint(this.#deps.db, 'cancel', hashToken(name));
    else here.cancel.abort();
  }

  /** Another replica names a call by a hash. It is computed here when one asks, and not for every call: few are cancelled. */
  #cancelHashed(hash: string): void {
    for (const [name, call] of this.#calls) {
      call.hash ??= hashToken(name);
      if (call.hash === hash) call.cancel.abort();
    }
  }

  /** Ends all streams, and every one that is still opened. */
  endStreams(): void {
    this.#endsStreams = true;
    for (const { writer } of this.#streams.values()) writer.close();
  }
}

function callName(mcpSessionId: string, id: Id): string {
  return `${mcpSessionId} ${typeof id} ${id}`;
}
