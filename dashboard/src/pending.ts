// The approvals that wait for an answer. They are loaded once and then updated by live events. The navigation counts
// them; the overview and the inbox show them.

import { effect, signal } from '@preact/signals';
import { get } from './api.ts';
import { now } from './clock.ts';
import { listen } from './live.ts';
import type { Approval, ListedApproval } from './resources.ts';

/** Newest first; undefined until loaded. */
export const pending = signal<Approval[] | undefined>(undefined);
/** Why they could not be loaded. */
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

/** Adds, replaces or removes an approval, depending on its status. */
export function updatePending(approval: Approval): void {
  const others = (pending.value ?? []).filter(each => each.referenceId !== approval.referenceId);
  pending.value = waits(approval)
    ? [approval, ...others].sort((a, b) => (a.referenceId < b.referenceId ? 1 : -1))
    : others;
}

export function startPending(): void {
  listen({ approval: updatePending, gap: loadPending });
  loadPending();
  // An approval disappears when it times out, even without an event.
  effect(() => {
    const shown = pending.value;
    if (shown?.some(each => Date.parse(each.expiresAt) <= now.value)) pending.value = shown.filter(waits);
  });
}
