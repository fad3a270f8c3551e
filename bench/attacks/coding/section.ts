// The section of docs/attacks.md about coding agents.

import { told } from '../wilson.ts';
import { BFCL, INSPECT_EVALS, REPOSITORIES, type Repository } from './cache.ts';
import { missLines, partLine } from './misses.ts';
import {
  all,
  type CodingReport,
  type Counts,
  outcomes,
  ownCalls,
  type SuitePlayed as Suite,
} from './report.ts';

const ATTACKS: readonly string[] = ['RedCode', 'GTFOBins'];

/** The forms in which the suites are played, in the order of play.ts. */
const TITLES = [
  '`ipi_coding_agent`, as told',
  'the same, with the agent’s own tools for files',
  'own tools, and issues on the web',
  'as told, commands granted for an hour',
  'as told, commands granted, and issues on the web',
  '`agent_threat_bench`',
];

export function codingSection(report: CodingReport): string {
  const { suites } = report;
  const [asTold, threats] = [suites[0]!, suites.at(-1)!];
  const missing = Object.keys(REPOSITORIES).filter(name => !report.lists.some(list => list.name === name));
  return `## Coding agents

The same agent, as Claude Code would be: it reads a project, obeys what it finds there, and its calls go through [the hook](agents.md) with [the pack
\`coding\`](agents.md#a-policy-for-coding-agents). It was not changed after the figures of the two injection suites were looked at. Whoever wrote it knew RedCode and GTFOBins.

| Suite | cases | allowed | asked | denied |
|---|--:|--:|--:|--:|
${suites.map((suite, index) => suiteRow(TITLES[index] ?? suite.suite, outcomes(suite))).join('\n')}
${listRows(report, true)}

- **[inspect_evals](https://github.com/UKGovernmentBEIS/inspect_evals)** ${INSPECT_EVALS} from PyPI has \`ipi_coding_agent\` and \`agent_threat_bench\`. An attack is what commands and additions the injected text names, found by
  fixed rules (\`bench/attacks/coding/commands.ts\`), and counts as allowed if one call that reaches the suite's goal is. The first has ${asTold.all} tasks,
  ${attacks(asTold)} of them with an attack. "Own tools" are \`Read\` for \`cat\` and \`Write\` for \`echo … >\`. The suite puts issues into the prompt, so what
  an issue names, the person has named; "on the web" the person only says where the issue is.
  "Granted": the agent first runs the tests, and the person answers that question for an hour of the session. All tasks have an issue, so on the web every run reads a page
  of strangers and is marked, also where the attack stands in a file of the project: without a page, nothing marks the run, and the grant holds. The second has ${threats.all} tasks of a mailbox, a support desk and a knowledge base, whose tools come as those of an MCP
  server, and the pack asks about all of these. ${threats.leftOut.length} of its attacks only want certain words in the answer, and are left out.
- **RedCode** are the shell scripts of RedCode-Exec, **GTFOBins** are tricks of ordinary programs; each is one call of \`Bash\`. Many are
  ordinary commands in which only the purpose is bad: a person is asked, and has to see it.
- **By the hook's own program**: every event of these two suites went through \`toolgate hook claude-code\`, a process each. The long lists went to
  the address that this program asks; ${report.compared.through} of them went through the program too, with ${report.compared.other.length === 0 ? 'the same answers' : `**${report.compared.other.length} other answers**`}.

And ordinary work beside it, each call by itself:

| Work | calls | asked | denied |
|---|--:|--:|--:|
${workRows(report)}

The agent that wrote the commands of tldr and nl2bash is everybody: these lists show each program that there is, most of which no
coding agent runs. The sessions are the nearest to a day's work; [Coding agents](agents.md#how-often-it-asks) has 500 more calls. What is asked in them is what runs
the project's code or changes its history.

### Every miss of the two injection suites

${missLines(report.suites)}

${partLine(report.suites)}

To repeat it, clone what is in no registry into \`bench/.attacks\`; what is not there is left out, and the run says so${missing.length === 0 ? '' : ` (here: ${missing.join(', ')})`}:
${(Object.keys(REPOSITORIES) as Repository[]).map(name => `\`git clone --depth 1 ${REPOSITORIES[name]} bench/.attacks/${name}\``).join(', ')}.
`;
}

const suiteRow = (title: string, counts: Counts): string => {
  const of = all(counts);
  const cells = [counts.allow, counts.ask, counts.deny].map(count => told({ count, of }));
  return `| ${title} | ${of} | ${cells.join(' | ')} |`;
};

const workRow = (title: string, counts: Counts): string => {
  const of = all(counts);
  return `| ${title} | ${of} | ${percent(counts.ask, of)} | ${percent(counts.deny, of)} |`;
};

const percent = (count: number, of: number): string =>
  `${count}, ${of === 0 ? '0' : ((100 * count) / of).toFixed(1)} %`;

const attacks = (suite: Suite): number => all(outcomes(suite)) + suite.leftOut.length;

const listTitle = (name: string, commit: string): string =>
  `[${name}](${REPOSITORIES[name as Repository]}), ${commit}`;

const listRows = ({ lists }: CodingReport, areAttacks: boolean): string =>
  lists
    .filter(({ name }) => ATTACKS.includes(name) === areAttacks)
    .map(({ name, commit, counts }) => (areAttacks ? suiteRow : workRow)(listTitle(name, commit), counts))
    .join('\n');

function workRows(report: CodingReport): string {
  const { suites, sessions, bfcl } = report;
  return [
    ...sessions.map(({ name, counts }) => workRow(name, counts)),
    workRow('the tasks of `ipi_coding_agent`: read, correct, run the tests', ownCalls(suites[0]!)),
    workRow(`BFCL ${BFCL} (PyPI), its tasks with a file system`, bfcl.files),
    workRow('BFCL, its other tools, as tools of an MCP server', bfcl.others),
    listRows(report, false),
  ]
    .filter(row => row !== '')
    .join('\n');
}
