// One store with its replicas, a tool server, clients, people who answer, and whoever kills all of these processes. It goes
// in rounds: kills while calls are under way, then quiet, in which every task has to come to its end.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newDataDir, random, StoreFromOutside, until } from '../../support/faults.ts';
import { freePort } from '../../support/port.ts';
import type { TestService } from '../../support/service.ts';
import { TasksClient } from '../../support/tasks.ts';
import { Callers } from './callers.ts';
import { linesOf, type Run } from './ledger.ts';
import type { Note, Orders } from './orders.ts';
import { People } from './people.ts';
import { Replicas, Restarted, type WorldOptions } from './processes.ts';
import { Truth, underWay } from './truth.ts';

const CLIENTS = 4;
/** How often it is looked whether anything is under way. */
const ASKED_EVERY_MS = 200;

/** How many were killed, or may be before the quiet. */
export interface Kills {
  replicas: number;
  toolServer: number;
  clients: number;
}

/** What a round is made of. */
export interface Plan {
  keys: number;
  kills: Kills;
  /** How long everything may take to come to its end. */
  quietMs: number;
}

/** On average, between two of them. */
const PAUSES_MS: Kills = { replicas: 300, toolServer: 90, clients: 30 };

export interface RoundFound {
  violations: string[];
  tasks: number;
  unknown: number;
  lateResults: number;
  runs: number;
}

export class TaskWorld {
  readonly #seed: number;
  readonly #chance: () => number;
  readonly #folder = newDataDir();
  readonly #replicas: Replicas;
  readonly #people: People;
  #clientKills = 0;
  #toolKills = 0;
  #rounds = 0;

  static async start(options: WorldOptions): Promise<TaskWorld> {
    return new TaskWorld(options.seed, await Replicas.start(options));
  }

  private constructor(seed: number, replicas: Replicas) {
    this.#seed = seed;
    this.#chance = random(seed);
    this.#replicas = replicas;
    this.#people = new People(() => replicas.services, random(seed + 1));
  }

  get kills(): Kills {
    return { replicas: this.#replicas.kills, toolServer: this.#toolKills, clients: this.#clientKills };
  }

  async close(): Promise<void> {
    await this.#people.end();
    await this.#replicas.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The eras of the tool server take turns. */
  async round({ keys, kills, quietMs }: Plan): Promise<RoundFound> {
    const number = this.#rounds++;
    const service = this.#replicas.services[0] as TestService;
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/mcp`;
    const ledger = join(this.#folder, `ledger-${number}`);
    const era = number % 2 === 0 ? 'modern' : 'legacy';
    const toolServer = new Restarted('tool-server.ts', [String(port), ledger, era]);
    await until('the tool server listens', () => fetch(url).then(Boolean, () => false));
    const callers = await Callers.begin({ service, url, keys, chance: this.#chance, round: number });
    const files = Array.from({ length: CLIENTS }, (_, client) => this.#ordersFor(client, callers));
    const clients = files.map(({ file, notes }) => new Restarted('client.ts', [file, notes]));
    await this.#killAll(kills, toolServer, clients);
    const late = await this.#settled(clients, callers, quietMs);
    for (const each of [...clients, toolServer]) await each.end();
    this.#toolKills += toolServer.kills;
    this.#clientKills += clients.reduce((sum, client) => sum + client.kills, 0);
    const runs = linesOf<Run>(ledger);
    const notes = files.flatMap(each => linesOf<Note>(each.notes));
    const truth = new Truth({ ...callers, notes, runs });
    await truth.recorded(this.#replicas.databaseUrl);
    await truth.told(this.#replicas.services);
    const { violations, tasks, unknown, late: lateResults } = truth;
    return { violations: [...late, ...violations], tasks, unknown, lateResults, runs: runs.length };
  }

  #ordersFor(client: number, { orders }: Callers): { file: string; notes: string } {
    const file = join(this.#folder, `orders-${this.#rounds}-${client}`);
    const own: Orders = {
      urls: this.#replicas.urls,
      seed: this.#seed * 1000 + this.#rounds * CLIENTS + client,
      orders: orders.filter((_, index) => index % CLIENTS === client),
    };
    writeFileSync(file, JSON.stringify(own));
    return { file, notes: `${file}-notes` };
  }

  /** Resolves once so many were killed, or the clients have nothing left to do. */
  async #killAll(kills: Kills, toolServer: Restarted, clients: Restarted[]): Promise<void> {
    const isOver = () => clients.every(client => client.isOver);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(this.#chance() * list.length)] as T;
    const keepKilling = async (what: keyof Kills, kill: () => Promise<void> | void) => {
      for (let count = 0; count < kills[what] && !isOver(); count++) {
        await Bun.sleep(PAUSES_MS[what] * 2 * this.#chance());
        await kill();
      }
    };
    await Promise.all([
      keepKilling('replicas', () => this.#replicas.kill(Math.floor(this.#chance() * this.#replicas.size))),
      keepKilling('toolServer', () => toolServer.kill()),
      keepKilling('clients', () => pick(clients.filter(client => !client.isOver))?.kill()),
    ]);
  }

  /** Everybody is left alone until nothing is under way any more. Returns what never ended. */
  async #settled(
    clients: readonly Restarted[],
    { orders, tokens }: Callers,
    withinMs: number,
  ): Promise<string[]> {
    this.#people.isThorough = true;
    const keyIds = [...new Set(orders.map(({ keyId }) => keyId))];
    const store = new StoreFromOutside(this.#replicas.databaseUrl);
    // Their clients were killed or follow another task, so somebody else has to ask on their behalf.
    const isQuiet = async () => {
      const { count, atServer } = await underWay(store, keyIds);
      for (const { id, whose } of atServer)
        await new TasksClient(this.#replicas.services[0] as TestService, tokens.get(whose) as string).get(id);
      if (count > 0) await Bun.sleep(ASKED_EVERY_MS);
      return count === 0;
    };
    try {
      await until('the clients have ended', () => clients.every(client => client.isOver), withinMs);
      await until('nothing is under way', isQuiet, withinMs);
      return [];
    } catch (error) {
      return [(error as Error).message];
    } finally {
      this.#people.isThorough = false;
      await store.close();
    }
  }
}
