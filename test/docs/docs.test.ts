// Every block of every page is run, in order, as a reader would (test/docs/page.ts says how blocks are marked).
// What is not run says why, and the reasons are counted here, so that none is added in passing.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { compile } from '../../scripts/build/bundle.ts';
import { EXTRA_FOLDERS } from '../../scripts/extras.ts';
import { CONFINES } from '../mcp/sandbox/confines.ts';
import { until } from '../support/faults.ts';
import { need, needExtra, PROGRAM } from '../support/need.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { onPath, ROOT } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';
import { consoleSteps, parsePage, type Step } from './page.ts';
import { Printed } from './printed.ts';
import { DATABASE, Reader } from './reader.ts';

const TOOLS = ['bash', 'curl', 'node', 'python3'];
const DOCS = readdirSync(join(ROOT, 'docs'))
  .filter(name => name.endsWith('.md'))
  .map(name => `docs/${name}`);
const EXAMPLES = [
  'examples/README.md',
  ...new Bun.Glob('examples/*/README.md').scanSync({ cwd: ROOT }),
].sort();
const PAGES = [...DOCS, 'README.md', ...EXAMPLES, 'clients/typescript/README.md', 'clients/python/README.md'];
/**
 * These start many programs. They are followed where what they show has changed, the plain loop in any case. In test/docs the
 * packs are tried, and in test/mcp what is forwarded, without them.
 */
const WAITING = /^examples\/(?!plain-loop)|^clients\/|^docs\/(?:packs|mcp)\.md$/;
const whenShown = whenChanged('examples/**', 'clients/**', 'packs/**', 'src/**', 'docs/**');
const INTERPRETERS: Record<string, string> = { ts: 'bun', js: 'node', python: 'python3' };
const ENDINGS: Record<string, string> = { ts: 'ts', js: 'mjs', python: 'py' };

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const postgres = await sharedPostgres();
const folder = mkdtempSync(join(tmpdir(), 'toolgate-executable-'));
/** The one that `npm test` has made already, or one of our own. */
const made = process.env[PROGRAM];
const executable = made ?? join(folder, 'toolgate');
beforeAll(async () => {
  if (made === undefined) await compile(executable);
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.if(need(TOOLS.every(onPath), TOOLS.join(', ')))('the documentation', () => {
  for (const path of PAGES) {
    const text = read(path);
    const extras = EXTRA_FOLDERS.filter(folder => text.includes(`npm ci --prefix ${folder}\``));
    if (path !== 'examples/README.md' && !extras.every(needExtra)) continue;
    if (text.includes(DATABASE) && !need(postgres !== null, 'PostgreSQL')) continue;
    const { steps, after } = parsePage(text);
    if (steps.some(confines) && !CONFINES) continue;
    const before = after === null ? [] : parsePage(read(join(dirname(path), after))).steps;
    const followed = WAITING.test(path) ? whenShown : test;
    if (steps.length > 0) describe(path, () => follow([...before, ...steps], followed));
  }
});

/** Whether the reader declares a command that the kernel has to confine. */
function confines(step: Step): boolean {
  return step.kind === 'file' && /^ +sandbox:/m.test(step.text);
}

function follow(steps: Step[], followed: typeof test): void {
  let reader: Reader;
  const printed = new Printed();
  let last = '';

  beforeAll(async () => {
    if (followed !== test) return;
    const named = steps.some(step => step.text.includes(DATABASE));
    reader = await Reader.begin(executable, (named && (await postgres?.createDatabase())) || DATABASE);
  });
  afterAll(() => reader?.close());

  async function run(step: Extract<Step, { kind: 'run' }>): Promise<void> {
    let commands = step.text;
    const interpreter = INTERPRETERS[step.language];
    if (interpreter !== undefined) {
      const name = `block-${step.line}.${ENDINGS[step.language]}`;
      reader.save(name, step.text);
      commands = `${interpreter} ${name}`;
    }
    const { printed: said, status } = await reader.block(commands);
    expect(status, `${commands}\n${said}`).toBe(0);
    last = said;
  }

  async function converse(text: string): Promise<void> {
    for (const { command, printed: wanted } of consoleSteps(text)) {
      const { printed: said } = await reader.command(printed.here(command));
      const fault = printed.fault(wanted, said);
      if (fault !== null) expect(`$ ${command}\n${said}`).toBe(`$ ${command}\n${fault}`);
      last = said;
    }
  }

  /** JSON is compared as it would be printed for reading; what runs in the background may print around it. */
  function compare(language: string, text: string): void {
    const json = language === 'json' ? firstObject(last) : last;
    const readable = (given: string) => JSON.stringify(JSON.parse(given), null, 2);
    const [wanted, said] = language === 'json' ? [readable(text), readable(json)] : [text, last];
    const fault = printed.fault(wanted, said);
    if (fault !== null) expect(said).toBe(fault);
  }

  async function take(step: Step): Promise<void> {
    if (step.kind === 'nobody') throw new Error(`nobody knows what to do with it: ${step.text}`);
    if (step.kind === 'file') return reader.save(step.name, step.text);
    if (step.kind === 'from') return expect(isPartOf(step.text, read(step.name)), step.text).toBe(true);
    if (step.kind === 'serve') return reader.serve(step.text);
    if (!reader.serving) await reader.serve();
    if (step.kind === 'run') return run(step);
    if (step.kind === 'console') return converse(step.text);
    if (step.kind === 'prints') return compare(step.language, step.text);
    if (step.kind === 'says') return expect(last).toContain(step.text);
    return until(step.text, () => reader.seen.includes(step.text));
  }

  for (const step of steps) {
    const first = step.kind === 'file' || step.kind === 'from' ? step.name : step.text.split('\n')[0];
    followed(`line ${step.line}: ${step.kind} ${first}`, () => take(step));
  }
}

/** Whether whole lines of a file are this text, all of them indented by the same number of blanks more. */
function isPartOf(text: string, file: string): boolean {
  return [0, 2, 4].some(more =>
    `\n${file}`.includes(`\n${text}`.replace(/\n(?=.)/g, `\n${' '.repeat(more)}`)),
  );
}

/** The first object that a text holds, whatever stands around it; the text itself when it holds none. */
function firstObject(text: string): string {
  const from = text.indexOf('{"');
  for (let to = text.indexOf('}', from) + 1; from >= 0 && to > 0; to = text.indexOf('}', to) + 1) {
    try {
      JSON.parse(text.slice(from, to));
      return text.slice(from, to);
    } catch {
      // It ends further on.
    }
  }
  return text;
}

test('what is not run says why', () => {
  expect(EXAMPLES.length).toBeGreaterThan(5);
  const reasons = PAGES.flatMap(path => parsePage(read(path)).notRun.map(why => `${path}: ${why}`));
  for (const reason of reasons) expect(reason.length).toBeGreaterThan(20);
  expect(reasons.length).toBeLessThan(44);
});

test('the list of pages has them all', () => {
  const contents = read('docs/README.md');
  const missing = DOCS.map(path => basename(path)).filter(name => !contents.includes(`(${name})`));
  expect(missing).toEqual(['README.md']);
});

/** How a heading is named in links. */
const anchor = (heading: string) =>
  `#${heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')}`;

function leads(from: string, target: string, fragment: string): boolean {
  const path = target === '' ? from : join(dirname(from), target);
  if (!existsSync(join(ROOT, path))) return false;
  if (fragment === '') return true;
  return [...read(path).matchAll(/^#+ (.+)$/gm)].some(([, heading = '']) => anchor(heading) === fragment);
}

test('links between pages lead somewhere', () => {
  const lost = [...PAGES, 'SECURITY.md'].flatMap(path =>
    [...read(path).matchAll(/\]\(([^)#:\s]*)(#[^)\s]+)?\)/g)]
      .filter(([, target = '', fragment = '']) => !leads(path, target, fragment))
      .map(([link]) => `${path}: ${link}`),
  );
  expect(lost).toEqual([]);
});
