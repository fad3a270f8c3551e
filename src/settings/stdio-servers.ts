// The commands that the server file declares now. They are the only part of the file that is taken in while the service
// runs, so everybody asks the one object of this process, and nobody keeps a copy. server-file.ts reads the file.

import { isDeepStrictEqual } from 'node:util';
import type { StdioServer } from './server-file.ts';

/** What a file declares differently, by the names of the commands. */
export interface Redeclared {
  added: string[];
  changed: string[];
  removed: string[];
}

export class StdioServers {
  #declared: ReadonlyMap<string, StdioServer>;

  constructor(declared: Readonly<Record<string, StdioServer>>) {
    this.#declared = new Map(Object.entries(declared));
  }

  get names(): string[] {
    return [...this.#declared.keys()];
  }

  get all(): [name: string, server: StdioServer][] {
    return [...this.#declared];
  }

  get(name: string): StdioServer | null {
    return this.#declared.get(name) ?? null;
  }

  has(name: string): boolean {
    return this.#declared.has(name);
  }

  /** How `next` differs from what is declared now. */
  comparedWith(next: StdioServers): Redeclared {
    return {
      added: next.names.filter(name => !this.has(name)),
      changed: this.names.filter(
        name => next.has(name) && !isDeepStrictEqual(this.get(name), next.get(name)),
      ),
      removed: this.names.filter(name => !next.has(name)),
    };
  }

  /** From here on what `next` declares is declared. */
  become(next: StdioServers): void {
    this.#declared = next.#declared;
  }
}
