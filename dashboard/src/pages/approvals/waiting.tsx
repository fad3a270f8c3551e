// The inbox: the calls that wait for an answer, the newest first. Nothing moves while somebody looks: calls that begin to
// wait are announced, and answered ones stay where they were, until the person moves on.

import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { queryOf } from '../../api.ts';
import { Empty, Loading, Problem } from '../../components/states.tsx';
import { loadPending, pending, pendingError } from '../../pending.ts';
import { mayResolve } from '../../session.ts';
import { Stuck } from './stuck.tsx';
import { AlikeCalls } from './waiting/alike.tsx';
import { Question } from './waiting/card.tsx';
import { FilterBar, isFiltered, type View, viewIn } from './waiting/filter-bar.tsx';
import { type Alike, alikeOf, type Card, isWaiting } from './waiting/inbox.ts';
import { Help, useShortcuts } from './waiting/shortcuts.tsx';
import { useStill } from './waiting/still.ts';
import { Together } from './waiting/together.tsx';
import { useInbox } from './waiting/use-inbox.ts';

export function Waiting() {
  const { query, route } = useLocation();
  const view = viewIn(query);
  const inbox = useInbox(view);
  const list = useRef<HTMLUListElement>(null);
  const help = useSignal(false);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  useStill(list, `${inbox.round} ${view.alike}`);
  useShortcuts(list, help);
  const [toTop, setToTop] = useState(false);
  useLayoutEffect(() => {
    if (!toTop) return;
    setToTop(false);
    scrollTo(0, 0);
    list.current?.querySelector<HTMLElement>('[data-stop]')?.focus({ preventScroll: true });
  }, [toTop]);
  const change = ({ tool, keyId, group, alike }: View) => {
    setSelected(new Set());
    route(`/dashboard/approvals${queryOf({ tool, keyId, group, alike: alike ? 1 : null })}`, true);
  };
  const cards = inbox.cards ?? [];
  const isSelected = ({ approval }: Card) => selected.has(approval.referenceId);
  const select = (chosen: Card[], on: boolean) =>
    setSelected(before => {
      const ids = new Set(before);
      for (const { approval } of chosen)
        on ? ids.add(approval.referenceId) : ids.delete(approval.referenceId);
      return ids;
    });
  const draw = (card: Card) => (
    <Question
      key={card.approval.referenceId}
      card={card}
      isSelected={isSelected(card)}
      select={on => select([card], on)}
      changed={inbox.update}
    />
  );
  const waiting = cards.filter(isWaiting);
  const chosen = waiting.filter(isSelected);
  const focus = (card?: Card) => {
    const found = card && list.current?.querySelector(`[data-id="${card.approval.referenceId}"]`);
    ((found ?? list.current) as HTMLElement | null)?.focus({ preventScroll: true });
  };
  const shown = view.alike
    ? alikeOf(cards)
    : cards.map(card => ({ id: card.approval.referenceId, cards: [card] }));
  const hasAny = cards.length > 0 || isFiltered(view);
  return (
    <>
      <Stuck />
      <Problem error={pendingError.value} retry={loadPending} />
      {inbox.cards === null && pendingError.value === null && <Loading />}
      {inbox.cards !== null && !hasAny && <NothingWaits />}
      {!mayResolve.value && cards.length > 0 && (
        <p class="notice">Your role lets you look. Approvers and admins answer.</p>
      )}
      {hasAny && <FilterBar view={view} waiting={pending.value ?? []} change={change} />}
      {hasAny && (
        <Bar
          waiting={waiting.length}
          ended={cards.length - waiting.length}
          fresh={inbox.newcomers.length}
          showNew={() => {
            inbox.showNew();
            setSelected(new Set());
            setToTop(true);
          }}
          clearEnded={inbox.clearEnded}
          selectAll={mayResolve.value ? () => select(waiting, true) : null}
          help={() => {
            help.value = true;
          }}
        />
      )}
      {inbox.cards !== null && hasAny && cards.length === 0 && (
        <Empty title="No waiting call matches">Change the filter, or clear it.</Empty>
      )}
      <ul class="questions" ref={list} tabIndex={-1} aria-label="Waiting for an answer">
        {shown
          .slice(0, inbox.drawn)
          .map((group: Alike) =>
            group.cards.length === 1 ? (
              draw(group.cards[0] as Card)
            ) : (
              <AlikeCalls key={group.id} group={group} select={select} isSelected={isSelected} draw={draw} />
            ),
          )}
      </ul>
      {shown.length > inbox.drawn && (
        <End key={inbox.drawn} left={shown.length - inbox.drawn} more={inbox.more} />
      )}
      <Together selected={chosen} clear={() => setSelected(new Set())} changed={inbox.update} focus={focus} />
      <Help open={help} />
    </>
  );
}

function NothingWaits() {
  return (
    <div class="panel">
      <Empty title="Nothing waits for an answer">
        Calls that meet a rule with the action <code>require_approval</code> appear here as soon as they wait.
        Rules are under <a href="/dashboard/policies">Policies</a>.
      </Empty>
    </div>
  );
}

interface BarProps {
  waiting: number;
  ended: number;
  fresh: number;
  showNew: () => void;
  clearEnded: () => void;
  selectAll: (() => void) | null;
  help: () => void;
}

/** All of it has its place from the beginning, so that nothing below moves when a button appears. */
function Bar({ waiting, ended, fresh, showNew, clearEnded, selectAll, help }: BarProps) {
  const look = (isThere: boolean) => (isThere ? 'plain small' : 'plain small absent');
  return (
    <div class="inbox-bar">
      <p>{waiting} waiting</p>
      <p role="status" class="news">
        {fresh > 0 && (
          <button type="button" class="small" onClick={showNew}>
            Show {fresh} new
          </button>
        )}
      </p>
      <button type="button" class={`${look(ended > 0)} clear-ended`} onClick={clearEnded}>
        Clear answered
      </button>
      {selectAll !== null && (
        <button type="button" class={look(waiting > 1)} onClick={selectAll}>
          Select all {waiting}
        </button>
      )}
      <button type="button" class="plain small keys-help" onClick={help}>
        Shortcuts
      </button>
    </div>
  );
}

/** The end of what is drawn: when it comes near the screen, more is. */
function End({ left, more }: { left: number; more: () => void }) {
  const end = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting === true) more();
      },
      { rootMargin: '600px' },
    );
    if (end.current !== null) observer.observe(end.current);
    return () => observer.disconnect();
  }, []);
  return (
    <p class="more soft" ref={end}>
      {left} more
    </p>
  );
}
