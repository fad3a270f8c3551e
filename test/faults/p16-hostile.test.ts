// P16: hostile input never stalls good clients. While hundreds of senders trickle, and others send what is huge,
// deep, garbage or ambiguous, a good client goes on asking and gets every answer; nothing hidden in a message is
// taken for a request, nothing malformed is accepted or fails inside, the process lives and its memory stays
// bounded. The mutants read bodies of any size, of any depth, and slowly.

import { expect } from 'bun:test';
import { readFileSync } from 'node:fs';
import { figures, inTime, sql, until, withMutant } from '../support/faults.ts';
import { type Answers, HIDDEN_TOOL, startHostile } from '../support/hostile.ts';
import { ANSWERED_WITHIN_MS, type Answer, isLate, startLoad, took } from '../support/load.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG } from '../support/need.ts';
import { type Engine, engines, startService, type TestService } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';

const SLOW = LONG ? 500 : 100;
/** Among more of them, too few of the other messages arrive while a mutant is attacked. */
const MUTANT_SLOW = 100;
const ATTACK_MS = LONG ? 20_000 : 2500;
const MUTANT_ATTACK_MS = 2500;
const GOOD_CLIENTS = 4;
/** What the service may grow by: the bodies under way, and what a collector has not yet taken. */
const MEMORY = 700 * 1024 * 1024;
/** Valid, however unkind. */
/** What reads them. */
const READERS = ['src/http/serving/**', 'src/core/wire/**', 'src/guard/check/**'];
const FAIR = ['manyKeys', 'longNumber', 'escapes'];

const MUTANTS: Record<string, Patch[]> = {
  'that reads bodies of any size': [
    { file: 'src/http/serving/body.ts', find: 'if (length > limit) throw tooLarge(limit);', replace: '' },
    { file: 'src/http/serving/body.ts', find: 'if (size > limit) throw tooLarge(limit);', replace: '' },
  ],
  'that reads bodies of any depth': [
    {
      file: 'src/core/wire/json-parser.ts',
      find: 'const MAX_DEPTH = 64;',
      replace: 'const MAX_DEPTH = 1e9;',
    },
  ],
  'that is slow on many keys': [
    {
      file: 'src/core/wire/json.ts',
      find: 'const { depth, members, plainNumbers } = scan(text, maxValues);',
      replace: `const { depth, members, plainNumbers } = scan(text, maxValues);
  if (members > 10_000) for (const end = performance.now() + 8000; performance.now() < end; );`,
    },
  ],
};

// What is hostile is refused before any engine has to do with it.
for (const engine of LONG ? await engines() : (['sqlite'] as const)) {
  whenChanged(...READERS)(`${engine}: good clients are answered, whatever others send`, async () => {
    const found = await inTime(() => measure(engine));
    expect(found.faults).toEqual([]);
    expect(found.operations).toBeGreaterThan(GOOD_CLIENTS);
  });
}

for (const [what, patches] of Object.entries(MUTANTS)) {
  whenChanged(...patches)(`a mutant ${what} is found out`, async () => {
    const found = await withMutant(patches, async root => (await measure('sqlite', root)).faults.length);
    expect(found).toBeGreaterThan(0);
  });
}

async function measure(engine: Engine, root?: string) {
  const service = await startService({ engine, ...(root && { root }) });
  const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
  const good: Answer[] = [];
  const load = startLoad({
    connections: GOOD_CLIENTS,
    url: () => service.url,
    next: () => ({ token: key, body: JSON.stringify({ serverName: 'x', toolName: 'good' }) }),
    answered: answer => good.push(answer),
  });
  const before = memoryOf(service);
  const hostile = startHostile({ url: service.url, key, slow: root ? MUTANT_SLOW : SLOW });
  const grown = (await highestMemory(service, root ? MUTANT_ATTACK_MS : ATTACK_MS)) - before;
  if (root === undefined) await until('good answers', () => good.length > GOOD_CLIENTS);
  const answers = await hostile.stop();
  await load.stop();
  const faults = [
    ...faultsOf(good, load.unanswered),
    ...refusalsMissing(answers),
    ...(await hiddenRequests(service)),
    ...(service.process.exitCode === null ? [] : ['the process ended']),
    ...(grown < MEMORY ? [] : [`memory grew by ${mib(grown)} MiB`]),
  ];
  await service.close();
  const times = good.map(took).sort((a, b) => a - b);
  figures(`P16 ${engine}${root ? ' mutant' : ''}`, {
    operations: good.length,
    faults: Object.values(answers)
      .flatMap(Object.values)
      .reduce((sum, each) => sum + each, 0),
    p99Ms: Math.round(times[Math.floor(times.length * 0.99)] ?? 0),
    grownMiB: mib(grown),
    violations: faults.length,
  });
  return { operations: good.length, faults, late: good.filter(isLate).length };
}

const mib = (bytes: number): number => Math.round(bytes / 1024 / 1024);

function faultsOf(good: Answer[], unanswered: number): string[] {
  const wrong = good.filter(each => each.status !== 200).map(each => `a good client got ${each.text}`);
  const late = good.filter(each => took(each) > ANSWERED_WITHIN_MS);
  const lost = unanswered > 0 ? [`${unanswered} good requests were not answered`] : [];
  return [...wrong, ...late.map(() => 'a good client was answered late'), ...lost];
}

/** Hostile messages are refused as the sender's fault, or cut off. */
function refusalsMissing(answers: Answers): string[] {
  return Object.entries(answers).flatMap(([kind, statuses]) =>
    Object.entries(statuses)
      .filter(([status]) => status.startsWith('5') && status !== '505' && status !== '503')
      .concat(
        FAIR.includes(kind) ? [] : Object.entries(statuses).filter(([status]) => status.startsWith('2')),
      )
      .map(([status, times]) => `${kind} was answered ${status}, ${times} times`),
  );
}

async function hiddenRequests(service: TestService): Promise<string[]> {
  const found = await sql(service.databaseUrl, `SELECT id FROM audit WHERE tool_name = '${HIDDEN_TOOL}'`);
  return found.map(() => 'a hidden request was run');
}

async function highestMemory(service: TestService, forMs: number): Promise<number> {
  let highest = 0;
  for (const end = performance.now() + forMs; performance.now() < end; await Bun.sleep(50))
    highest = Math.max(highest, memoryOf(service));
  return highest;
}

function memoryOf({ process: { pid, exitCode } }: TestService): number {
  if (exitCode !== null) return 0;
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024;
}
