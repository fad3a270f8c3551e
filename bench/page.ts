// Writes the results of a run: the page docs/bench.md with its charts in docs/bench/, and the table in the
// README's section on costs. All come from one report, so that they cannot contradict each other.

import * as fs from 'node:fs';
import * as path from 'node:path';
import { drawChart } from './chart.ts';
import { charts } from './charts.ts';
import type { Extra } from './extras.ts';
import { featureTable } from './features.ts';
import { comparedTable } from './field/compared.ts';
import { FIELD_SETUP } from './field/setup.ts';
import { digitsOf, type Figure, short, spread } from './figure.ts';
import { shownInstructions } from './instructions.ts';
import type { Line, Report } from './report.ts';
import type { Studied } from './study.ts';
import type { Verdict } from './targets.ts';

const ROOT = path.join(import.meta.dirname, '..');
const FOLDER = path.join(ROOT, 'docs', 'bench');

export function writePages(report: Report): void {
  fs.mkdirSync(FOLDER, { recursive: true });
  const drawn = charts(report);
  for (const [name, chart] of drawn) fs.writeFileSync(path.join(FOLDER, `${name}.svg`), drawChart(chart));
  const pictures = [...drawn].map(([name, { title }]) => `![${title}](bench/${name}.svg)`);
  fs.writeFileSync(path.join(ROOT, 'docs', 'bench.md'), page(report, pictures));
  const readme = path.join(ROOT, 'README.md');
  fs.writeFileSync(readme, withTable(fs.readFileSync(readme, 'utf8'), report));
}

export function page(report: Report, pictures: string[]): string {
  const { conditions, lines, features, extras, studies, targets, failures } = report;
  const facts = Object.entries(conditions).map(([name, value]) => `| ${name} | ${value} |`);
  return `# What it costs

Written by \`${conditions.command}\`, charts and all; do not edit. Figures are medians over the
rounds, with the smallest and the largest in brackets. This page is the one place for what a check costs.

## Conditions

| | |
|---|---|
${facts.join('\n')}

## Targets

× is CPU time of the server process and its children per request, against that of the other line in the same run. For checks
on PostgreSQL a column counts the CPU time of PostgreSQL's own processes as well; the target does not. A target is unclear
if the rounds lie on both sides of it, or if a check with a feature took less than the same check without. Instructions,
which other work on the machine does not change, stand beside those lines for which they were counted.

${targetTable(targets)}
${failures.length > 0 ? `\nNot measured, because it failed:\n\n${failures.map(each => `- ${each}`).join('\n')}\n` : ''}
${pictures.join('\n\n')}

## What each feature adds

CPU time of the server per check, and × that of the same check without the feature. Instructions are counted by Valgrind
(\`npm run bench:count\`), on SQLite with sealing off. Two runs differ by 2.5 % at most, whatever else the machine does, so
\`.ci/run\` fails if a check with everything off needs over 5 % more of them. Chance decides which calls are traced; where
instructions are counted, it is 1 call of 64.

${featureTable(features)}

## Lines

Closed loop: each of ${conditions.connections} connections sends its next request when the last is answered. CPU time is
user and system time of the server and its children, from \`/proc\`; what PostgreSQL spends for a request stands beside it.
Latencies under full load say how long the queue is: for those of a service that is not full see below.

${lineTable(lines)}

## At fixed rates

Open loop: a request is sent when it is due, whatever became of those before it, and its wait counts from then.

${rateTable(extras)}

## What is recorded, and memory

${memoryTable(extras)}

${studies.map(studySection).join('\n')}
## How it is measured

- Servers are bound to one core and the generator (\`wrk\`) to another; PostgreSQL runs on both. All servers are up at
  once, and measured in turn, round by round; a ratio is taken within a round, so that a slow minute of the machine weighs on
  both sides.
- Each is warmed up until it has answered 50,000 requests, or for 12 seconds, so that compilers are done.
- Peers run as their documentation starts them: \`cedar-wasm\` with its policies parsed once, behind the same HTTP server as
  the echo; \`mcp-proxy\` and \`supergateway\` on Node in front of a server on stdio. That server is their child, and its CPU
  time is counted with theirs. Toolgate is compared with them by its own line with the same server on stdio, where the
  server is its child and counted too. In the lines with an HTTP upstream the upstream is not counted.
${FIELD_SETUP}
- Repeat it with \`npm ci\`, \`npm ci --prefix bench\`, \`npm run bench:field\` and \`${conditions.command}\`,
  on a machine that does nothing else, with \`wrk\` and \`strace\` installed. It takes about 25 minutes and 10 GB of disk.
  \`npm run bench -- --help\` lists the options.
`;
}

function targetTable(targets: readonly Verdict[]): string {
  const rows = targets.map(verdict => {
    const { label, atMost, unit, measured, withDatabase, instructions, word } = verdict;
    const told = (figure: Figure | null) => (figure ? `${spread(figure, digitsOf(atMost))} ${unit}` : '');
    const wanted = `${Number(atMost.toFixed(3))} ${unit}`;
    const cells = [
      label,
      wanted,
      told(measured),
      word === 'missed' ? '**missed**' : word,
      told(withDatabase),
    ];
    return `| ${[...cells, instructions ? shownInstructions(instructions) : ''].join(' | ')} |`;
  });
  const head = '| | wanted, at most | measured | | with PostgreSQL | instructions |';
  return [head, '|---|--:|--:|---|--:|--:|', ...rows].join('\n');
}

function lineTable(lines: readonly Line[]): string {
  const rows = lines.map(line =>
    [
      '',
      line.label,
      short(line.cpuMicros),
      line.ratioToEcho ? short(line.ratioToEcho) : '',
      line.databaseMicros ? short(line.databaseMicros) : '',
      short(line.perSecond),
      short(line.p50Ms),
      short(line.p99Ms),
      line.addedMs ? short(line.addedMs) : '',
      '',
    ].join(' | '),
  );
  return [
    '| | CPU µs | × echo | PostgreSQL µs | per second | p50 ms | p99 ms | ms added, alone |',
    '|---|--:|--:|--:|--:|--:|--:|--:|',
    ...rows.map(row => row.trim()),
  ].join('\n');
}

function rateTable(extras: readonly Extra[]): string {
  const rows = extras.flatMap(({ label, atRates }) =>
    (atRates ?? []).map(({ rate, p50Ms, p99Ms, p999Ms, failures }) => {
      const waits = [p50Ms, p99Ms, p999Ms].map(ms => ms.toFixed(2)).join(' | ');
      const failed = failures > 0 ? ` (${failures} failed)` : '';
      return `| ${label}${failed} | ${rate.toLocaleString('en')}/s | ${waits} |`;
    }),
  );
  return ['| | rate | p50 ms | p99 ms | p99.9 ms |', '|---|--:|--:|--:|--:|', ...rows].join('\n');
}

function memoryTable(extras: readonly Extra[]): string {
  const rows = extras.map(
    ({ label, audits, restMb, loadedMb }) =>
      `| ${label} | ${audits} | ${restMb.toFixed(0)} | ${loadedMb.toFixed(0)} |`,
  );
  const head = ['| | recorded of a call | MB before the load | MB after it |', '|---|---|--:|--:|'];
  return [...head, ...rows].join('\n');
}

function studySection({ title, how, findings }: Studied): string {
  const rows = findings.map(({ label, unit, figure }) => `| ${label} | ${short(figure)} ${unit} |`);
  return `## ${title}\n\n${how}\n\n${['| | |', '|---|--:|', ...rows].join('\n')}\n`;
}

/** The README with a new table in its section on costs. It stays as it is if nobody else was measured. */
export function withTable(readme: string, report: Report): string {
  const table = comparedTable(report);
  if (table === null) return readme;
  const passage = /(^## What it costs\n.*?)(^\|.*?\n)(?=\n)/ms;
  if (!passage.test(readme)) throw new Error('The README has no table under "## What it costs"');
  return readme.replace(passage, (_, before: string) => `${before}${table}\n`);
}
