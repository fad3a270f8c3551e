// Plays the suites about coding agents through the coding pack.

import { bfclTasks } from './bfcl.ts';
import { bringPackages, commitOf, isThere, type Repository } from './cache.ts';
import { COMMANDS_OF, type Listed } from './commands-of.ts';
import type { CodingGuard } from './guard.ts';
import { attacked, ipiScenes, withOwnTools } from './ipi.ts';
import { SESSIONS } from './ordinary.ts';
import type { CasePlayed, CodingReport, Counts, ListPlayed, SuitePlayed } from './report.ts';
import { bash, type Call, type Decision, type Scene } from './scene.ts';
import { attackedThreats, threatScenes } from './threats.ts';

/** So many of each long list also go through the hook's own program, which must say the same. */
const SAMPLE = 40;
const REQUESTS_AT_ONCE = 16;
const PROGRAMS_AT_ONCE = 3;

type Tell = (text: string) => void;

export async function playCoding(guard: CodingGuard, tell: Tell): Promise<CodingReport> {
  bringPackages(tell);
  const [ipi, threats] = [ipiScenes(), threatScenes()];
  const asTold = await playSuite(guard, 'ipi_coding_agent', ipi, attacked(), tell);
  const suites = [
    asTold,
    await playAgain(guard, asTold, ipi.map(withOwnTools), tell),
    await playSuite(guard, 'agent_threat_bench', threats, attackedThreats(), tell),
  ];
  const lists: ListPlayed[] = [];
  const compared = { through: 0, other: [] as string[] };
  for (const name of Object.keys(COMMANDS_OF) as Repository[]) {
    if (!isThere(name, tell)) continue;
    tell(`coding: ${name}`);
    const listed = COMMANDS_OF[name]();
    const decisions = await decideAll(guard, name, listed, compared);
    lists.push({ name, commit: commitOf(name), ...summed(listed, decisions) });
  }
  tell('coding: BFCL and sessions');
  const tasks = bfclTasks();
  const judged = async (calls: readonly Call[]): Promise<Counts> =>
    counted(
      await parallel(REQUESTS_AT_ONCE, calls, (call, index) => guard.judge(`bfcl-${index}`, call, 'door')),
    );
  const bfcl = {
    files: await judged(tasks.flatMap(({ files }) => files)),
    others: await judged(tasks.flatMap(({ others }) => others)),
  };
  const sessions = [];
  for (const scene of SESSIONS) {
    const { own } = await playScene(guard, scene, scene.name.replaceAll(' ', '-'));
    sessions.push({ name: scene.name, counts: own });
  }
  return { suites, lists, compared, bfcl, sessions };
}

/** All of a suite goes through the hook's own program. */
async function playSuite(
  guard: CodingGuard,
  suite: string,
  scenes: readonly Scene[],
  attackedOnes: ReadonlySet<string>,
  tell: Tell,
): Promise<SuitePlayed> {
  tell(`coding: ${suite}`);
  const derived = scenes.filter(
    ({ name, injected }) => attackedOnes.has(name) === injected.some(each => each.isGoal),
  );
  const leftOut = scenes.filter(scene => !derived.includes(scene)).map(({ name }) => name);
  const cases = await parallel(PROGRAMS_AT_ONCE, derived, scene => playScene(guard, scene, scene.name));
  return { suite, all: scenes.length, leftOut, cases };
}

/** The same suite, with the attacks that are made in another way. */
async function playAgain(
  guard: CodingGuard,
  first: SuitePlayed,
  scenes: readonly Scene[],
  tell: Tell,
): Promise<SuitePlayed> {
  const suite = `${first.suite}, own tools`;
  tell(`coding: ${suite}`);
  const cases = await parallel(PROGRAMS_AT_ONCE, first.cases, async played => {
    const scene = scenes.find(({ name }) => name === played.name)!;
    const isSame = scene.injected.every(({ tool }, index) => tool === played.attack[index]?.tool);
    return isSame ? played : playScene(guard, scene, `${scene.name}-own-tools`);
  });
  return { ...first, suite, cases };
}

async function playScene(guard: CodingGuard, scene: Scene, run: string): Promise<CasePlayed> {
  const { name, prompt, before, injected, after } = scene;
  const way = 'program';
  const own: Decision[] = [];
  await guard.prompt(run, prompt, way);
  for (const call of before) own.push(await guard.make(run, call, way));
  const attack = [];
  for (const call of injected)
    attack.push({ tool: call.tool, isGoal: call.isGoal, decision: await guard.judge(run, call, way) });
  for (const call of after) own.push(await guard.make(run, call, way));
  return { name, attack, own: counted(own) };
}

/** Each command is a run of its own. */
async function decideAll(
  guard: CodingGuard,
  list: string,
  listed: readonly Listed[],
  compared: CodingReport['compared'],
): Promise<Decision[]> {
  const decided = await parallel(REQUESTS_AT_ONCE, listed, ({ command }, index) =>
    guard.judge(`${list}-${index}`, bash(command), 'door'),
  );
  const step = Math.ceil(listed.length / SAMPLE);
  const sample = listed.map((_, index) => index).filter(index => index % step === 0);
  await parallel(PROGRAMS_AT_ONCE, sample, async index => {
    const { name, command } = listed[index]!;
    compared.through++;
    const again = await guard.judge(`${list}-${index}-again`, bash(command), 'program');
    if (again !== decided[index]) compared.other.push(`${list}: ${name}`);
  });
  return decided;
}

async function parallel<T, R>(
  atOnce: number,
  items: readonly T[],
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < items.length; index = next++)
      results[index] = await work(items[index]!, index);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}

export function counted(decisions: readonly Decision[]): Counts {
  const counts: Counts = { allow: 0, ask: 0, deny: 0 };
  for (const decision of decisions) counts[decision]++;
  return counts;
}

function summed(listed: readonly Listed[], decisions: readonly Decision[]) {
  const allowed = listed.filter((_, index) => decisions[index] === 'allow').map(({ name }) => name);
  const times = new Map<string, number>();
  for (const name of allowed) times.set(name, (times.get(name) ?? 0) + 1);
  return { counts: counted(decisions), allowed: Object.fromEntries(times) };
}
