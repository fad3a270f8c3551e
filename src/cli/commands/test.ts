// toolgate test: compares the decisions of policies with those that case files expect, for continuous integration. It
// works offline.

import type { Command } from 'commander';
import { safeJson, visible } from '../../core/text/visible.ts';
import { readCases } from '../case-reader.ts';
import { type Failure, failuresOf, type Wanted, type WantedResult } from '../cases.ts';
import { EXIT } from '../exit.ts';
import { command } from '../help.ts';
import { type IO, say, shownFile } from '../io.ts';
import { printJson } from '../print.ts';

export function build(io: IO): Command {
  return command(
    'test',
    'Compare the decisions of policies with those you want. Works offline.\n\n' +
      'A case file has a policy (in place, or the name of a policy file beside it), perhaps a session with ' +
      'scopeTools, and calls: { server, tool, args?, at?, session?, keyName?, person?, used?, marks?, known?, ' +
      'attributes?, approved?, result?, want }. "want" is { decision, ruleIndex?, reason?, result? }, where the reason may ' +
      'be a part of it. "result" is what the tool returns: a text or an MCP result. The one of "want" says what becomes of ' +
      'it: { hidden?: { secrets: 1 }, withheld?, cut?, text? }, where the text may be a part of what is left. "session" ' +
      'is a label, "at" a time, "used" says how much of limits is used: { refunds: 460 }, "marks" are those of the run, ' +
      'and "known" is what the person or a trusted tool said in it.\n\n' +
      'In place of a call, a sequence tries several in one run: { said?, steps: [{ call: { server, tool, args? }, ' +
      'approved?, result?, want }] }. A call that is allowed marks the run as its rule says, and its result makes values ' +
      'known.\n\n' +
      'Exit code: 0 all as wanted, 1 some are not, 3 a file cannot be used.',
    ['toolgate test cases.yaml', 'toolgate test policies/*.cases.yaml --json'],
  )
    .argument('<cases.yaml...>', 'case files')
    .option('--json', 'print { ok, calls, failures: [{ file, line, call, wanted, got }] }')
    .action((files: string[], options: { json?: boolean }) => run(io, files, options.json === true));
}

async function run(io: IO, files: readonly string[], json: boolean): Promise<void> {
  const failures: Failure[] = [];
  let calls = 0;
  for (const file of files) {
    const { policy, cases } = await readCases(io, file);
    calls += cases.reduce((sum, { steps }) => sum + steps.length, 0);
    failures.push(...cases.flatMap(each => failuresOf(file, policy, each)));
  }
  const ok = failures.length === 0;
  if (json) printJson(io, { ok, calls, failures });
  else {
    for (const failure of failures) io.stdout.write(describe(io, failure));
    const plural = calls === 1 ? 'call' : 'calls';
    say(
      io,
      ok ? `${calls} ${plural}, all as wanted` : `${calls} ${plural}, ${failures.length} not as wanted`,
    );
  }
  io.exit(ok ? EXIT.ok : EXIT.failed);
}

function describe(io: IO, { file, line, call, wanted, got }: Failure): string {
  const shown = { ...got };
  if (wanted.ruleIndex === undefined && wanted.decision === got.decision) delete shown.ruleIndex;
  if (wanted.reason === undefined && wanted.result !== undefined) delete shown.reason;
  if (wanted.result === undefined) delete shown.result;
  return [
    `${shownFile(file)}:${line}: ${io.stdout.style('bold', visible(call))}`,
    `  wanted ${outcome(wanted)}`,
    `  got    ${outcome(shown)}`,
    '',
  ].join('\n');
}

function outcome({ decision, ruleIndex, reason, result }: Wanted): string {
  const rule = ruleIndex === undefined ? '' : ruleIndex === null ? ', no rule' : `, rule ${ruleIndex}`;
  const left = result === undefined ? '' : `; result ${safeJson(shortened(result))}`;
  return decision + rule + (reason === undefined ? '' : `: ${visible(reason)}`) + left;
}

/** A result may be long; `--json` has all of it. */
const MOST_SHOWN = 200;

function shortened(result: WantedResult): WantedResult {
  const { text } = result;
  if (text === undefined || text.length <= MOST_SHOWN) return result;
  return { ...result, text: `${text.slice(0, MOST_SHOWN)}…` };
}
