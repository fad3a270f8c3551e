// Asks the other replicas for bytes that one of them holds, and answers them, over the channel of hints. Every bound here
// is on what messages of others can make this process keep or do: a message that no replica sent is forgotten at once, it
// answers a question once, and parts of an answer are kept only for questions that this replica has just asked.

import type { KeyObject } from 'node:crypto';
import { GuardError } from '../../core/errors.ts';
import type { Db } from '../../store/engine/db.ts';
import { giveHint, onHint } from '../hints.ts';
import type { Vault } from '../secrets.ts';
import type { Kind } from './kinds.ts';
import {
  answerTo,
  busyMessage,
  FRESH_MS,
  newQuestion,
  openAnswer,
  PART_CHARS,
  type Part,
  type Question,
  questionIdOf,
  readBusy,
  readPart,
  readQuestion,
} from './messages.ts';

/** One owner, such as a key, may have this part of the questions under way: a quarter. */
const SHARE = 4;
/** Look-ups that wait for their turn. */
const MOST_WAITING = 4096;
/** Questions of others that are being answered, which is more than one replica asks; further ones are told "busy". */
const MOST_ANSWERED = 1024;
/** Questions of others that are remembered, so that none is answered twice. Beyond that, none is answered. */
const MOST_HEARD = 65_536;
/** Replicas whose parts of an answer to one question are kept. */
const MOST_ANSWERERS = 8;

interface Asked {
  question: Question;
  privateKey: KeyObject;
  /** The parts so far of each answer by their index, by the key of the replica that sends it. */
  answers: Map<string, Map<number, Part>>;
  /** Characters that these answers have when they are complete. */
  chars: number;
  /** Somebody holds it and could not answer, or there was no room for the answer. */
  isBusy: boolean;
  found: (bytes: Uint8Array) => void;
  /** A part has come, so the rest is worth waiting for. */
  heard: () => void;
}

export interface Exchanging {
  db: Db;
  vault: Vault;
  now: () => number;
  /** The bytes that this replica may give away, if it still holds them. */
  held: (about: string) => Uint8Array | null;
  /** Whether the store says that others may still have them. */
  mayGive: (about: string) => Promise<boolean>;
  answered: () => void;
}

export class Exchange {
  readonly #kind: Kind;
  readonly #with: Exchanging;
  /** The questions of this replica under way, by their ids. */
  readonly #asked = new Map<string, Asked>();
  readonly #waiting: (() => void)[] = [];
  #asking = 0;
  /** The look-ups of each owner, under way and waiting. */
  readonly #perOwner = new Map<string, number>();
  #answering = 0;
  #answeringBytes = 0;
  #keptChars = 0;
  /** The ids of questions received, in the order in which they came, with the times until which they are remembered. */
  readonly #heard = new Map<string, number>();

  constructor(kind: Kind, exchanging: Exchanging) {
    this.#kind = kind;
    this.#with = exchanging;
    const { db } = exchanging;
    if (!db.hintsReachReplicas) return;
    onHint(db, `${kind.name}-question`, text => void this.#hearQuestion(text));
    onHint(db, `${kind.name}-answer`, text => this.#hearPart(text));
    onHint(db, `${kind.name}-busy`, text => this.#hearBusy(text));
  }

  /**
   * The bytes as another replica holds them, or null if none has answered in time. It is an error if somebody holds them
   * who is too busy, because "nobody holds them" would not be true. It is one too if so much is looked up for the same
   * owner that others would have to wait; null: it is looked up for nobody in particular.
   */
  async ask(about: string, owner: string | null = null): Promise<Uint8Array | null> {
    if (!this.#with.db.hintsReachReplicas) return null;
    if (owner === null) return this.#askInTurn(about);
    const before = this.#perOwner.get(owner) ?? 0;
    if (before >= this.#kind.mostAsked / SHARE) throw tooMany();
    this.#perOwner.set(owner, before + 1);
    try {
      return await this.#askInTurn(about);
    } finally {
      const left = (this.#perOwner.get(owner) ?? 0) - 1;
      if (left > 0) this.#perOwner.set(owner, left);
      else this.#perOwner.delete(owner);
    }
  }

  async #askInTurn(about: string): Promise<Uint8Array | null> {
    await this.#turn();
    try {
      let isBusy = false;
      for (const waitMs of this.#kind.waitsMs) {
        const answer = await this.#askOnce(about, waitMs);
        if (answer instanceof Uint8Array) return answer;
        isBusy ||= answer === 'busy';
      }
      if (isBusy) throw tooMany();
      return null;
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#asking--;
      else next();
    }
  }

  async #turn(): Promise<void> {
    if (this.#waiting.length >= MOST_WAITING) throw tooMany();
    if (this.#asking >= this.#kind.mostAsked) await new Promise<void>(resolve => this.#waiting.push(resolve));
    else this.#asking++;
  }

  async #askOnce(about: string, waitMs: number): Promise<Uint8Array | 'busy' | null> {
    const { db, vault, now } = this.#with;
    const { question, privateKey } = newQuestion(vault, this.#kind, about, now());
    const answer = Promise.withResolvers<Uint8Array | null>();
    let timer: Timer | undefined;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => answer.resolve(null), waitMs);
    };
    const asked: Asked = {
      question,
      privateKey,
      answers: new Map(),
      chars: 0,
      isBusy: false,
      found: answer.resolve,
      heard,
    };
    this.#asked.set(question.id, asked);
    try {
      // A busy store sends late. That time is not the answerer's.
      await giveHint(db, `${this.#kind.name}-question`, question.text);
      heard();
      return (await answer.promise) ?? (asked.isBusy ? 'busy' : null);
    } finally {
      clearTimeout(timer);
      this.#asked.delete(question.id);
      this.#keptChars -= asked.chars;
    }
  }

  #hearPart(text: string): void {
    const asked = this.#asked.get(questionIdOf(text));
    const part = asked === undefined ? null : readPart(this.#with.vault, this.#kind, text);
    if (asked === undefined || part === null) return;
    const parts = asked.answers.get(part.key) ?? this.#beginAnswer(asked, part);
    if (parts === null || parts.has(part.index)) return;
    for (const { count } of parts.values()) {
      if (count !== part.count) return;
      break;
    }
    parts.set(part.index, part);
    asked.heard();
    if (parts.size < part.count) return;
    const inOrder = [...parts.values()].sort((a, b) => a.index - b.index);
    const bytes = openAnswer(this.#with.vault, this.#kind, asked.question, asked.privateKey, inOrder);
    if (bytes !== null) asked.found(bytes);
  }

  /** Room for the whole answer is taken when its first part comes, so that no answer is given up in its middle. */
  #beginAnswer(asked: Asked, { key, count }: Part): Map<number, Part> | null {
    if (asked.answers.size >= MOST_ANSWERERS) return null;
    const chars = count * PART_CHARS;
    if (this.#keptChars + chars > this.#kind.mostKept) {
      asked.isBusy = true;
      return null;
    }
    this.#keptChars += chars;
    asked.chars += chars;
    const parts = new Map<number, Part>();
    asked.answers.set(key, parts);
    return parts;
  }

  #hearBusy(text: string): void {
    const asked = this.#asked.get(questionIdOf(text));
    if (asked !== undefined && readBusy(this.#with.vault, this.#kind, text) !== null) asked.isBusy = true;
  }

  async #hearQuestion(text: string): Promise<void> {
    const { vault, now, held } = this.#with;
    const question = readQuestion(vault, this.#kind, text, now());
    if (question === null || this.#asked.has(question.id) || !this.#isNew(question, now())) return;
    if (held(question.about) === null) return;
    if (this.#answering >= MOST_ANSWERED) return this.#sayBusy(question);
    this.#answering++;
    try {
      await this.#answer(question);
    } catch {
      // The store cannot be read. The asker is told nothing, as if nobody held the bytes.
    } finally {
      this.#answering--;
    }
  }

  async #answer(question: Question): Promise<void> {
    const { db, vault, held, mayGive, answered } = this.#with;
    if (!(await mayGive(question.about))) return;
    // They may have been let go meanwhile.
    const bytes = held(question.about);
    if (bytes === null) return;
    const { length } = bytes;
    if (this.#answeringBytes + length > this.#kind.mostKept) return this.#sayBusy(question);
    this.#answeringBytes += length;
    try {
      // One after the other: many parts at once would keep checks from the connections to the store.
      for (const part of answerTo(vault, this.#kind, question, bytes))
        await giveHint(db, `${this.#kind.name}-answer`, part);
      answered();
    } finally {
      this.#answeringBytes -= length;
    }
  }

  #sayBusy(question: Question): Promise<void> {
    const { db, vault } = this.#with;
    return giveHint(db, `${this.#kind.name}-busy`, busyMessage(vault, this.#kind, question));
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

const tooMany = (): GuardError =>
  new GuardError('overloaded', 'Too much is being looked up at other replicas.', { retryAfter: 1 });
