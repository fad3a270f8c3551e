// The button that approves a call. Where the person does not have all of it in front of them, it leads to the page that
// shows it; where nobody can see all of it any more, approving takes a second step.

import { visible } from '../../../../../src/core/text/visible.ts';
import { Confirm } from '../../../components/dialog.tsx';
import type { Approval } from '../../../resources.ts';
import type { Place, Sight } from '../sight.ts';
import { needsPasskey, pageOf, toolOf } from './answer.ts';
import type { Look } from './look.ts';

interface ApproveProps {
  place: Place;
  approval: Approval;
  look: Look;
  /** Null until it is known what can be seen. */
  sight: Sight | null;
  busy: boolean;
  press: () => void;
  /** The answer itself, for the second step. */
  answer: () => Promise<void>;
}

export function Approve({ place, approval, look, sight, busy, press, answer }: ApproveProps) {
  const tool = visible(toolOf(approval));
  const signs = needsPasskey(approval, 'approve');
  if (place === 'card' && (look.error !== null || (sight !== null && sight.kind !== 'whole'))) {
    const isGone = sight?.kind === 'unseen';
    return (
      <a class={isGone ? 'button plain' : 'button'} data-key="a" href={pageOf(approval)}>
        {isGone ? 'Open its page' : 'Read everything, then approve'}
        <span class="unseen"> {tool}</span>
      </a>
    );
  }
  if (sight?.kind === 'unseen') return <Unseen seen={sight.seen} signs={signs} busy={busy} answer={answer} />;
  return (
    <button
      type="button"
      data-key="a"
      data-signs={signs ? '' : undefined}
      disabled={busy || (sight === null && look.error === null)}
      onClick={press}
    >
      {signs ? 'Approve with passkey' : 'Approve'}
      <span class="unseen"> {tool}</span>
    </button>
  );
}

interface UnseenProps {
  seen: 'incomplete' | 'gone';
  signs: boolean;
  busy: boolean;
  answer: () => Promise<void>;
}

const WHAT = {
  incomplete: 'Parts of this call were never shown to anybody, and they may do anything.',
  gone: 'Nobody can see any more what this call would do. It may do anything that the tool can.',
} as const;

function Unseen({ seen, signs, busy, answer }: UnseenProps) {
  return (
    <Confirm
      label="Approve unseen…"
      title={seen === 'gone' ? 'Approve without seeing the call?' : 'Approve without seeing all of it?'}
      action={signs ? 'Approve it unseen, with passkey' : 'Approve it unseen'}
      class="plain"
      disabled={busy}
      run={answer}
    >
      {WHAT[seen]} It is safer to deny it, and to let the agent ask again.
    </Confirm>
  );
}
