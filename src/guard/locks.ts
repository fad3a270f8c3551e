// The named locks on the facts that decisions depend on. A transaction takes them in the order of their names, so the
// leading digit is a rank. The names must stay as they are, whatever the functions are called: during an upgrade
// replicas of two versions run side by side and have to take the same locks.

/** The lock on setting up a new store, so that only one of several replicas that start at once does it. */
export const SET_UP_LOCK = '0 set-up';
/**
 * The lock on the people for whom sessions act: that they are operators, and their groups. Checks of such sessions share
 * it.
 */
export const PEOPLE_LOCK = '1 people';
/** One lock on all policies: they change rarely, and a check need not know beforehand which policy its key has. */
export const POLICIES_LOCK = '1 policies';
/** The lock on a tool server that keys share: what it is, which definitions its tools have, and which are accepted. */
export const toolServerLock = (id: string): string => `1 tool server ${id}`;
/** The lock on one of several equal parts of the idempotency keys that calls carry. */
export const idempotencyLock = (stripe: number): string => `2 idempotency ${stripe}`;
/** The lock on a key, its sessions, its grants, its Connected Tools, and the definitions of those that are its own. */
export const keyLock = (keyId: string): string => `2 key ${keyId}`;
/** The lock on one of several equal parts of what limits have counted. */
export const limitLock = (stripe: number): string => `2 limits ${stripe}`;
/** The lock on the opening and spending of a key's approvals, and on the votes for them. */
export const approvalsLock = (keyId: string): string => `3 approvals ${keyId}`;
/** The lock on a webhook's row, which is read, changed and written as a whole. */
export const webhookLock = (webhookId: string): string => `4 webhook ${webhookId}`;
/**
 * The lock on operators, their roles, groups and sign-ins. Changes that an operator makes share it. Changes of
 * operators take it exclusively, so that at least one admin remains.
 */
export const OPERATORS_LOCK = '5 operators';
/** The lock on the stored statistics, and on the time from which on the audit log is complete. */
export const ROLLUPS_LOCK = '5 rollups';
/** The lock on how many MCP sessions the credentials of a key have. */
export const mcpSessionsLock = (keyId: string): string => `6 connections ${keyId}`;
/** The lock on the count of failed sign-ins from one network address. */
export const signInLock = (ip: string): string => `6 sign-in ${ip}`;
