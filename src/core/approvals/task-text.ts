// What became of the call of a task, in words, for the dashboard and the command line. Tasks are what clients of MCP ask
// about instead of waiting.

import type { ListedApproval, WholeApproval } from '../api/resources.ts';
import type { Tasked } from './runs-on-approval.ts';

type Task = NonNullable<ListedApproval['task']>;
type Outcome = NonNullable<NonNullable<WholeApproval['freed']>['forwarded']>['outcome'];

/** What came back of a call that was forwarded. */
export const OUTCOMES: Record<Outcome, string> = {
  ok: 'the tool answered',
  tool_error: 'the tool answered with an error',
  upstream_failure: 'the tool server failed',
  timed_out: 'the tool server did not answer in time',
  cancelled: 'the agent cancelled the call',
  outcome_unknown: 'it is not known whether this call ran',
  sign_in_needed: 'somebody had to sign in to the tool server first',
};

/** In a few words; null where there is nothing to say about its task. */
export function taskText({
  status,
  task,
  spentAt,
  withdrawnAt,
}: Tasked & Pick<ListedApproval, 'spentAt' | 'withdrawnAt'>): string | null {
  if (task === undefined || status !== 'approved') return null;
  switch (task.state) {
    case 'held':
      return 'waits to run';
    case 'gone':
      // The agent may have done so, or need not any more.
      return spentAt === null && withdrawnAt === null ? 'no longer held: the agent has to call again' : null;
    case 'runs':
      return 'runs now';
    case 'ended':
      return task.outcome === null ? 'not allowed any more, so it was not made' : OUTCOMES[task.outcome];
  }
}

/** Whether something is still to come by itself. */
export const isTaskUnderWay = (task: Task | undefined): boolean =>
  task?.state === 'held' || task?.state === 'runs';
