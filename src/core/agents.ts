// The table of coding agents, one row for each: all lists of agents are made from it or use its names as their keys. In
// policies each agent is also the server of its own tools, and in the audit log the surface of its calls. `toolgate
// hook` loads this file before every call and has to start at once, so it imports nothing. CONTRIBUTING.md says what
// else an agent needs.

/** What becomes of a call that waits: it is denied for now, or put to the person at the terminal, or deferred. */
export const PENDING = ['deny', 'ask', 'defer'] as const;
export type Pending = (typeof PENDING)[number];

/** The events of an agent, as it names them. */
export interface Events {
  /** The fields that may hold the name of an event. The first one that is present counts. */
  named: readonly string[];
  /**
   * The events that tell what the person wrote, and what a call returned. An agent has none where its events do not tell
   * them, or do not tell whose words they are.
   */
  prompts: readonly string[];
  results: readonly string[];
  /** The events that tell that a call failed, where they are not among the results. */
  failures?: readonly string[];
  /**
   * The events that tell nothing. `toolgate hook` answers them itself; the doors refuse every event that is neither a
   * call nor in one of these lists.
   */
  others: readonly string[];
  /** What the command writes in answer to an event that is about no call; without this field it writes nothing. */
  nothing?: string;
}

export interface AgentRow extends Events {
  /** Its name for people. */
  title: string;
  /**
   * How many seconds its hook may take by default, if not DEFAULT_SECONDS. It must be less than the time after which
   * the agent itself gives up, because most agents then make the call.
   */
  seconds?: number;
  /** Without a verdict, its hook refuses by an answer on standard output, and not by exit code 2. */
  refusesByAnswer?: true;
  /** A hook after a call can put something else in the place of the result. */
  replacesResults?: true;
  /** An environment variable of its hooks, and the values of it that mean that nobody is at the terminal. */
  unattended?: { variable: string; values: RegExp };
}

/** All agents wait for their hook for 30 s or longer, except those with `seconds`. */
export const DEFAULT_SECONDS = 10;

const CLAUDE_EVENTS: Events = {
  named: ['hook_event_name', 'hookEventName'],
  prompts: ['UserPromptSubmit'],
  results: ['PostToolUse'],
  failures: ['PostToolUseFailure'],
  others: [
    'SessionStart',
    'SessionEnd',
    'Setup',
    'UserPromptExpansion',
    'PermissionDenied',
    'PostToolBatch',
    'Notification',
    'SubagentStart',
    'SubagentStop',
    'TaskCreated',
    'TaskCompleted',
    'TeammateIdle',
    'Stop',
    'StopFailure',
    'QueryEnd',
    'InstructionsLoaded',
    'ConfigChange',
    'CwdChanged',
    'FileChanged',
    'WorktreeCreate',
    'WorktreeRemove',
    'PreCompact',
    'PostCompact',
    'Elicitation',
    'ElicitationResult',
  ],
};

const ROWS = {
  'claude-code': {
    title: 'Claude Code',
    // In this variable Claude Code says how it was started: `sdk-cli` means `claude -p`.
    unattended: {
      variable: 'CLAUDE_CODE_ENTRYPOINT',
      values: /^(sdk-|mcp$|bench$|claude-code-github-action$)/,
    },
    replacesResults: true,
    ...CLAUDE_EVENTS,
  },
  copilot: {
    title: 'Copilot',
    // Some versions go on after exit code 2.
    refusesByAnswer: true,
    replacesResults: true,
    named: ['hook_event_name'],
    prompts: ['UserPromptSubmit', 'userPromptSubmitted'],
    results: ['PostToolUse', 'postToolUse'],
    failures: ['PostToolUseFailure'],
    others: [
      'SessionStart',
      'SessionEnd',
      'Stop',
      'SubagentStart',
      'SubagentStop',
      'ErrorOccurred',
      'PreCompact',
      'Notification',
    ],
  },
  grok: {
    title: 'Grok',
    // Grok waits 5 s for its hook.
    seconds: 4,
    named: ['hookEventName', 'hook_event_name'],
    prompts: ['user_prompt_submit', 'UserPromptSubmit'],
    results: ['post_tool_use', 'PostToolUse'],
    failures: ['post_tool_use_failure'],
    others: [
      'session_start',
      'session_end',
      'permission_denied',
      'stop',
      'stop_failure',
      'notification',
      'subagent_start',
      'subagent_stop',
      'pre_compact',
      'post_compact',
    ],
  },
  vscode: {
    title: 'VS Code',
    ...CLAUDE_EVENTS,
  },
  codex: {
    title: 'Codex',
    replacesResults: true,
    ...CLAUDE_EVENTS,
  },
  cursor: {
    title: 'Cursor',
    named: ['hook_event_name'],
    prompts: ['beforeSubmitPrompt'],
    results: ['afterShellExecution', 'afterMCPExecution', 'postToolUse'],
    others: [
      'sessionStart',
      'sessionEnd',
      'postToolUseFailure',
      'afterFileEdit',
      'afterTabFileEdit',
      'afterAgentResponse',
      'afterAgentThought',
      'subagentStop',
      'preCompact',
      'stop',
      'workspaceOpen',
    ],
    nothing: '{}\n',
  },
  'gemini-cli': {
    title: 'Gemini CLI',
    replacesResults: true,
    named: ['hook_event_name'],
    prompts: ['BeforeAgent'],
    results: ['AfterTool'],
    others: [
      'AfterAgent',
      'BeforeModel',
      'AfterModel',
      'BeforeToolSelection',
      'Notification',
      'SessionStart',
      'SessionEnd',
      'PreCompress',
    ],
  },
  windsurf: {
    title: 'Windsurf',
    named: ['agent_action_name'],
    prompts: ['pre_user_prompt'],
    results: ['post_mcp_tool_use'],
    others: [
      'post_run_command',
      'post_read_code',
      'post_write_code',
      'post_cascade_response',
      'post_cascade_response_with_transcript',
      'post_setup_worktree',
    ],
  },
  goose: {
    title: 'Goose',
    named: ['event', 'hook_event_name'],
    // A subagent's prompt, which the model writes, looks like the person's, and no event has a result.
    prompts: [],
    results: [],
    others: [
      'SessionStart',
      'SessionEnd',
      'Stop',
      'UserPromptSubmit',
      'PreToolUseResult',
      'PostToolUse',
      'PostToolUseFailure',
      'AfterFileEdit',
      'AfterShellExecution',
    ],
  },
} satisfies Record<string, AgentRow>;

export type AgentName = keyof typeof ROWS;
export const AGENTS: Readonly<Record<AgentName, AgentRow>> = ROWS;
export const AGENT_NAMES = Object.keys(AGENTS) as AgentName[];

export const isAgent = (name: string): name is AgentName => Object.hasOwn(AGENTS, name);

/** The name of an event, in the first field that has one. */
export function eventName(event: Readonly<Record<string, unknown>>, { named }: Events): string | null {
  for (const field of named) if (typeof event[field] === 'string') return event[field];
  return null;
}

/** What an event tells, if it is about no call. */
export function tells(
  name: string | null,
  { prompts, results, failures = [] }: Events,
): 'prompt' | 'result' | 'failure' | null {
  if (name === null) return null;
  if (prompts.includes(name)) return 'prompt';
  if (results.includes(name)) return 'result';
  return failures.includes(name) ? 'failure' : null;
}

/** Vendors name it differently, and some have changed the name. */
const RUN_FIELDS = [
  'session_id',
  'sessionId',
  'conversation_id',
  'conversationId',
  'trajectory_id',
  'trajectoryId',
];

/** The agent's own id of its run; null when the event has none. */
export function runIn(event: Readonly<Record<string, unknown>>): string | null {
  const id = RUN_FIELDS.map(name => event[name]).find(each => typeof each === 'string' && each !== '');
  return (id as string | undefined) ?? null;
}
