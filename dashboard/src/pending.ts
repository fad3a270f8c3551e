// The approvals that wait for an answer: read once, then kept up by live events. The navigation counts them, the
// overview and the inbox show them.

import { effect, signal } from '@preact/signals';
import { get } from './api.ts';
import { now } from './clock.ts';
import { listen } from './live.ts';
import type { Approval, ListedApproval } from './resources.ts';

/** Newest first; undefined until read. */
export const pending = signal<Approval[] | undefined>(undefined);
/** Why they could not be read. */
export const pendingError = signal<Error | null>(null);

export async function loadPending(): Promise<void> {
  try {
    const { approvals } = await get<{ approvals: ListedApproval[] }>('/approvals', {
      status: 'pending',
      limit: 1000,
    });
    pending.value = approvals.filter(waits);
    pendingError.value = null;
  } catch (error) {
    pendingError.value = error as Error;
  }
}

const waits = (approval: Approval): boolean =>
  approval.status === 'pending' && Date.parse(approval.expiresAt) > Date.now();

/** Takes in what became of one. */
export function settle(approval: Approval): void {
  const others = (pending.value ?? []).filter(each => each.referenceId !== approval.referenceId);
  pending.value = waits(approval)
    ? [approval, ...others].sort((a, b) => (a.referenceId < b.referenceId ? 1 : -1))
    : others;
}

export function startPending(): void {
  listen({ approval: settle, gap: loadPending });
  loadPending();
  // A lapsed one is gone at its moment, whether or not anybody says so.
  effect(() => {
    const shown = pending.value;
    if (shown?.some(each => Date.parse(each.expiresAt) <= now.value)) pending.value = shown.filter(waits);
  });
}
