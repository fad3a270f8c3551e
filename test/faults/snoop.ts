// A user of the database who listens to what replicas tell each other, and speaks as if they were one.

import { SQL } from 'bun';
import type { Kind } from '../../src/guard/exchange/kinds.ts';

const CHANNEL = 'toolgate_wake';

export class Snoop {
  readonly heard: string[] = [];
  sent = 0;
  readonly #server: SQL;
  readonly #kind: string;

  /** It knows of the messages of one kind. */
  static async on(databaseUrl: string, { name }: Kind): Promise<Snoop> {
    const snoop = new Snoop(new SQL(databaseUrl, { max: 2 }), name);
    await new Promise<void>((resolve, reject) => {
      snoop.#server.listen(CHANNEL, word => void snoop.heard.push(word), resolve).catch(reject);
    });
    return snoop;
  }

  private constructor(server: SQL, kind: string) {
    this.#server = server;
    this.#kind = kind;
  }

  async ask(text: string): Promise<void> {
    this.sent++;
    await this.#server`SELECT pg_notify(${CHANNEL}, ${`${this.#kind}-question ${text}`})`;
  }

  /** The questions that replicas have asked so far. */
  questions(): string[] {
    return this.#of('question');
  }

  /** By the id of the question: how many replicas have answered, or how often one has. */
  answered(): Map<string, number> {
    const keys = Map.groupBy(this.#of('answer'), each => each.split(' ')[0] as string);
    return new Map([...keys].map(([id, parts]) => [id, new Set(parts.map(each => each.split(' ')[1])).size]));
  }

  #of(kind: string): string[] {
    const name = `${this.#kind}-${kind} `;
    return this.heard.filter(each => each.startsWith(name)).map(each => each.slice(name.length));
  }

  close(): Promise<void> {
    return this.#server.close();
  }
}
