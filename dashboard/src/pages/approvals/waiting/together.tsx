// Answers several calls together: what will be answered, the progress, and what failed. Each is a request of its own.

import { useRef, useState } from 'preact/hooks';
import { announce } from '../../../announce.ts';
import { Dialog } from '../../../components/dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { Named, Tool } from '../../../components/text.tsx';
import { keyName } from '../../../names.ts';
import type { Approval } from '../../../resources.ts';
import { mustBeRead } from '../sight.ts';
import { type Answer, needsPasskey, pageOf, sendAll, withNote } from './answer.ts';
import { type Alike, alikeOf, type Card } from './inbox.ts';

interface TogetherProps {
  selected: Card[];
  clear: () => void;
  changed: (approval: Approval) => void;
  /** Gives the focus to a card, or to the list, when the bar disappears. */
  focus: (card?: Card) => void;
}

/** The bar at the bottom of the screen, while calls are selected. */
export function Together({ selected, clear, changed, focus }: TogetherProps) {
  const [asks, setAsks] = useState<{ action: Answer['action']; cards: Card[] } | null>(null);
  const close = () => {
    setAsks(null);
    focus(asks?.cards[0]);
  };
  if (selected.length === 0 && asks === null) return null;
  const ask = (action: Answer['action']) => setAsks({ action, cards: selected });
  return (
    <section class="together" aria-label="Selected calls">
      <p>
        <b>{selected.length} selected</b>
      </p>
      <button
        type="button"
        class="plain"
        onClick={() => {
          clear();
          focus();
        }}
      >
        Clear
      </button>
      <button type="button" onClick={() => ask('approve')}>
        Approve {selected.length}…
      </button>
      <button type="button" class="plain deny" onClick={() => ask('deny')}>
        Deny {selected.length}…
      </button>
      {asks !== null && <AnswerAll {...asks} changed={changed} onClose={close} done={clear} />}
    </section>
  );
}

interface AnswerAllProps {
  action: Answer['action'];
  cards: Card[];
  changed: (approval: Approval) => void;
  onClose: () => void;
  done: () => void;
}

interface Failure {
  asked: Approval;
  error: Error;
}

const calls = (count: number): string => (count === 1 ? '1 call' : `${count} calls`);

function AnswerAll({ action, cards: chosen, changed, onClose, done }: AnswerAllProps) {
  const signed = chosen.filter(({ approval }) => needsPasskey(approval, action));
  const unread = action === 'approve' ? chosen.filter(({ approval }) => mustBeRead(approval)) : [];
  const cards = chosen.filter(card => !signed.includes(card) && !unread.includes(card));
  const note = useRef<HTMLTextAreaElement>(null);
  const [answered, setAnswered] = useState<number | null>(null);
  const [failures, setFailures] = useState<Failure[]>([]);
  const verb = action === 'approve' ? 'Approve' : 'Deny';
  const isDone = answered === cards.length;
  const start = async () => {
    setAnswered(0);
    const failed: Failure[] = [];
    const answer = withNote({ action }, note.current?.value ?? '');
    await sendAll(
      cards.map(card => card.approval),
      answer,
      (asked, is, error) => {
        if (is !== null) changed(is);
        if (error !== null) failed.push({ asked, error });
        setAnswered(before => (before ?? 0) + 1);
      },
    );
    announce(`${action === 'approve' ? 'Approved' : 'Denied'}: ${calls(cards.length - failed.length)}`);
    done();
    if (failed.length === 0) onClose();
    else setFailures(failed);
  };
  return (
    <Dialog title={`${verb} ${calls(cards.length)}?`} open onClose={onClose}>
      <div class="stack">
        {signed.length > 0 && <Unsigned count={signed.length} />}
        {unread.length > 0 && <Unread cards={unread} />}
        {answered === null && cards.length > 0 && <Summary groups={alikeOf(cards)} />}
        {answered === null && cards.length > 0 && (
          <Field label="Note to the agents, optional">
            {ties => <textarea ref={note} rows={2} maxLength={500} {...ties} />}
          </Field>
        )}
        {answered !== null && (
          <p role="status">
            {answered} of {cards.length} done
            <progress max={cards.length} value={answered} aria-label="Answered" />
          </p>
        )}
        {failures.length > 0 && <Failures failures={failures} />}
        <footer>
          <button type="button" class="plain" onClick={onClose} disabled={answered !== null && !isDone}>
            {isDone ? 'Close' : 'Cancel'}
          </button>
          {answered === null && cards.length > 0 && (
            <button type="button" class={action === 'deny' ? 'danger' : undefined} onClick={start}>
              {verb} {calls(cards.length)}
            </button>
          )}
        </footer>
      </div>
    </Dialog>
  );
}

function Unsigned({ count }: { count: number }) {
  return (
    <p class="notice">
      {count === 1 ? '1 of the selected calls has' : `${count} of the selected calls have`} to be approved
      with your passkey, each on its own card, and {count === 1 ? 'is' : 'are'} left out here.
    </p>
  );
}

function Unread({ cards }: { cards: Card[] }) {
  return (
    <div class="notice left-out summary">
      <p>
        <b>
          Left out: {cards.length === 1 ? '1 call has' : `${cards.length} calls have`} to be read first,
          because the list does not show all of {cards.length === 1 ? 'it' : 'them'}.
        </b>
      </p>
      <ul>
        {cards.slice(0, MOST_NAMED).map(({ approval }) => (
          <li key={approval.referenceId}>
            <a href={pageOf(approval)}>
              <Tool serverName={approval.serverName} toolName={approval.toolName} />
            </a>
          </li>
        ))}
        {cards.length > MOST_NAMED && <li>and {cards.length - MOST_NAMED} more</li>}
      </ul>
    </div>
  );
}

const MOST_NAMED = 20;

function Summary({ groups }: { groups: Alike[] }) {
  return (
    <div class="summary">
      <p>Each of them is answered on its own:</p>
      <ul>
        {groups.map(({ id, cards }) => {
          const { serverName, toolName, keyId } = (cards[0] as Card).approval;
          return (
            <li key={id}>
              {calls(cards.length)} of <Tool serverName={serverName} toolName={toolName} />, key{' '}
              <Named text={keyName(keyId)} />
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function Failures({ failures }: { failures: Failure[] }) {
  return (
    <div class="notice problem summary" role="alert">
      <p>{calls(failures.length)} could not be answered:</p>
      <ul>
        {failures.map(({ asked: { referenceId, serverName, toolName }, error }) => (
          <li key={referenceId}>
            <a href={`/dashboard/approvals/${referenceId}`}>
              <Tool serverName={serverName} toolName={toolName} />
            </a>
            : {error.message}
          </li>
        ))}
      </ul>
    </div>
  );
}
