// The button that withdraws an approval which was given and not used yet.

import { announce } from '../../announce.ts';
import { post } from '../../api.ts';
import { now } from '../../clock.ts';
import { Confirm } from '../../components/dialog.tsx';
import { Tool } from '../../components/text.tsx';
import type { ListedApproval } from '../../resources.ts';
import { mayResolve } from '../../session.ts';
import { usageOf } from './usage.ts';

interface WithdrawProps {
  approval: ListedApproval;
  done: () => void;
  /** The class of the button. */
  looks?: string;
}

/** Nothing if there is nothing to withdraw, or the operator may not. */
export function Withdraw({ approval, done, looks }: WithdrawProps) {
  if (!mayResolve.value || usageOf(approval, now.value)?.kind !== 'usable') return null;
  const { referenceId, serverName, toolName } = approval;
  const withdraw = async () => {
    try {
      await post(`/approvals/${referenceId}/withdraw`);
    } finally {
      done();
    }
    announce(`Withdrawn: ${serverName}__${toolName}`);
  };
  return (
    <Confirm label="Withdraw" title="Withdraw this approval?" run={withdraw} class={looks ?? 'plain'}>
      From then on it frees no call to <Tool serverName={serverName} toolName={toolName} />; the agent has to
      ask again.
    </Confirm>
  );
}
