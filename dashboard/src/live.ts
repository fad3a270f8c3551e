// Live updates: one stream of server-sent events for all that is shown. A hidden tab lets go of it, since a
// browser grants a host six connections over all its tabs; whoever looks again is told to read anew, as after
// any other gap. With no stream at all the pages work just the same, by reading when they are looked at.

import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Approval, AuditEntry } from './resources.ts';
import { loadMe } from './session.ts';

interface Listener {
  verdict?: (entry: AuditEntry) => void;
  approval?: (approval: Approval) => void;
  /** Something may have been missed: read again. */
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

/** For what is no component; answers how to stop. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Asks every page to read anew. */
export function refresh(): void {
  for (const { gap } of listeners) gap?.();
}

export function startLive(): void {
  document.addEventListener('visibilitychange', () => (document.hidden ? disconnect() : connect()));
  // Where there is no stream, looking at the window again is the occasion to read anew.
  window.addEventListener('focus', () => {
    if (!isLive.value) refresh();
  });
  connect();
}

function connect(): void {
  if (source !== null || document.hidden) return;
  clearTimeout(retry);
  source = new EventSource('/admin/v1/events');
  source.onopen = () => {
    isLive.value = true;
    if (missed) refresh();
    missed = false;
  };
  source.onerror = () => {
    isLive.value = false;
    // Otherwise the browser is connecting again by itself, and goes on where it was.
    if (source?.readyState === EventSource.CLOSED) giveUp();
  };
  source.addEventListener('gap', soon);
  source.addEventListener('verdict', ({ data }) => take({ verdict: JSON.parse(data) as AuditEntry }));
  source.addEventListener('approval', ({ data }) => take({ approval: JSON.parse(data) as Approval }));
}

interface Told {
  verdict?: AuditEntry;
  approval?: Approval;
}

const told: Told[] = [];
let flushes = false;

/** What comes in a burst is handed on together, so that it is drawn once. */
function take(news: Told): void {
  told.push(news);
  if (flushes) return;
  flushes = true;
  setTimeout(() => {
    flushes = false;
    for (const { verdict, approval } of told.splice(0))
      for (const listener of listeners) {
        if (verdict !== undefined) listener.verdict?.(verdict);
        if (approval !== undefined) listener.approval?.(approval);
      }
  }, FLUSH_MS);
}

let reads = false;

/** Under heavy load gaps follow each other; reading anew once for all of them is enough. */
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

/** The service refused the stream: perhaps the sign-in has ended, which asking who is signed in tells. */
function giveUp(): void {
  disconnect();
  loadMe().catch(() => {});
  retry = setTimeout(connect, RETRY_MS);
}
