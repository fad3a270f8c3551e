// Notifications of the browser: with the operator's consent, calls that begin to wait while the page is in the background.
// A notification leaves our hands, so it names the tool and the key and shows nothing of what the call would do.

import { effect, signal, untracked } from '@preact/signals';
import { visible } from '../../src/core/text/visible.ts';
import { announce } from './announce.ts';
import { keyName } from './names.ts';
import { pending } from './pending.ts';
import type { Approval } from './resources.ts';
import { mayResolve } from './session.ts';

/** The browser has none on this page: it is too old, or the page comes over http from another machine. */
export const hasNotifications = 'Notification' in window;

const STORED = 'toolgate.notifications';
/** Calls that begin to wait within this time share one notification. */
const TOGETHER_MS = 2000;

/** The choice is kept in this browser; whoever withdraws the permission there has switched them off too. */
export const notifies = signal(
  hasNotifications && localStorage.getItem(STORED) === 'on' && Notification.permission === 'granted',
);

function choose(on: boolean): void {
  notifies.value = on;
  if (on) localStorage.setItem(STORED, 'on');
  else localStorage.removeItem(STORED);
}

/** Asks for the browser's permission. Only a button calls it, so that the browser asks nobody who did not want it. */
export async function startNotifications(): Promise<void> {
  const permission = await Notification.requestPermission();
  choose(permission === 'granted');
  announce(
    permission === 'granted'
      ? 'You will be notified of calls that wait while this page is in the background.'
      : 'The browser does not permit notifications of this page. Its settings can change that.',
  );
}

export function stopNotifications(): void {
  choose(false);
  announce('You will not be notified any more.');
}

const open = new Map<string, Notification>();
let fresh: Approval[] = [];

export function watchPending(): void {
  let known: Set<string> | null = null;
  effect(() => {
    const waiting = pending.value;
    if (waiting === undefined) return;
    const ids = new Set(waiting.map(each => each.referenceId));
    closeAnswered(ids);
    const came = known === null ? [] : waiting.filter(each => known?.has(each.referenceId) === false);
    known = ids;
    if (came.length > 0 && wanted()) collect(came);
  });
}

function closeAnswered(waiting: Set<string>): void {
  for (const [id, notification] of open) {
    if (waiting.has(id)) continue;
    notification.close();
    open.delete(id);
  }
}

const wanted = (): boolean =>
  notifies.peek() && mayResolve.peek() && (document.hidden || !document.hasFocus());

function collect(came: Approval[]): void {
  if (fresh.length === 0) setTimeout(tell, TOGETHER_MS);
  fresh.push(...came);
  // The names of keys are loaded when they are first asked for.
  untracked(() => came.map(each => keyName(each.keyId)));
}

function tell(): void {
  const ids = new Set(pending.peek()?.map(each => each.referenceId));
  const waiting = fresh.filter(each => ids.has(each.referenceId));
  fresh = [];
  const [first] = waiting;
  if (first !== undefined && waiting.length === 1) showOne(first);
  else if (first !== undefined) show('several', `${waiting.length} calls wait for an answer`, '', '');
}

function showOne({ referenceId, serverName, toolName, keyId }: Approval): void {
  const tool = visible(`${serverName}__${toolName}`);
  const key = visible(keyName(keyId));
  const shown = show(referenceId, `${tool} waits for an answer`, `Key ${key}`, `/${referenceId}`);
  if (shown !== null) open.set(referenceId, shown);
}

/** Several tabs may report the same call: of notifications with the same tag the browser shows one. */
function show(tag: string, title: string, body: string, path: string): Notification | null {
  try {
    const notification = new Notification(title, { body, tag });
    notification.onclick = () => {
      notification.close();
      window.focus();
      location.assign(`/dashboard/approvals${path}`);
    };
    return notification;
  } catch {
    // Browsers of phones grant the permission, and then refuse to show anything for a page.
    choose(false);
    return null;
  }
}
