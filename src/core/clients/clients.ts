// The clients, a file each, as their makers' documentation described them on 2026-11-16; test/vectors/clients/source.md says
// where each fact was read.

import { AGENTS } from '../agents.ts';
import { claudeCode } from './claude-code.ts';
import { claudeDesktop } from './claude-desktop.ts';
import type { Client, ClientFacts, ClientId } from './client.ts';
import { codex } from './codex.ts';
import { cursor } from './cursor.ts';
import { geminiCli } from './gemini-cli.ts';
import { goose } from './goose.ts';
import { vscode } from './vscode.ts';
import { windsurf } from './windsurf.ts';

/** In the order in which people see them. An agent with null is connected by hand, as docs/agents.md says. */
const FACTS: Readonly<Record<ClientId, ClientFacts | null>> = {
  'claude-code': claudeCode,
  codex,
  cursor,
  vscode,
  'gemini-cli': geminiCli,
  'claude-desktop': claudeDesktop,
  windsurf,
  goose,
  copilot: null,
  grok: null,
};

export const CLIENTS: readonly Client[] = (Object.keys(FACTS) as ClientId[]).flatMap(id => {
  const facts = FACTS[id];
  return facts === null ? [] : [{ id, name: nameOf(id), ...facts }];
});

export const CLIENT_IDS: readonly ClientId[] = CLIENTS.map(({ id }) => id);

function nameOf(id: ClientId): string {
  return id === 'claude-desktop' ? 'Claude Desktop' : AGENTS[id].title;
}
