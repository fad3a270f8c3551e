// What the doctor looks at: a service by its settings, whether it runs or not. The command line makes it from the
// settings alone, the running service from its own parts.

import { statSync } from 'node:fs';
import type { Vault } from '../guard/secrets.ts';
import type { Config } from '../settings/config.ts';
import type { Queries } from '../store/engine/db.ts';
import { versionOfAny } from '../store/engine/migrate.ts';
import type { Examination } from './examine.ts';

export interface Examined {
  config: Config;
  version: string;
  /** Whether this is the service itself, which looks at its own parts. */
  running: boolean;
  /** The address at which the service listens, as this machine reaches it. */
  localUrl: string;
  /** The store, for reading. Every check that needs it waits for the same one. */
  store: () => Promise<Queries>;
  /** Throws if the database engine is unfit. Null for a service that runs, because it has tried that at its start. */
  tryEngine: (() => Promise<void>) | null;
  /** The master key; null if it cannot be had, which a check of its own says. */
  vault: () => Vault | null;
  /** How the Connected Tools do, which a running service knows better. */
  tools: Examination;
}

/** Opens the store once, and reads from it, so that it fails here and not in every check. */
export function readOnce<T extends Queries>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | null = null;
  const readable = async () => {
    const db = await open();
    await versionOfAny(db);
    return db;
  };
  return () => (opened ??= readable());
}

/** What is found with the store; nothing if it cannot be opened, because the check `store` says that. */
export async function withStore<T>(
  { store }: Pick<Examined, 'store'>,
  work: (db: Queries) => Promise<T[]>,
): Promise<T[]> {
  const db = await store().catch(() => null);
  return db === null ? [] : work(db);
}

/** Whether there is no such file. Throws if this user may not find that out, so that nothing counts as missing unseen. */
export function isMissing(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return true;
    throw error;
  }
}
