// The options of `toolgate connect`, and what they mean together.

import type { Pending } from '../../core/agents.ts';
import type { Scope } from '../../core/clients/client.ts';
import type { KeyChoice } from './key.ts';
import type { Part } from './plan.ts';

export interface Options extends KeyChoice {
  list?: boolean;
  user?: boolean;
  project?: boolean;
  managed?: boolean;
  hooksOnly?: boolean;
  mcpOnly?: boolean;
  pending?: Pending;
  unsafeLocation?: boolean;
  forOtherMachine?: boolean;
  remove?: boolean;
  revoke?: boolean;
  dryRun?: boolean;
  yes?: boolean;
}

export const scopeOf = ({ project }: Options): Scope => (project ? 'project' : 'user');

export function partsOf({ hooksOnly, mcpOnly }: Options): Part[] {
  return hooksOnly ? ['hooks'] : mcpOnly ? ['mcp'] : ['hooks', 'mcp'];
}
