// How much each caller may have at once in this process: bytes of requests, bytes of answers, and turns for large pieces
// of work. A caller is a key with all its sessions, a person who signed in, or an address from which somebody asks without
// a credential. docs/operating.md has the table of these bounds.

import { AnswerRation } from './answer-ration.ts';
import { CallerTurns } from './caller-turns.ts';
import { type Part, Shares } from './shares.ts';

const MIB = 1024 * 1024;

/** The largest request has 8 MiB by default. A check has at most one. */
export const REQUEST_BYTES = 16 * MIB;
/** Without a credential a request has at most 64 KiB. Many people may share an address. */
const ANONYMOUS_REQUEST_BYTES = 2 * MIB;
/** A tool server's answer has at most 16 MiB. */
export const ANSWER_BYTES = 16 * MIB;

/**
 * A body of at most this many bytes is not counted and does not wait for a turn: reading and parsing it takes a tenth
 * of a millisecond.
 */
export const SMALL_BYTES = 16 * 1024;

/** Whose share something counts for. */
export interface Caller {
  name: string;
  /** Nobody has shown a credential. */
  anonymous: boolean;
}

/** The name of a key with all its sessions. */
export const keyName = (keyId: string): string => `key ${keyId}`;

export class Rations {
  readonly turns = new CallerTurns();
  readonly answers = new Shares(ANSWER_BYTES, 'The answers that you have not read');
  readonly #requests = new Shares(REQUEST_BYTES, 'Your requests');
  readonly #anonymous = new Shares(ANONYMOUS_REQUEST_BYTES, 'Requests from your address');

  /**
   * What a request has of its caller's share, from its first byte until it is answered. The caller is looked up only if
   * the request is not small.
   */
  request(callerOf: () => Caller): RequestRation {
    return new RequestRation(callerOf, this.turns, caller =>
      (caller.anonymous ? this.#anonymous : this.#requests).part(caller.name),
    );
  }

  /** What one answer has of its key's share, from the first byte that is read for it until its client has read it. */
  answer(keyId: string): AnswerRation {
    return new AnswerRation(keyName(keyId), this.answers, this.turns);
  }

  /** The same for what the service itself asks of a tool server that keys share: it counts for the server. */
  answerOfServer(toolServerId: string): AnswerRation {
    return new AnswerRation(`tool server ${toolServerId}`, this.answers, this.turns);
  }

  /** The bytes of requests and of answers that all callers hold together. */
  get held(): { requests: number; answers: number } {
    return { requests: this.#requests.held + this.#anonymous.held, answers: this.answers.held };
  }
}

export class RequestRation {
  readonly #callerOf: () => Caller;
  readonly #turns: CallerTurns;
  readonly #partFor: (caller: Caller) => Part;
  #part: Part | null = null;

  constructor(callerOf: () => Caller, turns: CallerTurns, partFor: (caller: Caller) => Part) {
    this.#callerOf = callerOf;
    this.#turns = turns;
    this.#partFor = partFor;
  }

  /** Counts bytes of the body; throws if the caller's share has no room for them. */
  grow(bytes: number): void {
    this.#part ??= this.#partFor(this.#callerOf());
    this.#part.grow(bytes);
  }

  /** Waits for the caller's turn to work on a body that is not small. */
  turn(): Promise<void> {
    return this.#turns.next(this.#callerOf().name);
  }

  free(): void {
    this.#part?.free();
  }
}
