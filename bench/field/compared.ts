// What a run says first: a recorded decision and a forwarded call, by Toolgate and by others, with what each of them
// records. The chart and the table of the README show it.

import { short } from '../figure.ts';
import type { Line, Report } from '../report.ts';

const DECISIONS = ['sqlite', 'postgres', 'opa', 'cerbos', 'faramesh'];
const CALLS = ['mcp', 'faramesh-mcp', 'contextforge', 'mcp-stdio', 'mcp-proxy', 'supergateway'];

/** The lines to compare, in this order; none if nobody else was measured. */
function chosen(names: string[], { lines }: Report): Line[] {
  const found = names.flatMap(name => lines.filter(line => line.name === name));
  return found.some(({ peer }) => peer) ? found : [];
}

export const comparedDecisions = (report: Report): Line[] => chosen(DECISIONS, report);
export const comparedCalls = (report: Report): Line[] => chosen(CALLS, report);

/** How a line is called where it stands beside others: by the name of its program. */
export function comparedLabel({ label }: Line): string {
  return label.replace('tools/call, ', '').replace(/^check (\w+), .*/, 'Toolgate on $1, synced log');
}

/** Those of the README, of which docs/bench.md has all. */
const SHOWN = ['sqlite', 'opa', 'faramesh'];

/** Null if nobody else was measured. */
export function comparedTable(report: Report): string | null {
  const rows = chosen(SHOWN, report).map(row);
  const { date } = report.conditions;
  const head = [
    `| by (${date}) | CPU µs per decision | per second | what is recorded of it |`,
    '|---|--:|--:|---|',
  ];
  return rows.length > 0 ? [...head, ...rows].join('\n') : null;
}

function row(line: Line): string {
  const { cpuMicros, perSecond, audits } = line;
  return `| ${comparedLabel(line)} | ${short(cpuMicros)} | ${short(perSecond)} | ${audits} |`;
}
