// What whoever approves the call of a task has to know. The inbox loads it at once; task-text.ts has the words for later.

import type { ListedApproval } from '../api/resources.ts';

/** An approval and its task, if it has one. */
export interface Tasked {
  status: ListedApproval['status'];
  task?: ListedApproval['task'] | undefined;
}

/** That the call is made then, without a further step of the agent. Null where it is not. */
export const runsOnApproval = ({ status, task }: Tasked): string | null =>
  status === 'pending' && task?.state === 'held'
    ? 'Toolgate makes this call as soon as it is approved.'
    : null;
