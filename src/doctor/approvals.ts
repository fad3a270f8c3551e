// The check of the queue of approvals: whether agents are denied because theirs is full, and whether questions wait for
// groups that have nobody who could answer.

import { lackingText } from '../core/approvals/approval.ts';
import { type Attention, attention } from '../guard/approvals/able.ts';
import { type Examination, type Found, good, warning } from './examine.ts';
import { type Examined, withStore } from './examined.ts';

const NAME = 'approvals';

export function approvalsCheck(examined: Examined): Examination {
  return {
    name: NAME,
    run: () =>
      withStore(examined, async db => {
        const found = faultsIn(await attention(db, Date.now(), examined.config));
        return found.length > 0
          ? found
          : [good(NAME, 'No agent has reached its limit of open approvals, and each can be answered.')];
      }),
  };
}

function faultsIn({ full, unanswerable }: Attention): Found[] {
  const queues = full.map(({ keyName, sessionId, open, atMost }) =>
    warning(
      NAME,
      `${sessionId === null ? 'The key' : 'A session of the key'} "${keyName}" has ${open} open approvals (at most ${atMost}), so further calls that need one are denied: answer some of them.`,
    ),
  );
  const groups = unanswerable.map(({ open, referenceId, ...lacking }) =>
    warning(NAME, `${open} open, the oldest is ${referenceId}. ${lackingText(lacking)}`),
  );
  return [...queues, ...groups];
}
