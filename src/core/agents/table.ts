// The tools of coding agents, and what each of their arguments does. test/vectors/hooks says where these facts were
// read. The effects of a tool that is not listed are unknown, so a rule that depends on them does not allow it. Not
// listed are web searches, tools that load instructions or plug-ins, input for a running command, and shells that are
// not POSIX's (PowerShell).

import type { AgentName } from '../agents.ts';
import { CLAUDE_CODE } from './tools/claude-code.ts';
import { CODEX } from './tools/codex.ts';
import { COPILOT } from './tools/copilot.ts';
import { CURSOR } from './tools/cursor.ts';
import { GEMINI_CLI } from './tools/gemini-cli.ts';
import { GOOSE } from './tools/goose.ts';
import { GROK } from './tools/grok.ts';
import type { Tools } from './tools/tool.ts';
import { VSCODE } from './tools/vscode.ts';
import { WINDSURF } from './tools/windsurf.ts';

export const TABLE: Readonly<Record<AgentName, Tools>> = {
  'claude-code': CLAUDE_CODE,
  copilot: COPILOT,
  grok: GROK,
  vscode: VSCODE,
  codex: CODEX,
  cursor: CURSOR,
  'gemini-cli': GEMINI_CLI,
  windsurf: WINDSURF,
  goose: GOOSE,
};
