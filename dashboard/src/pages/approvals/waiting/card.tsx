// One call of the inbox. It keeps its place and its height when it ends, and the focus stays at it.

import { Component } from 'preact';
import { useCallback, useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks';
import { visible } from '../../../../../src/core/text/visible.ts';
import { Named, Time, Tool } from '../../../components/text.tsx';
import type { Approval, WholeApproval } from '../../../resources.ts';
import { mayResolve, me } from '../../../session.ts';
import { toolOf } from './answer.ts';
import { Answers, Votes } from './answers.tsx';
import { Asked, TimeLeft } from './asked.tsx';
import { heightOf, watchHeight } from './heights.ts';
import { type Card, type Ending, endingWords } from './inbox.ts';
import { useLook } from './look.ts';
import { interruptTyping } from './shortcuts.tsx';

interface QuestionProps {
  card: Card;
  isSelected: boolean;
  select: (on: boolean) => void;
  changed: (approval: Approval) => void;
}

/**
 * A card is drawn anew only if it has changed: answering hundreds of calls together would draw each of them hundreds of
 * times.
 */
export class Question extends Component<QuestionProps> {
  override shouldComponentUpdate({ card, isSelected }: QuestionProps): boolean {
    return card !== this.props.card || isSelected !== this.props.isSelected;
  }

  render(props: QuestionProps) {
    return <Drawn {...props} />;
  }
}

function Drawn({ card: { approval, ending }, isSelected, select, changed }: QuestionProps) {
  const element = useRef<HTMLLIElement>(null);
  const look = useLook(element, approval.referenceId);
  const focus = useCallback(() => element.current?.focus({ preventScroll: true }), []);
  const height = useStays(element, ending !== null, focus);
  const { whole, again } = look;
  const known: Approval = whole === null ? approval : { ...approval, proof: whole.proof };
  const unknown = ending?.status === 'elsewhere';
  useEffect(() => {
    if (unknown) again();
  }, [unknown, again]);
  useEffect(() => {
    if (whole !== null && isNews(whole, approval)) changed(listedOf(whole));
  }, [whole]);
  const id = useId();
  const title = (
    <h2 id={id}>
      <Tool serverName={approval.serverName} toolName={approval.toolName} />
    </h2>
  );
  const frame = {
    ref: element,
    class: ending === null ? 'question' : 'question ended',
    tabIndex: -1,
    'data-stop': true,
    'data-id': approval.referenceId,
    'aria-labelledby': id,
  };
  if (!look.isNear && canFold(element.current))
    return (
      <li {...frame} style={{ minHeight: `${heightOf(element.current)}px` }}>
        {title}
      </li>
    );
  return (
    <li {...frame} style={{ minHeight: height }}>
      <div class="asked">
        <div class="call">
          {mayResolve.value && ending === null && (
            <input
              type="checkbox"
              data-key="x"
              aria-label={`Select ${visible(toolOf(approval))}`}
              checked={isSelected}
              onChange={event => select(event.currentTarget.checked)}
            />
          )}
          {title}
        </div>
        <Asked approval={approval} look={look} />
        {ending === null && <Votes approval={known} />}
      </div>
      {ending === null && <TimeLeft approval={approval} />}
      {ending === null && (
        <Answers place="card" approval={known} look={look} changed={changed} focus={focus} />
      )}
      {ending !== null && <Ended ending={ending} note={approval.note} />}
    </li>
  );
}

/**
 * Far from the screen a card keeps its height and its name only: the times on hundreds of cards, which change every
 * second, would keep the browser busy. A note that was begun stays.
 */
const canFold = (card: HTMLElement | null): card is HTMLElement =>
  card !== null &&
  heightOf(card) > 0 &&
  !card.contains(document.activeElement) &&
  card.querySelector('textarea, dialog[open]') === null;

/** What was loaded may be newer than the list: it has ended meanwhile, or has further votes. */
const isNews = (whole: WholeApproval, { status, votes }: Approval): boolean =>
  whole.status !== status || whole.votes.approved.length > votes.approved.length;

/** Without what is only for the card: the list has the beginning of the details only. */
function listedOf({
  context,
  notifications,
  freed,
  details,
  detailsInserted,
  detailsGone,
  detailsHidden,
  ...listed
}: WholeApproval) {
  return listed;
}

function Ended({ ending, note }: { ending: Ending; note: string | null }) {
  return (
    <p class="ending">
      <b>
        <Named text={endingWords(ending, me.value.email)} />
      </b>
      {ending.grantExpiresAt !== null && (
        <>
          , for a while: until <Time at={ending.grantExpiresAt} />
        </>
      )}
      {note !== null && note !== '' && (
        <>
          {' '}
          · note: <Named text={note} />
        </>
      )}
    </p>
  );
}

/** When a card ends, its buttons go. It stays as high as it was, and takes the focus that one of them had. */
function useStays(
  card: { current: HTMLElement | null },
  hasEnded: boolean,
  focus: () => void,
): string | undefined {
  const height = useRef<string | undefined>(undefined);
  const hadFocus = useRef<Element | null>(null);
  useEffect(() => watchHeight(card.current), []);
  // Height and focus are read before the change is drawn.
  if (hasEnded && height.current === undefined && card.current !== null) {
    height.current = `${heightOf(card.current)}px`;
    hadFocus.current = card.current.contains(document.activeElement) ? document.activeElement : null;
  }
  useLayoutEffect(() => {
    if (!hasEnded || hadFocus.current === null) return;
    interruptTyping(hadFocus.current);
    focus();
  }, [hasEnded]);
  return height.current;
}
