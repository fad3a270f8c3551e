// The named locks that guard what decisions rest on. A transaction takes them in the order of their names, so the
// leading digit is a rank. Replicas of two versions serve side by side during an upgrade: a lock keeps its name,
// whatever its function is called.

/** What a new store is given, and that only one of several replicas that start at once gives it. */
export const SET_UP_LOCK = '0 set-up';
/** One lock for all policies: they change rarely, and a check then need not know which one is a key's. */
export const POLICIES_LOCK = '1 policies';
/** The lock on a key, its sessions, its grants and the definitions of its tools. */
export const keyLock = (keyId: string): string => `2 key ${keyId}`;
/** The lock on the opening and spending of a key's approvals. */
export const approvalsLock = (keyId: string): string => `3 approvals ${keyId}`;
/** The lock on a webhook's row, which is read, changed and written whole. */
export const webhookLock = (webhookId: string): string => `4 webhook ${webhookId}`;
/** The lock on who may sign in, and as what: so that one admin always remains. */
export const OPERATORS_LOCK = '5 operators';
/** The lock on the statistics that are kept, and on how far back the audit log may be counted. */
export const ROLLUPS_LOCK = '5 rollups';
/** The lock on how many MCP sessions the credentials of a key have. */
export const mcpSessionsLock = (keyId: string): string => `6 connections ${keyId}`;
/** The lock on the count of failed sign-ins from one network address. */
export const signInLock = (ip: string): string => `6 sign-in ${ip}`;
