// The tools of an agent by what they do, as docs/agents.md lists them.

import type { Acts } from '../../../src/core/agents/acts.ts';
import { TABLE } from '../../../src/core/agents/table.ts';
import type { Argument } from '../../../src/core/agents/tools/tool.ts';
import type { AgentName } from '../../../src/core/agents.ts';

const EFFECTS: Record<keyof Acts, readonly Argument[]> = {
  reads: ['reads', 'readsAndWrites'],
  writes: ['writes', 'writesAbsolute', 'readsAndWrites', 'patch'],
  runs: ['runs'],
  fetches: ['fetches'],
  plans: [],
};

export function knownTools(agent: AgentName): Record<keyof Acts, string[]> {
  const known: Record<keyof Acts, string[]> = { reads: [], writes: [], runs: [], fetches: [], plans: [] };
  for (const [name, { args, plans }] of Object.entries(TABLE[agent])) {
    if (name.startsWith('developer__')) continue;
    if (plans) known.plans.push(name);
    for (const effect of Object.keys(EFFECTS) as (keyof Acts)[])
      if (Object.values(args).some(each => EFFECTS[effect].includes(each))) known[effect].push(name);
  }
  return known;
}
