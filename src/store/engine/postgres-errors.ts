// Says what an error of PostgreSQL means for the connection and for the caller.

import { SQL } from 'bun';
import { Blocked, Refused, StoreError, UniqueViolation } from './db.ts';

const UNIQUE_VIOLATION = '23505';
/**
 * The classes of errors about the values in a statement: cardinality, data, constraints, view checks, triggers, and
 * values too large for an index.
 */
const ABOUT_VALUES = /^(21|22|23|44|54|P0)/;
const LOCK_NOT_AVAILABLE = '55P03';
const READ_ONLY = '25006';
const DUPLICATE_STATEMENT = '42P05';
const UNKNOWN_STATEMENT = '26000';
const POOLED =
  'PostgreSQL forgets what was prepared: a proxy seems to pool by transaction. Set TOOLGATE_DATABASE_POOLING=transaction.';

/**
 * Whether the connection cannot be used any more: it was closed, the server ended it, or it leads to a read-only
 * server. After a failover it may lead to a standby; a new connection finds the new primary.
 */
export function lost(error: unknown): boolean {
  const state = stateOf(error);
  return state !== null && (state === '' || state === READ_ONLY || /^(08|57P)/.test(state));
}

/** Whether the connection leads to a read-only server, such as a standby. */
export function leadsToStandby(error: unknown): boolean {
  return stateOf(error) === READ_ONLY;
}

/** Whether the server could not be reached or the connection broke, so that there is no answer from the server. */
export function unreachable(error: unknown): error is StoreError {
  return error instanceof StoreError && stateOf(error.cause) === '';
}

/**
 * The classes of errors about a feature, a function, a setting or syntax that the server does not know, but without
 * missing rights and statements that a pooling proxy prepared. Some relatives of PostgreSQL give no code (00000).
 */
const LACKING = /^(?!42501|42P05)(00|0A|42)/;

/** Whether the server does not know something that every PostgreSQL has. */
export function isLacking(error: StoreError): boolean {
  return LACKING.test(stateOf(error.cause) ?? '');
}

/** The server's code for an error; empty for an error of the connection, null for any other error. */
function stateOf(error: unknown): string | null {
  return error instanceof SQL.PostgresError ? String(error.errno ?? '') : null;
}

export function asStoreError(error: unknown): unknown {
  if (!(error instanceof SQL.PostgresError)) return error;
  const state = String(error.errno ?? '');
  switch (state) {
    case UNIQUE_VIOLATION:
      return new UniqueViolation(error.message, { cause: error });
    case DUPLICATE_STATEMENT:
    case UNKNOWN_STATEMENT:
      return new StoreError(POOLED, { cause: error });
    case LOCK_NOT_AVAILABLE:
      return new Blocked(error.message, { cause: error });
    default:
      return new (ABOUT_VALUES.test(state) ? Refused : StoreError)(error.message, { cause: error });
  }
}
