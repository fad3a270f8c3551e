// Bounds how many calls one key, and one Connected Tool, may have under way in this process, and how many lists a key may
// ask for at once. Without it, slow calls of one key would use up what all share: sockets and memory.

import type { NoPlace } from '../core/policy/situation.ts';

interface CallSlotLimits {
  perKey: number;
  perConnectedTool: number;
}

/** A slot that was taken. If none was free, `none` says why. */
export interface CallSlot {
  none?: NoPlace;
  free: () => void;
}

/** Lists are no calls: nothing is recorded of them, and `none` is the sentence for whoever asks. */
export interface ListSlot {
  none?: string;
  free: () => void;
}

export class CallSlots {
  readonly #keys: Counts;
  readonly #tools: Counts;
  /** Lists have slots of their own, because relaying a list also takes slots for calls (relay.ts). */
  readonly #lists: Counts;

  constructor({ perKey, perConnectedTool }: CallSlotLimits) {
    this.#keys = new Counts(perKey);
    this.#lists = new Counts(perKey);
    this.#tools = new Counts(perConnectedTool);
  }

  take({ keyId, id }: { keyId: string; id: string }): CallSlot {
    if (this.#keys.isFull(keyId)) return { none: { atMost: this.#keys.atMost, of: 'key' }, free: NOTHING };
    if (this.#tools.isFull(id))
      return { none: { atMost: this.#tools.atMost, of: 'connected_tool' }, free: NOTHING };
    this.#keys.add(keyId);
    this.#tools.add(id);
    const free = () => {
      this.#keys.remove(keyId);
      this.#tools.remove(id);
    };
    return { free };
  }

  /** Whether a call would get a slot now. */
  hasPlace({ keyId, id }: { keyId: string; id: string }): boolean {
    return !this.#keys.isFull(keyId) && !this.#tools.isFull(id);
  }

  takeForList(keyId: string): ListSlot {
    if (this.#lists.isFull(keyId)) {
      const none = `${this.#lists.atMost} lists of this key are under way, as many as TOOLGATE_MAX_CALLS_PER_KEY allows`;
      return { none, free: NOTHING };
    }
    this.#lists.add(keyId);
    return { free: () => this.#lists.remove(keyId) };
  }
}

const NOTHING = () => {};

/** Counts by name. A count of zero takes no memory. */
class Counts {
  readonly atMost: number;
  readonly #counts = new Map<string, number>();

  constructor(atMost: number) {
    this.atMost = atMost;
  }

  isFull(of: string): boolean {
    return (this.#counts.get(of) ?? 0) >= this.atMost;
  }

  add(of: string): void {
    this.#counts.set(of, (this.#counts.get(of) ?? 0) + 1);
  }

  remove(of: string): void {
    const left = (this.#counts.get(of) ?? 0) - 1;
    if (left > 0) this.#counts.set(of, left);
    else this.#counts.delete(of);
  }
}
