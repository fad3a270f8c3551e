// The arguments of `toolgate hook`. The key is not among them, because other users of the machine can list the
// arguments of a process.

import {
  AGENT_NAMES,
  AGENTS,
  type AgentName,
  DEFAULT_SECONDS,
  isAgent,
  PENDING,
  type Pending,
} from '../../core/agents.ts';
import { NoVerdict } from './no-verdict.ts';

const LONGEST_SECONDS = 600;

export interface HookOptions {
  agent: AgentName;
  pending: Pending;
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
    throw new NoVerdict(`toolgate hook needs one agent: ${AGENT_NAMES.toSorted().join(', ')}.`);
  }
  return {
    agent,
    pending: pendingOf(given.get('--pending') ?? 'deny'),
    timeoutMs: 1000 * secondsOf(given.get('--timeout') ?? String(AGENTS[agent].seconds ?? DEFAULT_SECONDS)),
    baseUrl: given.get('--base-url') ?? null,
  };
}

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
