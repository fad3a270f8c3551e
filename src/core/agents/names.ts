// The coding agents that have a door. Each is also the server of its own tools in policies, and the surface of its calls.

import type { Surface } from '../text/surface.ts';

export const AGENTS = [
  'claude-code',
  'copilot',
  'grok',
  'vscode',
  'codex',
  'cursor',
  'gemini-cli',
  'windsurf',
  'goose',
] as const satisfies readonly Surface[];

export type AgentName = (typeof AGENTS)[number];

export const isAgent = (name: string): name is AgentName => (AGENTS as readonly string[]).includes(name);
