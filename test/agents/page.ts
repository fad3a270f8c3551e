// The tables of docs/agents.md about agents that were run. The tests compare what happens with what the page says, and the
// versions that it names with those that .ci/agents installs.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/service.ts';

const cells = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map(cell => cell.trim());

/** The lines of the table whose first cell of its head is this. */
function table(first: string): string[][] {
  const lines = readFileSync(join(ROOT, 'docs/agents.md'), 'utf8').split('\n');
  const begin = lines.findIndex(line => cells(line)[0] === first);
  if (begin === -1) throw new Error(`docs/agents.md has no table of "${first}"`);
  const rest = lines.slice(begin);
  return rest
    .slice(
      0,
      rest.findIndex(line => !line.startsWith('|')),
    )
    .map(cells);
}

/** What the page says of one agent: whether a call that is not permitted is made (`open`) or not (`closed`). */
export type Page = (whatHappens: string) => string;

export function pageOf(agent: string): Page {
  const [head = [], , ...rows] = table('What happens');
  const column = head.findIndex(cell => cell.startsWith(`${agent} `));
  return line => {
    const said = rows.find(([first]) => first === line)?.[column];
    if (said === undefined) throw new Error(`docs/agents.md does not say what ${agent} does if ${line}`);
    return said;
  };
}

/** The agents of the same table, with their versions. */
export function versionsSaid(): string[] {
  return table('What happens')[0]?.slice(1) ?? [];
}

export const said = (isOpen: boolean): string => (isOpen ? 'open' : 'closed');
