// Live updates: one stream of server-sent events for all pages. A browser allows six connections per host over all its
// tabs, so of its hidden tabs only one keeps a stream (hidden-tabs.ts), and thus learns at once that a call waits. The
// others close theirs; when such a tab is shown again, the pages reload their data, as after any other gap. Without a
// stream the pages still work: they load their data when they are shown, and pending.ts reads what waits once a minute.

import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { hideTab, mayStream, showTab } from './hidden-tabs.ts';
import type { Approval, AuditEntry } from './resources.ts';
import { loadMe } from './session.ts';

interface Listener {
  verdict?: (entry: AuditEntry) => void;
  approval?: (approval: Approval) => void;
  /** Events may have been missed: reload the data. */
  gap?: () => void;
}

/** Whether events arrive as they happen. */
export const isLive = signal(false);

const RETRY_MS = 5000;
const FLUSH_MS = 50;
const GAP_MS = 3000;
const listeners = new Set<Listener>();
let source: EventSource | null = null;
let retry: ReturnType<typeof setTimeout> | undefined;
let missed = false;

export function useLive(listener: Listener): void {
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => {
    const own: Listener = {
      verdict: entry => latest.current.verdict?.(entry),
      approval: approval => latest.current.approval?.(approval),
      gap: () => latest.current.gap?.(),
    };
    return listen(own);
  }, []);
}

/** For code outside components; returns a function that stops listening. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Asks every page to reload its data. */
export function refresh(): void {
  for (const { gap } of listeners) gap?.();
}

export function startLive(): void {
  const turned = () => (document.hidden ? hideTab(connect, disconnect) : show());
  document.addEventListener('visibilitychange', turned);
  // Without a stream, the data is reloaded when the window gets the focus.
  window.addEventListener('focus', () => {
    if (!isLive.value) refresh();
  });
  turned();
}

function show(): void {
  showTab();
  connect();
  if (isLive.value) catchUp();
}

/** Reloads what was missed while there was no stream, or while the tab was hidden. */
function catchUp(): void {
  if (missed) refresh();
  missed = false;
}

function connect(): void {
  if (source !== null || !mayStream()) return;
  clearTimeout(retry);
  source = new EventSource('/admin/v1/events');
  source.onopen = () => {
    isLive.value = true;
    catchUp();
  };
  source.onerror = () => {
    isLive.value = false;
    // In other states the browser reconnects by itself and continues after the last event.
    if (source?.readyState === EventSource.CLOSED) giveUp();
  };
  source.addEventListener('gap', soon);
  source.addEventListener('verdict', ({ data }) => {
    // Nobody looks at them in a hidden tab, and there may be many.
    if (document.hidden) missed = true;
    else take({ verdict: JSON.parse(data) as AuditEntry });
  });
  source.addEventListener('approval', ({ data }) => take({ approval: JSON.parse(data) as Approval }));
}

interface LiveEvent {
  verdict?: AuditEntry;
  approval?: Approval;
}

const received: LiveEvent[] = [];
let flushes = false;

/** Collects the events of a burst, so that the page is rendered once. */
function take(event: LiveEvent): void {
  received.push(event);
  if (flushes) return;
  flushes = true;
  setTimeout(() => {
    flushes = false;
    for (const { verdict, approval } of received.splice(0))
      for (const listener of listeners) {
        if (verdict !== undefined) listener.verdict?.(verdict);
        if (approval !== undefined) listener.approval?.(approval);
      }
  }, FLUSH_MS);
}

let reads = false;

/** Under heavy load there are many gaps in a row; one reload for all of them is enough. */
function soon(): void {
  if (reads) return;
  reads = true;
  setTimeout(() => {
    reads = false;
    refresh();
  }, GAP_MS);
}

function disconnect(): void {
  source?.close();
  source = null;
  isLive.value = false;
  missed = true;
}

/** The service refused the stream. Perhaps the sign-in has ended, which loading the operator finds out. */
function giveUp(): void {
  disconnect();
  loadMe().catch(() => {});
  retry = setTimeout(connect, RETRY_MS);
}
