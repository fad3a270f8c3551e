// The keys of the inbox. Keys that answer act on the card that has the focus, through its own buttons, and none acts while
// somebody types, not even when the field that they type in goes. People whose other tools send such keys can switch them
// off.

import { type Signal, signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';
import { announce } from '../../../announce.ts';
import { Dialog } from '../../../components/dialog.tsx';

const STORED = 'toolgate.shortcuts';
const isOn = signal(localStorage.getItem(STORED) !== 'off');

const KEYS: [string, string][] = [
  ['j', 'the next call'],
  ['k', 'the call before'],
  ['a', 'approve this call, if it needs no passkey; if not all of it is shown, open its page'],
  ['d', 'deny this call'],
  ['n', 'write a note to the agent first'],
  ['x', 'select this call, or stop selecting it'],
  ['?', 'show this help'],
];

const FIELDS = 'textarea, select, input:not([type="checkbox"])';

/** The person is typing, and the field has gone: what they go on typing is no key for the inbox. */
let isInterrupted = false;

/** Called when a card ends in which `had` had the focus. */
export function interruptTyping(had: Element | null): void {
  if (had?.matches('textarea') !== true) return;
  isInterrupted = true;
  announce(
    'This call was answered elsewhere, so your note was not sent. Press Escape to use the keys again.',
  );
}

export function useShortcuts(list: RefObject<HTMLElement | null>, help: Signal<boolean>): void {
  useEffect(() => {
    const goOn = () => {
      isInterrupted = false;
    };
    const press = (event: KeyboardEvent) => {
      if (event.key === 'Escape' || event.key === 'Tab') goOn();
      if (isInterrupted || !isMeant(event)) return;
      if (event.key === '?') help.value = true;
      else if (event.key === 'j' || event.key === 'k') move(list.current, event.key === 'j' ? 1 : -1);
      else act(list.current, event.key);
      event.preventDefault();
    };
    document.addEventListener('keydown', press);
    document.addEventListener('pointerdown', goOn);
    return () => {
      document.removeEventListener('keydown', press);
      document.removeEventListener('pointerdown', goOn);
      goOn();
    };
  }, []);
}

function isMeant({ key, target, repeat, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  if (!isOn.value || ctrlKey || metaKey || altKey || !KEYS.some(([known]) => known === key)) return false;
  // A key that is held down moves on, and answers nothing more.
  if (repeat && key !== 'j' && key !== 'k') return false;
  return !(target as Element).matches(FIELDS) && document.querySelector('dialog[open]') === null;
}

/** The cards, and the heads of groups. */
const STOP = '[data-stop]';

function move(list: HTMLElement | null, by: 1 | -1): void {
  const stops = Array.from(list?.querySelectorAll<HTMLElement>(STOP) ?? []);
  const at = stops.findIndex(stop => stop.contains(document.activeElement));
  const next = at === -1 ? stops.find(isOnScreen) : stops[at + by];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: 'nearest' });
}

const isOnScreen = (stop: HTMLElement): boolean => stop.getBoundingClientRect().bottom > 0;

function act(list: HTMLElement | null, key: string): void {
  const card = document.activeElement?.closest<HTMLElement>(STOP);
  if (card === null || card === undefined || list?.contains(card) !== true) return;
  const button = card.querySelector<HTMLElement>(`[data-key="${key}"]`);
  if (button?.dataset['signs'] === undefined) {
    button?.click();
    return;
  }
  // A passkey is asked for by whoever presses the button itself.
  announce('This call has to be approved with your passkey. Press its button.');
  button.focus();
}

export function Help({ open }: { open: Signal<boolean> }) {
  const close = () => {
    open.value = false;
  };
  const choose = (on: boolean) => {
    isOn.value = on;
    if (on) localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, 'off');
  };
  return (
    <Dialog title="Keyboard shortcuts" open={open.value} onClose={close}>
      <div class="stack">
        <dl class="keys">
          {KEYS.map(([key, words]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{words}</dd>
            </div>
          ))}
        </dl>
        <p class="soft small">“This call” is the one with the focus, which has a frame around it.</p>
        <label class="check">
          <input
            type="checkbox"
            checked={isOn.value}
            onChange={event => choose(event.currentTarget.checked)}
          />
          Use these shortcuts
        </label>
      </div>
    </Dialog>
  );
}
