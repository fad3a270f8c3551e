// What an agent offers its model, beside the table of its tools in src/core/agents: a call with a tool or an argument that
// the table lacks is asked about, so that what a new version adds is to be seen here.

import { expect } from 'bun:test';
import { TABLE } from '../../src/core/agents/table.ts';
import type { AgentName } from '../../src/core/agents.ts';
import type { Run } from './workplace.ts';

/** Names that hooks are told instead of those that the model uses. The arguments differ, too. */
const RENAMED = ['exec_command', 'apply_patch'];

/** The tools and arguments that the table does not know are these, and no others. */
export function expectUnknown(agent: AgentName, run: Run, unknown: string[]): void {
  const found = run.offered
    .filter(({ name }) => !RENAMED.includes(name))
    .flatMap(({ name, args }) => {
      const known = Object.hasOwn(TABLE[agent], name) ? TABLE[agent][name]?.args : undefined;
      if (known === undefined) return [name];
      return args.filter(arg => !Object.hasOwn(known, arg)).map(arg => `${name}(${arg})`);
    });
  expect(found.sort()).toEqual(unknown);
}
