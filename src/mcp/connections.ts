// Connections of clients of the older era: rows bound to a key, found by any replica. In memory are only what
// belongs to this process: the stream a client holds open here, and the calls it may cancel.

import { GuardError } from '../core/errors.ts';
import {
  changeConnectionLevel,
  closeConnection,
  lookUpConnection,
  openConnection,
} from '../guard/connections.ts';
import type { Principal } from '../guard/credentials.ts';
import type { Guard } from '../guard/guard.ts';
import { giveHint, onHint } from '../guard/hints.ts';
import { hashToken } from '../guard/secrets.ts';
import type { ConnectionRecord } from '../store/connections.ts';
import type { EventWriter } from './event-stream.ts';
import type { Id } from './protocol.ts';

const BELIEVED_MS = 1000;
const MAX_FOUND = 10_000;

interface Found {
  connection: ConnectionRecord;
  principal: Principal;
  until: number;
}

export class Connections {
  readonly #guard: Guard;
  readonly #streams = new Map<string, EventWriter>();
  readonly #calls = new Map<string, AbortController>();
  readonly #found = new Map<string, Found>();

  constructor(guard: Guard) {
    this.#guard = guard;
    onHint(guard.db, 'cancel', hash => this.#cancelByHash(hash));
    onHint(guard.db, 'ended', id => this.#forget(id));
  }

  open(principal: Principal, protocolVersion: string): Promise<string> {
    return openConnection(this.#guard, principal, protocolVersion);
  }

  /**
   * Unknown, ended and another key's connection look the same. One that was found is believed for a moment: it
   * authorises nothing, since every call's credential is judged in its own commit.
   */
  async find(id: string, principal: Principal): Promise<ConnectionRecord> {
    const known = this.#found.get(id);
    if (known !== undefined && known.until > performance.now() && known.principal === principal) {
      return known.connection;
    }
    const connection = await lookUpConnection(this.#guard, principal, id);
    if (connection === null)
      throw new GuardError('not_found', 'There is no such MCP session; initialize again.');
    if (this.#found.size >= MAX_FOUND) this.#found.clear();
    this.#found.set(id, { connection, principal, until: performance.now() + BELIEVED_MS });
    return connection;
  }

  setLevel(id: string, level: string): Promise<void> {
    this.#found.delete(id);
    return changeConnectionLevel(this.#guard, id, level);
  }

  async end(id: string, principal: Principal): Promise<void> {
    await this.find(id, principal);
    await closeConnection(this.#guard, id);
    this.#forget(id);
    giveHint(this.#guard.db, 'ended', id);
  }

  #forget(id: string): void {
    this.#found.delete(id);
    this.#streams.get(id)?.close();
  }

  /** A client's newest stream replaces the one before. */
  stream(id: string, writer: EventWriter): void {
    this.#streams.get(id)?.close();
    this.#streams.set(id, writer);
  }

  streamEnded(id: string, writer: EventWriter): void {
    if (this.#streams.get(id) === writer) this.#streams.delete(id);
  }

  /** Lets a call be cancelled by its id; answers how to stop that. */
  follow(connectionId: string, id: Id, cancel: AbortController): () => void {
    const key = callKey(connectionId, id);
    this.#calls.set(key, cancel);
    return () => {
      if (this.#calls.get(key) === cancel) this.#calls.delete(key);
    };
  }

  cancel(connectionId: string, id: Id): void {
    const call = callKey(connectionId, id);
    const here = this.#calls.get(call);
    // Its messages may come by any replica; the call is on one.
    if (here === undefined) giveHint(this.#guard.db, 'cancel', hashToken(call));
    else here.abort();
  }

  #cancelByHash(hash: string): void {
    for (const [call, cancel] of this.#calls) if (hashToken(call) === hash) cancel.abort();
  }

  close(): void {
    for (const stream of this.#streams.values()) stream.close();
    for (const call of this.#calls.values()) call.abort();
  }
}

function callKey(connectionId: string, id: Id): string {
  return `${connectionId} ${typeof id} ${id}`;
}
