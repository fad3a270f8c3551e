// P6: what has expired stays expired, whatever the machine's clock does. Sessions, keys, approval links, grants and
// sign-ins, on a clock that jumps by up to a day in both directions: none is accepted once its time was over, by
// the clock or by the time that passed; and one whose time is not over is. The mutants take the machine's clock as
// it comes, and forget that sessions end.

import { afterAll, expect, test } from 'bun:test';
import { ASK_ALL, type Gate, openGate } from '../approvals/gate.ts';
import { newPerson, send, signedIn } from '../operators/people.ts';
import { canCompile, SettableClock } from '../support/clock.ts';
import { figures, random, SEED, until, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG, need } from '../support/need.ts';
import type { Engine, TestService } from '../support/service.ts';
import { enginesWhenChanged, whenChanged } from '../support/when-changed.ts';

const ROUNDS = LONG ? 10 : 1;
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const LIFE_MINUTES = 60;
const PATIENCE_MS = 15_000;
const MOST_TRIES = 10;
const CLOCKED = need(canCompile(), 'cc, a compiler for the clock');
const clock = CLOCKED ? new SettableClock() : null;
afterAll(() => clock?.close());

const MUTANTS: Record<string, Patch> = {
  'that takes the clock as it comes': {
    file: 'src/main.ts',
    find: 'print, now = clockOf(log) }',
    replace: 'print, now = log.warn !== undefined ? Date.now : clockOf(log) }',
  },
  'whose sessions do not end': {
    file: 'src/guard/check/facts.ts',
    find: 'session.revokedAt !== null || session.expiresAt <= now) return null;',
    replace: 'session.revokedAt !== null) return null;',
  },
};

/** A day, give or take: more than anything lives, sign-ins included. */
const DAY = (chance: () => number) => Math.floor((20 + 4 * chance()) * HOUR);

type Step = { does: 'jump' | 'pass'; by: (chance: () => number) => number; leaves: 'alive' | 'dead' };
const forward = (leaves: Step['leaves']): Step => ({ does: 'jump', by: DAY, leaves });
const back = (leaves: Step['leaves']): Step => ({ does: 'jump', by: chance => -DAY(chance), leaves });
const aWhile: Step = { does: 'pass', by: () => 20 * MINUTE, leaves: 'alive' };
const tooLong: Step = { does: 'pass', by: () => 13 * HOUR, leaves: 'dead' };

/** What happens to the clock after everything was handed out, and what must hold after each step; in this order. */
const STORIES: Step[][] = [
  [forward('dead'), back('dead'), back('dead')],
  [back('alive'), aWhile, tooLong, back('dead')],
  [aWhile, back('alive'), back('alive'), tooLong],
  [back('alive'), { does: 'jump', by: () => 30, leaves: 'alive' }, tooLong, forward('dead'), back('dead')],
];

for (const engine of await enginesWhenChanged(
  'src/store/**',
  'src/guard/**',
  'src/clock.ts',
  'src/main.ts',
)) {
  test.skipIf(!CLOCKED)(`${engine}: nothing lives longer because the clock jumps`, async () => {
    const found = await measure(engine, ROUNDS);
    expect(found).toMatchObject({ accepted: [], refused: [] });
  });

  // The clock is the same for both engines, and a quick form has no time to waste.
  if (engine === 'postgres' && !LONG) continue;
  for (const [what, patch] of Object.entries(MUTANTS)) {
    whenChanged(patch).skipIf(!CLOCKED)(`${engine}: a mutant ${what} is found out`, async () => {
      const found = await withMutant([patch], async root => (await measure(engine, 1, root)).accepted.length);
      expect(found).toBeGreaterThan(0);
    });
  }
}

/** Something that ends by itself, and whether it is still good. */
interface Mortal {
  kind: string;
  lives: () => Promise<boolean>;
}

async function measure(engine: Engine, rounds: number, root?: string): Promise<Found> {
  const chance = random(SEED);
  const found: Found = { operations: 0, faults: 0, accepted: [], refused: [] };
  for (let round = 0; round < rounds; round++) await measureStart(engine, chance, found, root);
  const { operations, faults, accepted, refused } = found;
  figures(`P6 ${engine}${root ? ' mutant' : ''}`, {
    seed: SEED,
    operations,
    faults,
    refusedEarly: refused.length,
    violations: accepted.length,
  });
  return found;
}

/** From a start on, when the service goes by the machine's clock; later it may be ahead, and a jump only sets it right. */
async function measureStart(
  engine: Engine,
  chance: () => number,
  found: Found,
  root?: string,
): Promise<void> {
  const env = { ...clock!.env, TOOLGATE_APPROVAL_TIMEOUT: `${LIFE_MINUTES}m` };
  const gate = await openGate({ engine, env, ...(root && { root }) });
  askAgain(gate.service);
  try {
    const { email } = await newPerson(gate.service, 'viewer');
    for (const story of STORIES) {
      await live(gate, email, story, chance, found);
      if (root && found.accepted.length > 0) break;
    }
  } finally {
    // How it stops on such a clock is not what is measured.
    await gate.service.kill('SIGKILL');
    await gate.close();
  }
}

interface Found {
  operations: number;
  faults: number;
  accepted: string[];
  refused: string[];
}

async function live(
  gate: Gate,
  email: string,
  story: Step[],
  chance: () => number,
  found: Found,
): Promise<void> {
  const mortals = await handOut(gate, email);
  for (const [index, { does, by, leaves }] of story.entries()) {
    const seconds = by(chance);
    clock![does](seconds);
    found.faults++;
    await reachable(gate);
    for (const { kind, lives } of mortals) {
      const alive = await lives();
      found.operations++;
      const told = `${kind}, step ${index} of ${story.map(each => each.leaves).join(', ')} (${does} ${seconds} s)`;
      if (alive && leaves === 'dead') found.accepted.push(told);
      if (!alive && leaves === 'alive') found.refused.push(told);
    }
  }
}

/** A request that meets the moment at which hours pass may be lost with its connection; it is sent again. */
function askAgain(service: TestService): void {
  const once = service.request.bind(service);
  service.request = async (method, path, init = {}) => {
    for (let tries = 1; ; tries++) {
      const limits = { keepalive: false, signal: AbortSignal.timeout(PATIENCE_MS) };
      const reply = await once(method, path, { ...init, ...limits }).catch(error => {
        if (tries === MOST_TRIES) throw error;
        return null;
      });
      if (reply !== null) return reply;
    }
  };
}

/** Time that passes ends idle connections, also those that the test was about to use. */
async function reachable({ service }: Gate): Promise<void> {
  const healthy = () => service.request('GET', '/healthz').then(reply => reply.status === 200);
  await until('the service answers', () => healthy().catch(() => false));
}

/** One of each kind, all of the same age; by the clock of the service, which may be ahead of the machine's. */
async function handOut(gate: Gate, email: string): Promise<Mortal[]> {
  const { service } = gate;
  const allow = [{ tool: '*', action: 'allow' as const }];
  const { key } = await service.newKey(allow);
  const session = (await service.json('POST', '/v1/sessions', key, { ttlMinutes: LIFE_MINUTES })).body;
  const dying = (await service.newKey(allow, { expiresAt: session.expiresAt })).key;
  const asking = await gate.key(ASK_ALL);
  const link = await gate.ask(asking, 'link');
  await gate.approve((await gate.ask(asking, 'granted')).token, `${LIFE_MINUTES}m`);
  const cookie = await signedIn(service, email);
  const allowed = async (token: string, tool: string) =>
    (await service.check(token, 'prod', tool)).body.decision === 'allow';
  return [
    { kind: 'a session', lives: () => allowed(session.token, 'any') },
    { kind: 'a key', lives: () => allowed(dying, 'any') },
    { kind: 'an approval link', lives: async () => (await gate.open(link.token)).status === 200 },
    { kind: 'a grant', lives: () => allowed(asking, 'granted') },
    {
      kind: 'a sign-in',
      lives: async () => (await send(service, 'GET', '/admin/v1/me', { cookie })).status === 200,
    },
  ];
}
