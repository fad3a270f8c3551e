// A policy for a coding agent, made from the pack `coding` for the folder of its project.

import { get, post } from '../../api.ts';
import type { Pack, Policy, WholePolicy } from '../../resources.ts';
import { forFolder } from '../policies/pack-folder.ts';
import { renamed } from '../policies/renamed.ts';

/** Makes the policy, with a name that none of the others has. */
export async function makeCodingPolicy(folder: string, others: readonly Policy[]): Promise<WholePolicy> {
  const { packs } = await get<{ packs: Pack[] }>('/packs');
  const pack = packs.find(({ name }) => name === 'coding');
  if (pack === undefined) throw new Error('The service has no pack for coding agents.');
  const about = { name: nameFor(folder, others), description: `What coding agents may do in ${folder}` };
  const text = renamed(forFolder(pack.text, folder), about);
  return post<WholePolicy>('/policies', { text });
}

function nameFor(folder: string, others: readonly Policy[]): string {
  const taken = new Set(others.map(({ name }) => name));
  const name = `coding ${folder.split('/').findLast(part => part !== '') ?? ''}`;
  for (let number = 2; ; number++) {
    const free = number === 2 ? name : `${name} ${number - 1}`;
    if (!taken.has(free)) return free;
  }
}
