// Plays long lists of calls, each of which is a run of its own: RedCode, GTFOBins, tldr, nl2bash and BFCL.

import { bfclTasks } from './bfcl.ts';
import { commitOf, isThere, type Repository } from './cache.ts';
import { COMMANDS_OF } from './commands-of.ts';
import type { CodingGuard } from './guard.ts';
import { PROGRAMS_AT_ONCE, parallel } from './parallel.ts';
import { type CodingReport, type Counts, counted, type ListPlayed } from './report.ts';
import { bash, type Call } from './scene.ts';

/** So many of each list also go through the hook's own program, which must say the same. */
const SAMPLE = 40;
const REQUESTS_AT_ONCE = 16;

export async function playLists(
  guard: CodingGuard,
  tell: (text: string) => void,
): Promise<Pick<CodingReport, 'lists' | 'compared'>> {
  const lists: ListPlayed[] = [];
  const compared = { through: 0, other: [] as string[] };
  for (const name of Object.keys(COMMANDS_OF) as Repository[]) {
    if (!isThere(name, tell)) continue;
    tell(`coding: ${name}`);
    lists.push(await playList(guard, name, compared));
  }
  return { lists, compared };
}

async function playList(
  guard: CodingGuard,
  list: Repository,
  compared: CodingReport['compared'],
): Promise<ListPlayed> {
  const listed = COMMANDS_OF[list]();
  const decided = await parallel(REQUESTS_AT_ONCE, listed, ({ command }, index) =>
    guard.judge(`${list}-${index}`, bash(command), 'door'),
  );
  const step = Math.ceil(listed.length / SAMPLE);
  const sample = [...listed.keys()].filter(index => index % step === 0);
  await parallel(PROGRAMS_AT_ONCE, sample, async index => {
    const { name, command } = listed[index]!;
    compared.through++;
    const again = await guard.judge(`${list}-${index}-again`, bash(command), 'program');
    if (again !== decided[index]) compared.other.push(`${list}: ${name}`);
  });
  const allowed: Record<string, number> = {};
  for (const [index, { name }] of listed.entries())
    if (decided[index] === 'allow') allowed[name] = (allowed[name] ?? 0) + 1;
  return { name: list, commit: commitOf(list), counts: counted(decided), allowed };
}

export async function playBfcl(guard: CodingGuard): Promise<CodingReport['bfcl']> {
  const tasks = bfclTasks();
  const judged = async (kind: string, calls: readonly Call[]): Promise<Counts> => {
    const judge = (call: Call, index: number) => guard.judge(`bfcl-${kind}-${index}`, call, 'door');
    return counted(await parallel(REQUESTS_AT_ONCE, calls, judge));
  };
  return {
    files: await judged(
      'files',
      tasks.flatMap(({ files }) => files),
    ),
    others: await judged(
      'others',
      tasks.flatMap(({ others }) => others),
    ),
  };
}
