// The signed-in operator, and what their role permits. Pages hide or disable everything else; the service refuses it in
// any case.

import { computed, signal } from '@preact/signals';
import { get } from './api.ts';
import type { Me, Role } from './resources.ts';

const RANK: Record<Role, number> = { user: 0, viewer: 1, approver: 2, admin: 3 };

export const me = signal<Me | null>(null);
const rank = computed(() => (me.value === null ? -1 : RANK[me.value.role]));

/** What the server wrote into the page, by which it is known what to show before anything is loaded. */
const { role: shownFor, clients = '' } = document.getElementById('app')?.dataset ?? {};

/** The address at which MCP clients sign in; empty if they cannot. */
export const clientAddress = clients;

/** Whether the person sees nothing but what is about themselves. */
export const seesOwnOnly = computed(() => (me.value?.role ?? shownFor) === 'user');
/** Whether the operator may answer approvals. */
export const mayResolve = computed(() => rank.value >= RANK.approver);
/** Whether the operator may change anything. */
export const mayAdminister = computed(() => rank.value >= RANK.admin);

export async function loadMe(): Promise<void> {
  me.value = await get<Me>('/me');
}
