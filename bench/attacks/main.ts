// npm run attacks: an agent that obeys every injected text it reads plays AgentDojo's tasks, bare and behind Toolgate with
// several policies, and suites about coding agents through the hook. It writes docs/attacks.md with its chart. It fails
// when it cannot be played, or when a control does not come out as it must; how well a policy holds is what the page says.

import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { parseArgs } from 'node:util';
import type { Place } from '../service.ts';
import { CodingGuard } from './coding/guard.ts';
import { playCoding } from './coding/play.ts';
import { type CodingReport, codingFaults } from './coding/report.ts';
import { codingSection } from './coding/section.ts';
import { type Behind, Gate } from './gate.ts';
import { writePage } from './page.ts';
import { type Bare, playBare, playGuarded, playVariant } from './play.ts';
import { filled, KINDS, type Kind, namedValues, writtenPolicy } from './policies.ts';
import { printed } from './print.ts';
import { bring } from './program.ts';
import { ADAPTIVE, faults, type SuiteReport, variantsFor } from './report.ts';
import { SUITES, type SuiteName } from './stage.ts';

/** The suites of AgentDojo, and those about coding agents. */
const ALL = [...SUITES, 'coding'] as const;

const USAGE = `Usage: npm run attacks -- [options]

  --only <suites>  only these, by comma: ${ALL.join(', ')}; no page is written
  --json           print everything that was found, as JSON
  --help           print this
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { only: { type: 'string' }, json: { type: 'boolean' }, help: { type: 'boolean' } },
  });
  if (values.help) return console.log(USAGE);
  const suites = chosen(values.only);
  if (suites.some(suite => suite !== 'coding')) bring(tell);
  await using resources = new AsyncDisposableStack();
  process.once('SIGINT', () => resources.disposeAsync().finally(() => process.exit(130)));
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'toolgate-attacks-'));
  resources.defer(() => fs.rmSync(folder, { recursive: true, force: true }));
  const place: Place = { folder, resources, postgres: null, tell };

  const reports = await playAgentDojo(place, suites);
  const coding = suites.includes('coding') ? await playCoding(await CodingGuard.open(place), tell) : null;
  console.log(values.json ? JSON.stringify({ agentDojo: reports, coding }, null, 2) : said(reports, coding));
  if (coding !== null && suites.length === ALL.length) writePage(reports, minutes(), coding);
  const wrong = [...faults(reports), ...(coding === null ? [] : codingFaults(coding))];
  for (const fault of wrong) console.error(fault);
  if (wrong.length > 0) process.exitCode = 1;
}

async function playAgentDojo(place: Place, names: readonly string[]): Promise<SuiteReport[]> {
  const suites = SUITES.filter(suite => names.includes(suite));
  if (suites.length === 0) return [];
  const gate = await Gate.open(place);
  return Promise.all(suites.map(suite => playSuite(gate, suite)));
}

const said = (reports: readonly SuiteReport[], coding: CodingReport | null): string =>
  [...(reports.length > 0 ? [printed(reports)] : []), ...(coding ? [codingSection(coding)] : [])].join(
    '\n\n',
  );

function chosen(only: string | undefined): readonly (typeof ALL)[number][] {
  if (only === undefined) return ALL;
  const names = only.split(',').map(name => name.trim());
  const unknown = names.find(name => !ALL.some(suite => suite === name));
  if (unknown !== undefined) throw new Error(`There is no suite "${unknown}"\n\n${USAGE}`);
  return ALL.filter(suite => names.includes(suite));
}

async function playSuite(gate: Gate, suite: SuiteName): Promise<SuiteReport> {
  const ids = new Map<Kind, string>();
  ids.set('allow', await gate.save(`${suite}-allow`, writtenPolicy(suite, 'allow')));
  const behind = await gate.connect(suite, ids.get('allow')!);
  await refuseNamed(behind);
  const lists = await behind.stage.lists();
  for (const kind of KINDS.filter(each => each !== 'allow'))
    ids.set(kind, await gate.save(`${suite}-${kind}`, filled(writtenPolicy(suite, kind), lists)));

  tell(`${suite}: bare`);
  const bare = await playBare(behind.stage);
  const report: SuiteReport = {
    suite,
    bare,
    guarded: {} as SuiteReport['guarded'],
    variants: { marks: [], known: [] },
  };
  for (const kind of KINDS) {
    tell(`${suite}: ${kind}`);
    await gate.putInForce(behind, ids.get(kind)!);
    report.guarded[kind] = await playGuarded(gate, behind, bare);
    await playVariants(gate, behind, bare, report, kind);
  }
  behind.stage.close();
  return report;
}

async function playVariants(
  gate: Gate,
  behind: Behind,
  bare: Bare,
  report: SuiteReport,
  kind: Kind,
): Promise<void> {
  const adaptive = ADAPTIVE.find(each => each === kind);
  if (adaptive === undefined) return;
  for (const variant of variantsFor(adaptive)) {
    tell(`${behind.suite}: ${kind}, ${variant.name}`);
    report.variants[adaptive].push(await playVariant(gate, behind, bare, variant));
  }
}

/** A policy that names a value of a task or an injection was written for it, and proves nothing. */
async function refuseNamed({ suite, stage }: Behind): Promise<void> {
  const values = await stage.values();
  for (const kind of KINDS) {
    const named = namedValues(writtenPolicy(suite, kind), values);
    if (named.length === 0) continue;
    throw new Error(
      `The policy "${kind}" of ${suite} names what a task or an injection names: ${named.join(', ')}`,
    );
  }
}

const begun = performance.now();
const minutes = (): number => (performance.now() - begun) / 60_000;

function tell(text: string): void {
  console.error(`${((performance.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${text}`);
}

await main().catch(error => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
