// The tools of Codex (0.166), by the names that hooks receive; its shell is `shell` here.

import { plan, type Tools, tool } from './tool.ts';

/**
 * The event's folder is the one in which the command runs, which the model may choose. `write_stdin` starts no hook, so a
 * shell that waits for input runs whatever comes later.
 */
export const CODEX: Tools = {
  shell: tool({ command: 'runs' }),
  apply_patch: tool({ command: 'patch' }),
  view_image: tool({ path: 'reads', detail: 'text' }),
  update_plan: plan('explanation', 'plan'),
  spawn_agent: plan(
    'message',
    'task_name',
    'agent_type',
    'fork_context',
    'fork_turns',
    'model',
    'reasoning_effort',
    'service_tier',
  ),
  send_input: plan('target', 'message', 'interrupt'),
  send_message: plan('target', 'message'),
  followup_task: plan('target', 'message'),
  resume_agent: plan('id'),
  wait_agent: plan('targets', 'timeout_ms'),
  list_agents: plan('path_prefix'),
  close_agent: plan('target'),
  interrupt_agent: plan('target'),
  get_goal: plan(),
  create_goal: plan('objective', 'token_budget'),
  update_goal: plan('status'),
  request_user_input: plan('questions'),
  tool_search: plan('query', 'limit'),
};
