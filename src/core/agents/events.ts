// The events of coding agents that are about no call, and the fields that may name an event, the first of them that is
// there. `toolgate hook` answers these events itself; the doors refuse every event that is neither a call nor here. This
// file imports nothing but a type, because the hook loads it and has to start at once.

import type { AgentName } from './names.ts';

export interface Events {
  named: readonly string[];
  others: readonly string[];
  /** What the command writes about them, if that is not nothing. */
  nothing?: string;
}

const CLAUDE: Events = {
  named: ['hook_event_name', 'hookEventName'],
  others: [
    'SessionStart',
    'SessionEnd',
    'Setup',
    'UserPromptSubmit',
    'UserPromptExpansion',
    'PermissionDenied',
    'PostToolUse',
    'PostToolUseFailure',
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

export const EVENTS: Readonly<Record<AgentName, Events>> = {
  'claude-code': CLAUDE,
  codex: CLAUDE,
  vscode: CLAUDE,
  copilot: {
    named: ['hook_event_name'],
    others: [
      'SessionStart',
      'SessionEnd',
      'UserPromptSubmit',
      'PostToolUse',
      'PostToolUseFailure',
      'Stop',
      'SubagentStart',
      'SubagentStop',
      'ErrorOccurred',
      'PreCompact',
      'Notification',
    ],
  },
  grok: {
    named: ['hookEventName', 'hook_event_name'],
    others: [
      'session_start',
      'session_end',
      'user_prompt_submit',
      'post_tool_use',
      'post_tool_use_failure',
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
  cursor: {
    named: ['hook_event_name'],
    others: [
      'sessionStart',
      'sessionEnd',
      'beforeSubmitPrompt',
      'postToolUse',
      'postToolUseFailure',
      'afterShellExecution',
      'afterMCPExecution',
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
    named: ['hook_event_name'],
    others: [
      'AfterTool',
      'BeforeAgent',
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
    named: ['agent_action_name'],
    others: [
      'pre_user_prompt',
      'post_run_command',
      'post_mcp_tool_use',
      'post_read_code',
      'post_write_code',
      'post_cascade_response',
      'post_cascade_response_with_transcript',
      'post_setup_worktree',
    ],
  },
  goose: {
    named: ['event', 'hook_event_name'],
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
};

/** The name of an event, in the first field that has one. */
export function eventName(event: Readonly<Record<string, unknown>>, { named }: Events): string | null {
  for (const field of named) if (typeof event[field] === 'string') return event[field];
  return null;
}
