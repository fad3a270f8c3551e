// Who is signed in, and what their role lets them do. Pages hide or disable the rest; the service refuses it in
// any case.

import { computed, signal } from '@preact/signals';
import { get } from './api.ts';
import type { Me, Role } from './resources.ts';

const RANK: Record<Role, number> = { viewer: 0, approver: 1, admin: 2 };

export const me = signal<Me | null>(null);
const rank = computed(() => (me.value === null ? -1 : RANK[me.value.role]));

/** May answer approvals. */
export const mayResolve = computed(() => rank.value >= RANK.approver);
/** May change anything. */
export const mayAdminister = computed(() => rank.value >= RANK.admin);

export async function loadMe(): Promise<void> {
  me.value = await get<Me>('/me');
}
