// The surfaces: the interfaces of the service through which calls come to be decided. An audit entry records one of
// these codes as its `surface`; people read the name.

import { AGENT_NAMES, AGENTS, type AgentName } from '../agents.ts';

const GATEWAYS = {
  authzen: 'AuthZEN',
  'ext-authz': 'External authorization',
  opa: 'OPA’s data API',
  toolhive: 'ToolHive',
  litellm: 'LiteLLM',
  arcade: 'Arcade',
  obot: 'Obot',
} as const;

export type Surface = 'check' | 'mcp' | AgentName | keyof typeof GATEWAYS;

const NAMES: Readonly<Record<Surface, string>> = {
  check: 'Check',
  mcp: 'MCP proxy',
  ...(Object.fromEntries(AGENT_NAMES.map(name => [name, AGENTS[name].title])) as Record<AgentName, string>),
  ...GATEWAYS,
};
export const SURFACES = Object.keys(NAMES) as [Surface, ...Surface[]];

export const surfaceName = (surface: Surface): string => NAMES[surface];

/**
 * Whether the same call, made again, is the same question: it is freed by its own approval without naming it. Callers
 * of `/v1/check` name the approval instead.
 */
export const knowsRepeats = (surface: Surface): boolean => surface !== 'check';

/** The name of the surface as a part of a sentence. */
export function askerName(surface: Surface): string {
  if (surface === 'check') return 'a check';
  return surface === 'mcp' ? 'the MCP proxy' : surfaceName(surface);
}
