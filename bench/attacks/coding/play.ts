// Plays the suites about coding agents through the coding pack.

import { bringPackages } from './cache.ts';
import type { CodingGuard } from './guard.ts';
import { attacked, granted, ipiScenes, withIssuesOnTheWeb, withOwnTools } from './ipi.ts';
import { playBfcl, playLists } from './lists.ts';
import { SESSIONS } from './ordinary.ts';
import { PROGRAMS_AT_ONCE, parallel } from './parallel.ts';
import { type CasePlayed, type CodingReport, counted, type SuitePlayed } from './report.ts';
import { type Decision, type Scene, whatOf } from './scene.ts';
import { attackedThreats, threatScenes } from './threats.ts';

type Tell = (text: string) => void;

export async function playCoding(guard: CodingGuard, tell: Tell): Promise<CodingReport> {
  bringPackages(tell);
  const [ipi, own] = [ipiScenes(), ipiScenes().map(withOwnTools)];
  const onTheWeb = withIssuesOnTheWeb();
  const asTold = await playSuite(guard, 'ipi_coding_agent', ipi, attacked(), tell);
  const ownTools = await playAgain(guard, 'own tools', [asTold, ipi], own, tell);
  const suites = [
    asTold,
    ownTools,
    await playAgain(guard, 'issues on the web', [ownTools, own], onTheWeb.map(withOwnTools), tell),
    await playAgain(guard, 'granted', [asTold, ipi], ipi.map(granted), tell),
    await playAgain(guard, 'issues on the web, granted', [asTold, ipi], onTheWeb.map(granted), tell),
    await playSuite(guard, 'agent_threat_bench', threatScenes(), attackedThreats(), tell),
  ];
  const lists = await playLists(guard, tell);
  tell('coding: BFCL and sessions');
  const bfcl = await playBfcl(guard);
  const sessions = await parallel(PROGRAMS_AT_ONCE, SESSIONS, async (scene, index) => {
    const { name, own } = await playScene(guard, scene, `session-${index}`);
    return { name, counts: own };
  });
  return { suites, ...lists, bfcl, sessions };
}

/** An attack that is no call, or none that can be found without a model, is left out. */
async function playSuite(
  guard: CodingGuard,
  suite: string,
  scenes: readonly Scene[],
  withAttack: ReadonlySet<string>,
  tell: Tell,
): Promise<SuitePlayed> {
  tell(`coding: ${suite}`);
  const isWhole = ({ name, injected }: Scene) =>
    withAttack.has(name) === injected.some(({ isGoal }) => isGoal);
  const leftOut = scenes.filter(scene => !isWhole(scene)).map(({ name }) => name);
  const play = (scene: Scene) => playScene(guard, scene, scene.name);
  const cases = await parallel(PROGRAMS_AT_ONCE, scenes.filter(isWhole), play);
  return { suite, all: scenes.length, leftOut, cases };
}

/** The same suite in another way: scenes that are as they were are not played again. */
async function playAgain(
  guard: CodingGuard,
  way: string,
  [first, before]: [SuitePlayed, readonly Scene[]],
  scenes: readonly Scene[],
  tell: Tell,
): Promise<SuitePlayed> {
  const suite = `${first.suite}, ${way}`;
  tell(`coding: ${suite}`);
  const cases = await parallel(PROGRAMS_AT_ONCE, first.cases, async played => {
    const named = ({ name }: Scene) => name === played.name;
    const scene = scenes.find(named)!;
    const isSame = Bun.deepEquals(scene, before.find(named));
    return isSame ? played : playScene(guard, scene, `${scene.name}-${way.replaceAll(' ', '-')}`);
  });
  return { ...first, suite, cases };
}

/** Every event goes through the hook's own program. */
async function playScene(guard: CodingGuard, scene: Scene, run: string): Promise<CasePlayed> {
  const { name, prompt, before, injected, after, grants } = scene;
  const own: Decision[] = [];
  await guard.prompt(run, prompt, 'program');
  for (const call of before) own.push(await guard.make(run, call, 'program', grants));
  const attack: CasePlayed['attack'] = [];
  for (const call of injected) {
    const decision = await guard.judge(run, call, 'program');
    attack.push({ tool: call.tool, what: whatOf(call), isGoal: call.isGoal, decision });
  }
  for (const call of after) own.push(await guard.make(run, call, 'program'));
  return { name, attack, own: counted(own) };
}
