// The approvals that wait for an answer. They are loaded once and then updated by live events. The navigation counts
// them; the overview and the inbox show them.

import { effect, signal } from '@preact/signals';
import { get } from './api.ts';
import { now } from './clock.ts';
import { isLive, listen } from './live.ts';
import type { Approval, ListedApproval } from './resources.ts';

/** Newest first; undefined until loaded. */
export const pending = signal<Approval[] | undefined>(undefined);
/** Why they could not be loaded. */
export const pendingError = signal<Error | null>(null);

/** The most that are loaded: more than people can answer. */
const MOST = 5000;
const PAGE = 1000;
/** How often they are read without a stream, so that the title of a tab in the background tells that a call waits. */
const POLL_MS = 60_000;

let loading: Promise<void> | null = null;
let again = false;

/** While they are being loaded, all further calls together cause one more loading. */
export function loadPending(): Promise<void> {
  if (loading === null)
    loading = load().finally(() => {
      loading = null;
    });
  else again = true;
  return loading;
}

async function load(): Promise<void> {
  do {
    again = false;
    try {
      pending.value = (await read()).filter(waits);
      pendingError.value = null;
    } catch (error) {
      pendingError.value = error as Error;
    }
  } while (again);
}

async function read(): Promise<ListedApproval[]> {
  const all: ListedApproval[] = [];
  let cursor: string | null = null;
  do {
    const query = { status: 'pending', limit: PAGE, cursor };
    const page: Page = await get('/approvals', query);
    all.push(...page.approvals);
    cursor = page.nextCursor;
  } while (cursor !== null && all.length < MOST);
  return all;
}

interface Page {
  approvals: ListedApproval[];
  nextCursor: string | null;
}

const waits = (approval: Approval): boolean =>
  approval.status === 'pending' && Date.parse(approval.expiresAt) > Date.now();

/** Adds, replaces or removes an approval, depending on its status. */
export function updatePending(approval: Approval): void {
  const isIt = (each: Approval) => each.referenceId === approval.referenceId;
  const before = pending.value?.find(isIt);
  const others = (pending.value ?? []).filter(each => !isIt(each));
  pending.value = waits(approval)
    ? [{ ...before, ...approval }, ...others].sort((a, b) => (a.referenceId < b.referenceId ? 1 : -1))
    : others;
}

/**
 * An event leaves out fields that the list has, above all the details. Events that arrive within this time cause one
 * loading.
 */
const LISTED_AFTER_MS = 1000;
let due: ReturnType<typeof setTimeout> | null = null;

function arrived(approval: Approval): void {
  updatePending(approval);
  const known = pending.value?.find(each => each.referenceId === approval.referenceId);
  if (known === undefined || known.proof !== undefined || due !== null) return;
  due = setTimeout(() => {
    due = null;
    loadPending();
  }, LISTED_AFTER_MS);
}

export function startPending(): void {
  listen({ approval: arrived, gap: loadPending });
  loadPending();
  setInterval(() => {
    if (!isLive.value) loadPending();
  }, POLL_MS);
  // An approval disappears when it times out, even without an event.
  effect(() => {
    const shown = pending.value;
    if (shown?.some(each => Date.parse(each.expiresAt) <= now.value)) pending.value = shown.filter(waits);
  });
}
