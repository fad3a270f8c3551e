// The signed-in operator, and what their role permits. Pages hide or disable everything else; the service refuses it in
// any case.

import { computed, signal } from '@preact/signals';
import { get } from './api.ts';
import type { Me, Role } from './resources.ts';

const RANK: Record<Role, number> = { user: 0, viewer: 1, approver: 2, admin: 3 };

/** What the server wrote into the page, by which it is known what to show before anything is loaded. */
const { me: written = '{}', clients = '' } = document.getElementById('app')?.dataset ?? {};

export const me = signal<Me>(JSON.parse(written));
const rank = computed(() => RANK[me.value.role]);

/** The address at which MCP clients sign in; empty if they cannot. */
export const clientAddress = clients;

/** Whether the person sees nothing but what is about themselves. */
export const seesOwnOnly = computed(() => me.value.role === 'user');
/** Whether the operator may answer approvals. */
export const mayResolve = computed(() => rank.value >= RANK.approver);
/** Whether the operator may change anything. */
export const mayAdminister = computed(() => rank.value >= RANK.admin);

/** Asks again: their role may have changed, or their sign-in may have ended. */
export async function loadMe(): Promise<void> {
  me.value = await get<Me>('/me');
}
