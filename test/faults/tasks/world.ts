// One store with its replicas, a tool server, clients, people who answer, and whoever kills all of these processes. It goes
// in rounds: kills while calls are under way, then quiet, in which every task has to come to its end.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Rule } from '../../../src/core/policy/policy.ts';
import { newDataDir, random, until } from '../../support/faults.ts';
import { connect } from '../../support/mcp.ts';
import { freePort } from '../../support/port.ts';
import type { TestService } from '../../support/service.ts';
import { linesOf, type Manner, type Run } from './ledger.ts';
import { KINDS, type Kind, type Note, needsApproval, type Order, type Orders, serverName } from './orders.ts';
import { People } from './people.ts';
import { Replicas, Restarted, type WorldOptions } from './processes.ts';
import { type Round, Truth } from './truth.ts';

/** Calls of each client in a round; each has a tool of its own. */
const CALLS = 30;
const CLIENTS = 4;
const RULES: Rule[] = [
  { tool: 'asked*', action: 'require_approval' },
  { tool: 'both*', action: 'require_approval' },
  { tool: '*', action: 'allow' },
];
const SHARES: Record<Kind, number> = { asked: 10, both: 4, keyed: 5, once: 3, checked: 2 };
const MANNERS: Manner[] = ['quick', 'quick', 'slow', 'slow', 'slow', 'dies first', 'dies after', 'served'];
/** At most, before the quiet. */
export interface Kills {
  replicas: number;
  toolServer: number;
  clients: number;
}
/** On average, between two of them. */
const PAUSES_MS: Kills = { replicas: 300, toolServer: 60, clients: 20 };
/** A call of a process that has ended is given up within 10 s; the rest is for a busy machine. */
const QUIET_MS = 90_000;

export interface RoundFound {
  violations: string[];
  tasks: number;
  unknown: number;
  runs: number;
}

export class TaskWorld {
  readonly #seed: number;
  readonly #chance: () => number;
  readonly #folder = newDataDir();
  readonly #replicas: Replicas;
  readonly #people: People;
  readonly #names: string[];
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
    this.#names = Array.from({ length: CALLS * CLIENTS }, (_, index) => `${this.#kind()}${index}`);
  }

  get kills(): Kills {
    return {
      replicas: this.#replicas.kills,
      toolServer: this.#toolKills,
      clients: this.#clientKills,
    };
  }

  async close(): Promise<void> {
    await this.#people.end();
    await this.#replicas.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The eras of the tool server take turns. */
  async round(kills: Kills): Promise<RoundFound> {
    const number = this.#rounds++;
    const service = this.#replicas.services[0] as TestService;
    const port = await freePort();
    const ledger = join(this.#folder, `ledger-${number}`);
    const era = number % 2 === 0 ? 'modern' : 'legacy';
    const toolServer = new Restarted('tool-server.ts', [String(port), ledger, era, this.#names.join(',')]);
    const { key, keyId } = await service.newKey(RULES);
    const other = await service.newKey(RULES);
    await until('the tool server listens', () =>
      fetch(`http://127.0.0.1:${port}`).then(Boolean, () => false),
    );
    await connect(service, keyId, serverName, `http://127.0.0.1:${port}/mcp`);
    const session = (await service.json('POST', '/v1/sessions', key, {})).body;
    const sibling = (await service.json('POST', '/v1/sessions', key, {})).body;
    const tokens = new Map([
      ['key', key],
      [session.id as string, session.token as string],
    ]);
    const files = Array.from({ length: CLIENTS }, (_, at) =>
      this.#ordersOf(number, at, [...tokens.values()]),
    );
    const clients = files.map(({ file, notes }) => new Restarted('client.ts', [file, notes]));
    await this.#killAll(kills, toolServer, clients);
    const round = () => ({
      keyId,
      tokens,
      strangers: [other.key, sibling.token as string],
      orders: files.flatMap(({ orders }) => orders),
      notes: files.flatMap(({ notes }) => linesOf<Note>(notes)),
      runs: linesOf<Run>(ledger),
    });
    const late = await this.#settled(clients, round);
    for (const each of [...clients, toolServer]) await each.end();
    this.#toolKills += toolServer.kills;
    this.#clientKills += clients.reduce((sum, client) => sum + client.kills, 0);
    const truth = await new Truth(round()).recorded(this.#replicas.databaseUrl);
    await truth.told(this.#replicas.services);
    const { violations, tasks, unknown } = truth;
    return { violations: [...late, ...violations], tasks, unknown, runs: linesOf(ledger).length };
  }

  #kind(): Kind {
    const total = KINDS.reduce((sum, kind) => sum + SHARES[kind], 0);
    let left = this.#chance() * total;
    for (const kind of KINDS) {
      left -= SHARES[kind];
      if (left < 0) return kind;
    }
    return 'asked';
  }

  #ordersOf(
    round: number,
    client: number,
    tokens: string[],
  ): { file: string; notes: string; orders: Order[] } {
    const file = join(this.#folder, `orders-${round}-${client}`);
    const names = this.#names.slice(client * CALLS, (client + 1) * CALLS);
    const orders = names.map(tool => this.#order(tool, `${round}-${tool}`));
    const told: Orders = {
      urls: this.#replicas.urls,
      token: tokens[client % tokens.length] as string,
      seed: this.#seed * 1000 + round * CLIENTS + client,
      orders,
    };
    writeFileSync(file, JSON.stringify(told));
    return { file, notes: `${file}-notes`, orders };
  }

  #order(tool: string, n: string): Order {
    const kind = tool.replace(/\d+$/, '') as Kind;
    const manner = MANNERS[Math.floor(this.#chance() * MANNERS.length)] as Manner;
    const ms = Math.floor(this.#chance() * 150);
    const order: Order = { kind, tool, args: { n, manner, ms }, cancels: false, repeats: false };
    if (!needsApproval(order)) return order;
    return { ...order, cancels: this.#chance() < 0.1, repeats: this.#chance() < 0.3 };
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
  async #settled(clients: readonly Restarted[], round: () => Round): Promise<string[]> {
    this.#people.isThorough = true;
    const isQuiet = async () => {
      const truth = await new Truth(round()).recorded(this.#replicas.databaseUrl);
      return truth.isQuiet(this.#replicas.services[0] as TestService);
    };
    try {
      await until('the clients have ended', () => clients.every(client => client.isOver), QUIET_MS);
      await until('nothing is under way', isQuiet, QUIET_MS);
      return [];
    } catch (error) {
      return [(error as Error).message];
    } finally {
      this.#people.isThorough = false;
    }
  }
}
