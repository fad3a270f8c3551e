// npm run bench:count: how many instructions a check takes, counted by Valgrind. Unlike times, they do not depend on what
// else the machine does. With --check it fails if a check has grown since bench/counts.json was written.
// Its exit code is then 3; any other failure means that nothing could be counted, which says nothing about the check.

import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { parseArgs } from 'node:util';
import { CASES, type Case, countCases } from './count/cases.ts';
import { compare, judge, MAY_GROW, type Reference } from './count/compare.ts';
import type { Place } from './service.ts';

const FILE = path.join(import.meta.dirname, 'counts.json');
const RUNTIME = `bun ${Bun.version} on ${process.arch}`;
/** What --check counts: the rest takes minutes. */
const CHECKED = ['check'];
const UNCOUNTED = 2;
const GROWN = 3;
/** For each case, which takes one minute, and three beside other work on all cores. */
const WITHIN_MS = 8 * 60_000;

const USAGE = `Usage: npm run bench:count -- [options]

  --only <names>  only these, by comma: ${CASES.map(({ name }) => name).join(', ')}
  --check         count only ${CHECKED.join(' and ')}, and fail if it has grown by more than ${MAY_GROW * 100} %
  --update        write the counts into bench/counts.json, as the new reference
  --help          print this
`;

interface Options {
  only?: string | undefined;
  check: boolean;
  update: boolean;
  help: boolean;
}

function readOptions(): Options {
  return parseArgs({
    options: {
      only: { type: 'string' },
      check: { type: 'boolean', default: false },
      update: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  }).values;
}

async function main(): Promise<number> {
  const values = readOptions();
  const cases = chosen(values);
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  if (Bun.which('valgrind') === null) {
    console.error('*** Valgrind is not installed: no instructions were counted. ***');
    return UNCOUNTED;
  }
  const reference = JSON.parse(fs.readFileSync(FILE, 'utf8')) as Reference;
  if (values.check && reference.runtime !== RUNTIME) {
    console.error(
      `*** bench/counts.json is for ${reference.runtime}, and this is ${RUNTIME}: run npm run bench:count -- --update. ***`,
    );
    return process.arch === 'x64' ? GROWN : UNCOUNTED;
  }
  const counts = await countAll(cases).catch((error: Error) => {
    console.error(`*** The instructions could not be counted. *** ${error.message}`);
  });
  if (counts === undefined) return UNCOUNTED;
  const compared = compare(counts, reference);
  console.log(table(counts));
  if (values.update) {
    const kept = reference.runtime === RUNTIME ? reference.counts : {};
    const updated: Reference = { runtime: RUNTIME, counts: { ...kept, ...counts } };
    fs.writeFileSync(FILE, `${JSON.stringify(updated, null, 2)}\n`);
    return 0;
  }
  const { failed, told } = judge(compared);
  for (const sentence of told) console.log(sentence);
  return values.check && failed ? GROWN : 0;
}

function chosen({ check, only }: Options): Case[] {
  const wanted = check ? CHECKED : (only?.split(',') ?? CASES.map(({ name }) => name));
  const unknown = wanted.find(name => !CASES.some(each => each.name === name));
  if (unknown !== undefined) throw new Error(`There is no case "${unknown}"\n\n${USAGE}`);
  return CASES.filter(({ name }) => wanted.includes(name));
}

async function countAll(cases: Case[]): Promise<Record<string, number>> {
  await using resources = new AsyncDisposableStack();
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => resources.disposeAsync().finally(() => process.exit(130)));
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'toolgate-count-'));
  resources.defer(() => fs.rmSync(folder, { recursive: true, force: true }));
  const place: Place = { folder, resources, postgres: null, tell: text => console.error(text) };
  const limit = Promise.withResolvers<never>();
  const late = () => limit.reject(new Error('It took too long.'));
  const counts: Record<string, number> = {};
  for (const server of new Set(cases.map(each => each.server))) {
    const shared = cases.filter(each => each.server === server);
    const timer = setTimeout(late, WITHIN_MS * shared.length);
    Object.assign(counts, await Promise.race([countCases(shared, place), limit.promise]));
    clearTimeout(timer);
  }
  return counts;
}

function table(counts: Record<string, number>): string {
  const count = (number: number) => number.toLocaleString('en').padStart(9);
  const plain = counts['check'];
  const lines = CASES.filter(({ name }) => name in counts).map(({ name, label }) => {
    const added = plain === undefined ? '' : ((counts[name] as number) - plain).toLocaleString('en');
    return `${count(counts[name] as number)}  ${added.padStart(8)}  ${label}`;
  });
  return ['Instructions per request, and beyond a check with everything off:', ...lines].join('\n');
}

process.exit(
  await main().catch((error: Error) => {
    console.error(error.message);
    return 1;
  }),
);
