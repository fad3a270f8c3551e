// Bounds how many calls one key, and one Connected Tool, may have under way in this process, and how many lists a key may
// ask for at once. Without it, slow calls of one key would use up what all share: sockets and memory.

interface PlaceLimits {
  perKey: number;
  perConnectedTool: number;
}

/** A place that was taken. If none was free, `none` is the reason, which completes the sentence "…, but …". */
export interface Place {
  none?: string;
  free: () => void;
}

export class Places {
  readonly #keys: Counts;
  readonly #tools: Counts;
  /** Lists have places of their own: what one relays takes some for calls too. */
  readonly #lists: Counts;

  constructor({ perKey, perConnectedTool }: PlaceLimits) {
    this.#keys = new Counts(perKey);
    this.#lists = new Counts(perKey);
    this.#tools = new Counts(perConnectedTool);
  }

  take({ keyId, id }: { keyId: string; id: string }): Place {
    if (this.#keys.isFull(keyId)) return none('calls of this key', this.#keys.atMost, PER_KEY);
    if (this.#tools.isFull(id))
      return none(
        'calls of this Connected Tool',
        this.#tools.atMost,
        'TOOLGATE_MAX_CALLS_PER_CONNECTED_TOOL',
      );
    this.#keys.add(keyId);
    this.#tools.add(id);
    const free = () => {
      this.#keys.remove(keyId);
      this.#tools.remove(id);
    };
    return { free };
  }

  takeForList(keyId: string): Place {
    if (this.#lists.isFull(keyId)) return none('lists of this key', this.#lists.atMost, PER_KEY);
    this.#lists.add(keyId);
    return { free: () => this.#lists.remove(keyId) };
  }
}

const PER_KEY = 'TOOLGATE_MAX_CALLS_PER_KEY';

function none(what: string, atMost: number, setting: string): Place {
  return {
    none: `${atMost} ${what} are under way, as many as ${setting} allows`,
    free: () => {},
  };
}

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
