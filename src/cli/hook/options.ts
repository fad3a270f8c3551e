// The arguments of `toolgate hook`. The key is not among them, because other users of the machine can list the
// arguments of a process.

import { NoVerdict } from './no-verdict.ts';

/**
 * The agents, and how many seconds a hook of theirs may take by default. It must be less than the time after which the
 * agent itself gives up, because most agents then make the call: Grok waits for 5 s, all others for 30 s or longer.
 */
export const AGENTS = {
  'claude-code': 10,
  codex: 10,
  copilot: 10,
  cursor: 10,
  'gemini-cli': 10,
  goose: 10,
  grok: 4,
  vscode: 10,
  windsurf: 10,
};
export type AgentId = keyof typeof AGENTS;

export const PENDING = ['deny', 'ask', 'defer'] as const;
const LONGEST_SECONDS = 600;

export interface HookOptions {
  agent: AgentId;
  pending: (typeof PENDING)[number];
  timeoutMs: number;
  baseUrl: string | null;
}

const NAMES = ['--pending', '--timeout', '--base-url'];

export function readOptions(argv: readonly string[]): HookOptions {
  const given = new Map<string, string>();
  const agents: string[] = [];
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] as string;
    const [name = '', inline] = word.startsWith('--') ? split(word) : [];
    if (name === '') agents.push(word);
    else if (!NAMES.includes(name)) throw new NoVerdict(`toolgate hook has no option ${name}.`);
    else given.set(name, inline ?? argv[++at] ?? '');
  }
  const [agent = ''] = agents;
  if (agents.length !== 1 || !isAgent(agent)) {
    throw new NoVerdict(`toolgate hook needs one agent: ${Object.keys(AGENTS).join(', ')}.`);
  }
  return {
    agent,
    pending: pendingOf(given.get('--pending') ?? 'deny'),
    timeoutMs: 1000 * secondsOf(given.get('--timeout') ?? String(AGENTS[agent])),
    baseUrl: given.get('--base-url') ?? null,
  };
}

const isAgent = (name: string): name is AgentId => Object.hasOwn(AGENTS, name);

function split(word: string): [string, string?] {
  const at = word.indexOf('=');
  return at < 0 ? [word] : [word.slice(0, at), word.slice(at + 1)];
}

function pendingOf(text: string): HookOptions['pending'] {
  const found = PENDING.find(each => each === text);
  if (found === undefined) throw new NoVerdict('--pending must be deny, ask or defer.');
  return found;
}

function secondsOf(text: string): number {
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0;
  if (seconds > 0 && seconds <= LONGEST_SECONDS) return seconds;
  throw new NoVerdict(`--timeout must be a number of seconds, at most ${LONGEST_SECONDS}.`);
}
