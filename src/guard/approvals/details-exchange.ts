// Asks the other replicas for the details of a call, and answers them, over the channel of hints. Every bound here is on
// what messages of others can make this process keep or do: a message that no replica sent is forgotten at once, a
// question is answered once, and parts of an answer are kept only for questions that this replica has just asked.

import type { KeyObject } from 'node:crypto';
import { GuardError } from '../../core/errors.ts';
import type { Db } from '../../store/engine/db.ts';
import { giveHint, onHint } from '../hints.ts';
import type { Vault } from '../secrets.ts';
import {
  answerTo,
  FRESH_MS,
  newQuestion,
  openAnswer,
  type Part,
  type Question,
  questionIdOf,
  readPart,
  readQuestion,
} from './details-messages.ts';

/**
 * How long each attempt waits, once its question was sent. The second one is for a message that was lost, or that came
 * before the details did.
 */
const WAITS_MS = [300, 700];
/**
 * Questions of this replica under way at a time, and those that wait for their turn. They are few, because whoever holds
 * the details has to answer them all in time, since what is not answered counts as gone. Fewer would make people wait
 * who look at many calls whose details are gone.
 */
const MOST_ASKED = 64;
const MOST_WAITING = 4096;
/** Questions of others that are being answered, which is more than one replica asks; further ones get no answer. */
const MOST_ANSWERED = 1024;
/** Questions of others that are remembered, so that none is answered twice. Beyond that, none is answered. */
const MOST_HEARD = 65_536;
/** Replicas whose parts of an answer to one question are kept. */
const MOST_ANSWERERS = 8;
/** Characters of parts that are kept at a time, and bytes of details that are being answered with. */
const MOST_KEPT = 32 * 1024 * 1024;

interface Asked {
  question: Question;
  privateKey: KeyObject;
  /** The parts so far, by the key of the replica that sends them. */
  parts: Map<string, Part[]>;
  found: (details: Uint8Array) => void;
  /** A part has come, so the rest is worth waiting for. */
  heard: () => void;
}

export interface Exchanging {
  db: Db;
  vault: Vault;
  now: () => number;
  /** The details that this replica may give away, if it still holds them. */
  held: (referenceId: string) => Uint8Array | null;
  /** Whether the store says that the approval still waits. */
  isPending: (referenceId: string) => Promise<boolean>;
  answered: () => void;
}

export class DetailsExchange {
  readonly #with: Exchanging;
  /** The questions of this replica under way, by their ids. */
  readonly #asked = new Map<string, Asked>();
  readonly #waiting: (() => void)[] = [];
  #asking = 0;
  #answering = 0;
  #answeringBytes = 0;
  #keptChars = 0;
  /** The ids of questions received, in the order in which they came, with the times until which they are remembered. */
  readonly #heard = new Map<string, number>();

  constructor(exchanging: Exchanging) {
    this.#with = exchanging;
    if (!exchanging.db.hintsReachReplicas) return;
    onHint(exchanging.db, 'details-question', text => void this.#hearQuestion(text));
    onHint(exchanging.db, 'details-answer', text => this.#hearPart(text));
  }

  /** The details as another replica holds them, or null if none has answered in time. */
  async ask(referenceId: string): Promise<Uint8Array | null> {
    if (!this.#with.db.hintsReachReplicas) return null;
    await this.#turn();
    try {
      for (const waitMs of WAITS_MS) {
        const details = await this.#askOnce(referenceId, waitMs);
        if (details !== null) return details;
      }
      return null;
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#asking--;
      else next();
    }
  }

  /** Too many is an error: "nobody holds them" would not be true. */
  async #turn(): Promise<void> {
    if (this.#waiting.length >= MOST_WAITING)
      throw new GuardError('overloaded', 'Too many details are being looked up.', { retryAfter: 1 });
    if (this.#asking >= MOST_ASKED) await new Promise<void>(resolve => this.#waiting.push(resolve));
    else this.#asking++;
  }

  async #askOnce(referenceId: string, waitMs: number): Promise<Uint8Array | null> {
    const { db, vault, now } = this.#with;
    const { question, privateKey } = newQuestion(vault, referenceId, now());
    const answer = Promise.withResolvers<Uint8Array | null>();
    let timer: Timer | undefined;
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(() => answer.resolve(null), waitMs);
    };
    const parts = new Map<string, Part[]>();
    this.#asked.set(question.id, { question, privateKey, parts, found: answer.resolve, heard: wait });
    try {
      // A busy store sends late. That time is not the answerer's.
      await giveHint(db, 'details-question', question.text);
      wait();
      return await answer.promise;
    } finally {
      clearTimeout(timer);
      this.#asked.delete(question.id);
      for (const each of parts.values()) for (const { data } of each) this.#keptChars -= data.length;
    }
  }

  #hearPart(text: string): void {
    const asked = this.#asked.get(questionIdOf(text));
    const part = asked === undefined ? null : readPart(this.#with.vault, text);
    if (asked === undefined || part === null) return;
    const parts = asked.parts.get(part.key) ?? [];
    if (parts.length === 0 && asked.parts.size >= MOST_ANSWERERS) return;
    if (parts.some(each => each.index === part.index || each.count !== part.count)) return;
    if (this.#keptChars + part.data.length > MOST_KEPT) return;
    this.#keptChars += part.data.length;
    parts.push(part);
    asked.parts.set(part.key, parts);
    asked.heard();
    if (parts.length < part.count) return;
    const inOrder = parts.sort((a, b) => a.index - b.index);
    const details = openAnswer(this.#with.vault, asked.question, asked.privateKey, inOrder);
    if (details !== null) asked.found(details);
  }

  async #hearQuestion(text: string): Promise<void> {
    const { db, vault, now, held, isPending, answered } = this.#with;
    const question = readQuestion(vault, text, now());
    if (question === null || this.#asked.has(question.id) || !this.#isNew(question, now())) return;
    if (held(question.referenceId) === null || this.#answering >= MOST_ANSWERED) return;
    this.#answering++;
    let bytes = 0;
    try {
      if (!(await isPending(question.referenceId))) return;
      // They may have been let go meanwhile.
      const details = held(question.referenceId);
      if (details === null || this.#answeringBytes + details.length > MOST_KEPT) return;
      bytes = details.length;
      this.#answeringBytes += bytes;
      // One after the other: many parts at once would keep checks from the connections to the store.
      for (const part of answerTo(vault, question, details)) await giveHint(db, 'details-answer', part);
      answered();
    } catch {
      // The store cannot be read. The asker is told nothing, as if nobody held the details.
    } finally {
      this.#answering--;
      this.#answeringBytes -= bytes;
    }
  }

  /** Whether the question is a new one. It is remembered from now on. */
  #isNew({ id }: Question, now: number): boolean {
    for (const [heard, until] of this.#heard) {
      if (until > now) break;
      this.#heard.delete(heard);
    }
    if (this.#heard.has(id) || this.#heard.size >= MOST_HEARD) return false;
    // A clock that is ahead may have dated the question, so it counts as fresh for twice as long.
    this.#heard.set(id, now + 2 * FRESH_MS);
    return true;
  }
}
