// Texts that are not saved yet, kept in the tab (sessionStorage) while other pages are visited: for each person and
// policy the draft that is being edited, one that was set aside for another text, and the one that was discarded last. They
// end with the tab.

/** A text that is not saved yet. */
export interface KeptDraft {
  /** The version of the policy that it began from; 0 for a new policy. */
  version: number;
  text: string;
  /** For a new policy, the fields beside the text. */
  name?: string;
  description?: string;
}

/** A text above this length is not kept. Together with the number of drafts, it stays below what browsers keep. */
const MAX_LENGTH = 500_000;
const MOST = 8;
const PREFIX = 'toolgate draft ';

export type Place = 'edited' | 'aside' | 'discarded';

/** The drafts of one person for one policy; a new policy has the id `new`. */
export class KeptDrafts {
  readonly #storage: Storage;
  readonly #name: string;

  constructor(person: string, policyId: string, storage: Storage) {
    this.#storage = storage;
    this.#name = `${PREFIX}${JSON.stringify([person, policyId])} `;
  }

  read(place: Place): KeptDraft | null {
    try {
      return draftIn(JSON.parse(this.#storage.getItem(this.#name + place) ?? 'null'));
    } catch {
      return null;
    }
  }

  /** Keeps the draft, and drops the oldest ones when there are too many. Null drops it. */
  keep(place: Place, draft: KeptDraft | null): void {
    const name = this.#name + place;
    try {
      // What is kept last has the highest number.
      const others = kept(this.#storage).filter(each => each.name !== name);
      this.#storage.removeItem(name);
      if (draft === null || draft.text.length > MAX_LENGTH) return;
      for (const { name: oldest } of others.slice(MOST - 1)) this.#storage.removeItem(oldest);
      const order = (others[0]?.order ?? 0) + 1;
      this.#storage.setItem(name, JSON.stringify({ ...draft, order }));
    } catch {
      // A browser that keeps nothing for pages loses the draft, as it would lose the page.
    }
  }
}

/** The names of all kept drafts, the newest first. */
function kept(storage: Storage): { name: string; order: number }[] {
  return Array.from({ length: storage.length }, (_, at) => storage.key(at) ?? '')
    .filter(name => name.startsWith(PREFIX))
    .map(name => ({ name, order: orderOf(storage.getItem(name)) }))
    .toSorted((a, b) => b.order - a.order);
}

function orderOf(written: string | null): number {
  const [, order = '0'] = /"order":(\d{1,15})\}$/.exec(written ?? '') ?? [];
  return Number(order);
}

function draftIn(value: unknown): KeptDraft | null {
  const { version, text, name, description } = (value ?? {}) as Record<string, unknown>;
  if (typeof version !== 'number' || typeof text !== 'string') return null;
  return {
    version,
    text,
    ...(typeof name === 'string' && { name }),
    ...(typeof description === 'string' && { description }),
  };
}
