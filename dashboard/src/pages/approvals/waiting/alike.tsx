// Alike calls (same key, same tool) as one card, which unfolds.

import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { Named, Tool } from '../../../components/text.tsx';
import { keyName } from '../../../names.ts';
import { mayResolve } from '../../../session.ts';
import { type Alike, type Card, isWaiting } from './inbox.ts';

interface AlikeCallsProps {
  group: Alike;
  select: (cards: Card[], on: boolean) => void;
  isSelected: (card: Card) => boolean;
  draw: (card: Card) => ComponentChildren;
}

export function AlikeCalls({ group: { cards }, select, isSelected, draw }: AlikeCallsProps) {
  const [unfolded, setUnfolded] = useState(false);
  const id = useId();
  const { serverName, toolName, keyId } = (cards[0] as Card).approval;
  const waiting = cards.filter(isWaiting);
  const all = waiting.length > 0 && waiting.every(isSelected);
  return (
    <li class="alike">
      <div class="alike-head" tabIndex={-1} data-stop>
        <h2 id={id}>
          <Tool serverName={serverName} toolName={toolName} />
        </h2>
        <p class="soft">
          <b>{waiting.length} waiting</b> · key <Named text={keyName(keyId)} />
        </p>
        <div class="answers">
          <button
            type="button"
            class="plain"
            aria-expanded={unfolded}
            onClick={() => setUnfolded(before => !before)}
          >
            {unfolded ? 'Hide them' : `Show all ${cards.length}`}
          </button>
          {mayResolve.value && waiting.length > 0 && (
            <button type="button" class="plain" data-key="x" onClick={() => select(waiting, !all)}>
              {all ? 'Select none of them' : `Select these ${waiting.length}`}
            </button>
          )}
        </div>
      </div>
      {unfolded && (
        <ul class="questions" aria-labelledby={id}>
          {cards.map(draw)}
        </ul>
      )}
    </li>
  );
}
