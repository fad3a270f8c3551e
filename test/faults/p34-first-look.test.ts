// P34: no call is allowed on a definition that nobody has accepted, while a server changes its tool and an operator accepts it
// at the same moment, on any of two replicas. What was sent, answered and accepted is kept in the order of one clock, and
// compared afterwards: from the moment when a list with the new definition was answered until somebody begins to accept that
// very definition, nothing that was sent is allowed. Every answer has one entry. The mutants accept whatever the server
// shows by then, and remember what was accepted.

import { expect, test } from 'bun:test';
import { Reviewing, type Server, tool } from '../mcp/reviewing.ts';
import { figures, random, SEED, sql, until, withMutant } from '../support/faults.ts';
import { type Answer, startLoad } from '../support/load.ts';
import { callOf, hasRun } from '../support/mcp.ts';
import type { Patch } from '../support/mutant.ts';
import { type Engine, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged, sized, whenChanged } from '../support/when-changed.ts';

const ROUNDS = sized(200, 20, 5);
/** When the operator accepts what was there before the change, in turn: at once with it, and surely before and after it. */
const WHEN = ['as the list is asked for', 'as it is shown', 'after', 'before'] as const;
type When = (typeof WHEN)[number];
/** At most; a mutant's run ends with its first violation. */
const MUTANT_ROUNDS = 100;
const CONNECTIONS = 4;
/** So many answers each replica gives before the next thing happens. */
const MEANWHILE = 3 * CONNECTIONS;

const ACCEPTS_UNSEEN: Patch = {
  file: 'src/guard/tool-servers/accept.ts',
  find: 'await acceptDefinitions(tx, sourceId, tools, {',
  replace: `await acceptDefinitions(tx, sourceId, await Promise.all(tools.map(async ({ name }) => {
      const pin = await findPin(tx, sourceId, name);
      return { name, digest: pin?.changedDigest ?? pin?.digest ?? '' };
    })), {`,
};
const REMEMBERS: Patch = {
  file: 'src/guard/check/held.ts',
  find: 'if (why !== null) held.set(request, why);',
  replace:
    'const all = ((globalThis as any).accepted ??= new Set()); if (why === null) all.add(present.tool);\n    if (why !== null && !all.has(present.tool)) held.set(request, why);',
};

for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/**')) {
  for (const whose of ['one key', 'all keys'] as const)
    test(`${engine}: nothing is allowed between a change and its acceptance, of a server of ${whose}`, async () => {
      const found = await measure(engine, ROUNDS, whose);
      expect(found).toMatchObject({ rounds: ROUNDS, violations: 0 });
      expect([found.accepted > 0, found.refused > 0]).toEqual([true, true]);
    });

  for (const [what, patch] of Object.entries({ ACCEPTS_UNSEEN, REMEMBERS }))
    whenChanged(patch)(
      `${engine}: a mutant that ${what.toLowerCase().replace('_', ' ')} is found out`,
      async () => {
        const { violations } = await withMutant([patch], root =>
          measure(engine, MUTANT_ROUNDS, 'all keys', root),
        );
        expect(violations).toBeGreaterThan(0);
      },
    );
}

async function measure(engine: Engine, rounds: number, whose: 'one key' | 'all keys', root?: string) {
  const first = await startService({ engine, ...(root && { root }) });
  const services = [first];
  if (engine === 'postgres')
    services.push(await startService({ databaseUrl: first.databaseUrl, ...(root && { root }) }));
  try {
    const race = await Race.start(services, whose);
    const found = await race.run(rounds, root !== undefined);
    const where = engine === 'sqlite' ? 'sqlite' : 'two on postgres';
    figures(`P34 ${where}, a server of ${whose}${root ? ' mutant' : ''}`, {
      operations: found.answers,
      faults: found.rounds,
      ...found,
    });
    return found;
  } finally {
    for (const service of services) await service.close();
  }
}

/** When the tool had a definition that nobody had accepted, beyond doubt. */
interface Unaccepted {
  from: number;
  to: number;
}

class Race {
  readonly #services: TestService[];
  readonly #world: Reviewing;
  readonly #server: Server;
  readonly #random = random(SEED);
  readonly #answers: { service: TestService; answer: Answer }[] = [];
  readonly #unaccepted: Unaccepted[] = [];
  #version = 0;

  private constructor(services: TestService[], world: Reviewing, server: Server) {
    this.#services = services;
    this.#world = world;
    this.#server = server;
  }

  static async start(services: TestService[], whose: 'one key' | 'all keys'): Promise<Race> {
    const world = await Reviewing.start(services[0] as TestService);
    const tools = [tool('a')];
    const server =
      whose === 'one key'
        ? await world.connect('up', tools, 'reviewed')
        : await world.connectShared('up', tools, 'reviewed');
    return new Race(services, world, server);
  }

  /** The key on one of the replicas. */
  #anywhere(): Reviewing {
    return this.#world.at(this.#services[Math.floor(this.#random() * this.#services.length)] as TestService);
  }

  async run(rounds: number, isMutant: boolean) {
    const loads = this.#services.map(service =>
      startLoad({
        connections: CONNECTIONS,
        url: () => service.url,
        next: () => callOf(this.#world.key, 'up__a'),
        answered: answer => this.#answers.push({ service, answer }),
      }),
    );
    const outcomes = { accepted: 0, refused: 0 };
    let done = 0;
    let seen = (
      await this.#anywhere()
        .tool(this.#server, 'a')
        .catch(() => this.#listed())
    ).digest;
    while (done < rounds && !(isMutant && this.#late() > 0)) {
      const { status } = await this.#changeAndAccept(seen, WHEN[done % WHEN.length] as When);
      outcomes[status === 204 ? 'accepted' : 'refused']++;
      const from = performance.now();
      await this.#meanwhile(from);
      ({ digest: seen } = await this.#anywhere().tool(this.#server, 'a'));
      this.#unaccepted.push({ from, to: performance.now() });
      // Whoever has looked at the change accepts it now, or only while the next one comes.
      if (this.#random() < 0.5) await this.#accepted(seen);
      done++;
    }
    await Promise.all(loads.map(load => load.stop()));
    const answers = this.#answers.length;
    const [entries] = await sql<{ n: number }>(
      this.#world.service.databaseUrl,
      `SELECT count(*) AS n FROM audit WHERE key_id = '${this.#world.keyId}'`,
    );
    await this.#world.end();
    const unrecorded = Math.abs(Number(entries?.n) - answers);
    const late = this.#late();
    return { rounds: done, answers, ...outcomes, late, unrecorded, violations: late + unrecorded };
  }

  async #listed() {
    await this.#world.ask(this.#server);
    return this.#world.tool(this.#server, 'a');
  }

  /** The server changes the tool, and an operator accepts the definition of before. */
  async #changeAndAccept(digest: string, when: When): Promise<{ status: number }> {
    const accept = () => this.#anywhere().accept(this.#server, [{ name: 'a', digest }]);
    const before = when === 'before' ? await accept() : null;
    const title = `Version ${++this.#version}`;
    const shown = Promise.withResolvers<void>();
    this.#server.upstream.options.others['tools/list'] = () => {
      setImmediate(shown.resolve);
      return { tools: [tool('a', { title })] };
    };
    const list = () => this.#anywhere().ask(this.#server);
    const listed = list();
    const meanwhile = when === 'as the list is asked for' ? accept() : null;
    const answered = when === 'as it is shown' ? Promise.race([shown.promise, listed]).then(accept) : null;
    // A list that was under way before may still have the definition before.
    await listed;
    while ((await this.#anywhere().tool(this.#server, 'a')).definition.title !== title) await list();
    return before ?? (await meanwhile) ?? (await answered) ?? accept();
  }

  async #accepted(digest: string): Promise<void> {
    const { status } = await this.#anywhere().accept(this.#server, [{ name: 'a', digest }]);
    expect(status).toBe(204);
    const from = performance.now();
    await until('calls are allowed again', () =>
      this.#services.every(service =>
        this.#answers.some(
          each => each.service === service && each.answer.sentAt > from && hasRun(each.answer),
        ),
      ),
    );
  }

  async #meanwhile(from: number): Promise<void> {
    const after = (service: TestService) =>
      this.#answers.filter(each => each.service === service && each.answer.sentAt > from).length;
    await until('answers after the change', () => this.#services.every(each => after(each) > MEANWHILE));
  }

  #late(): number {
    return this.#answers.filter(
      ({ answer }) =>
        hasRun(answer) &&
        this.#unaccepted.some(({ from, to }) => answer.sentAt > from && answer.receivedAt < to),
    ).length;
  }
}
