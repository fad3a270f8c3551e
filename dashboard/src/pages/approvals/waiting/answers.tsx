// The possible answers to a call, or why this person has none.

import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { answeredBy, MAX_SAME } from '../../../../../src/core/approvals/approval.ts';
import { bindable } from '../../../../../src/core/approvals/details.ts';
import { normalEmail } from '../../../../../src/core/text/email.ts';
import { visible } from '../../../../../src/core/text/visible.ts';
import { announce } from '../../../announce.ts';
import { Refusal } from '../../../api.ts';
import { Field } from '../../../components/field.tsx';
import { Problem } from '../../../components/states.tsx';
import { Named } from '../../../components/text.tsx';
import { useAction } from '../../../load.ts';
import type { Approval } from '../../../resources.ts';
import { mayResolve, me } from '../../../session.ts';
import { type Place, type Sight, sightOf } from '../sight.ts';
import { type Answer, needsPasskey, send, toolOf, withNote } from './answer.ts';
import { Approve } from './approve.tsx';
import { ForAWhile } from './for-a-while.tsx';
import type { Look } from './look.ts';

interface AnswersProps {
  place: Place;
  approval: Approval;
  look: Look;
  /** The approval after an answer. */
  changed: (approval: Approval) => void;
  /** Keeps the focus at the card. */
  focus: () => void;
}

export function Answers({ place, approval, look, changed, focus }: AnswersProps) {
  const { busy, error, run, clear } = useAction();
  const [lasting, setLasting] = useState(false);
  const note = useRef<HTMLTextAreaElement>(null);
  const [noting, setNoting] = useState(false);
  const sight: Sight | null = look.whole === null ? null : sightOf(look.whole, place);
  const answer = async (given: Answer) => {
    const seen = given.action === 'approve' && sight !== null && 'seen' in sight ? { seen: sight.seen } : {};
    const { approval: is, late } = await send(
      approval,
      withNote({ ...given, ...seen }, note.current?.value ?? ''),
    );
    announce(late?.message ?? said(is, approval, given));
    changed(is);
  };
  const press = (action: Answer['action']) => {
    focus();
    run(() => answer({ action }));
  };
  if (!mayResolve.value) return null;
  const why = whyNot(approval, look, error);
  if (why !== null) return <p class="votes">{why}</p>;
  const tool = visible(toolOf(approval));
  // A grant that cannot be bound to all that is shown is not offered: padding must not push a value out of its bounds.
  const lasts =
    sight?.kind === 'whole' &&
    approval.votes.needed === 1 &&
    !needsPasskey(approval, 'approve') &&
    bindable(look.whole?.details?.fields ?? []).length <= MAX_SAME;
  const deny = (
    <button
      type="button"
      class={sight?.kind === 'unseen' ? 'danger' : 'plain deny'}
      data-key="d"
      disabled={busy}
      onClick={() => press('deny')}
    >
      Deny<span class="unseen"> {tool}</span>
    </button>
  );
  const approve = (
    <Approve
      place={place}
      approval={approval}
      look={look}
      sight={sight}
      busy={busy}
      press={() => press('approve')}
      answer={() => answer({ action: 'approve' })}
    />
  );
  return (
    <>
      {noting && <Note of={note} />}
      <div class="answers">
        {sight?.kind === 'unseen' ? [deny, approve] : [approve, deny]}
        {lasts && (
          <button type="button" class="plain" disabled={busy} onClick={() => setLasting(true)}>
            Approve for a while…<span class="unseen"> {tool}</span>
          </button>
        )}
        {!noting && (
          <button type="button" class="plain" data-key="n" disabled={busy} onClick={() => setNoting(true)}>
            Add a note<span class="unseen"> {tool}</span>
          </button>
        )}
      </div>
      <Problem error={error} />
      {error instanceof Refusal && error.code === 'proof_needed' && (
        <p>
          <a href="/dashboard/account">Your passkeys</a>
        </p>
      )}
      {lasts && (
        <ForAWhile
          approval={approval}
          look={look}
          open={lasting}
          onClose={() => {
            clear();
            setLasting(false);
          }}
          answer={answer}
        />
      )}
    </>
  );
}

function said(is: Approval, asked: Approval, { action }: Answer): string {
  const tool = toolOf(asked);
  if (is.status === 'pending') return `Your approval counts, and more are needed: ${tool}`;
  return `${action === 'approve' ? 'Approved' : 'Denied'}: ${tool}`;
}

function Note({ of }: { of: RefObject<HTMLTextAreaElement | null> }) {
  useLayoutEffect(() => of.current?.focus(), []);
  return (
    <Field label="Note to the agent, optional" hint="At most 500 characters. Send it with an answer.">
      {ties => <textarea ref={of} rows={2} maxLength={500} {...ties} />}
    </Field>
  );
}

/** Why this person cannot answer, or null if they can, as far as the page knows. */
function whyNot({ approverGroup, personEmail, votes }: Approval, { whole }: Look, error: Error | null) {
  // Who lacks a passkey can add one, and who took too long can try again.
  const isFinal = error instanceof Refusal && error.status === 403 && error.code !== 'proof_needed';
  const refused = isFinal ? error.message : null;
  if (refused !== null) return refused;
  const { email, groups } = me.value;
  if (personEmail !== undefined && email !== null && normalEmail(personEmail) === normalEmail(email))
    return 'This call was made in your own name, so somebody else has to answer.';
  if (approverGroup !== null && !groups.includes(approverGroup))
    return (
      <>
        Only operators of the group <Named text={approverGroup} /> answer this call.
      </>
    );
  if (votes.approved.some(({ by }) => by === `operator:${email}`))
    return 'You have approved this call. It waits for others.';
  if (whole?.detailsHidden === true) return 'You may not answer this call.';
  return null;
}

/**
 * Who has to answer, if not anybody may: how many of how many have approved, what a further vote does, and that a passkey
 * is needed.
 */
export function Votes({ approval: { approverGroup, proof = null, votes } }: { approval: Approval }) {
  if (approverGroup === null && proof === null) return null;
  const { needed, approved } = votes;
  const signs = proof !== null && 'Whoever approves it signs that with their passkey.';
  if (needed === 1)
    return (
      <p class="votes">
        {approverGroup !== null && (
          <>
            The group <Named text={approverGroup} /> answers this call.{' '}
          </>
        )}
        {signs}
      </p>
    );
  const left = needed - approved.length;
  return (
    <p class="votes">
      <b>
        {approved.length} of {needed}{' '}
        {approverGroup === null ? (
          'approvals.'
        ) : (
          <>
            of <Named text={approverGroup} />
          </>
        )}
      </b>{' '}
      {approved.length > 0 && (
        <>
          {approverGroup === null ? 'Approved by ' : 'approved: '}
          <Named text={approved.map(({ by }) => answeredBy(by)).join(', ')} />.{' '}
        </>
      )}
      {left === 1 ? 'One more approval is needed' : `${left} more approvals are needed`}; one denial ends it.{' '}
      {signs}
    </p>
  );
}
