// A service as its settings describe it, for a program that is not the service: the store is opened for reading beside a
// service that may be running, and nothing is made that is missing.

import { resolve } from 'node:path';
import { Vault } from '../guard/secrets.ts';
import { masterKeyIn } from '../process/data-dir.ts';
import { type Config, embeddedPath, listensOnLoopback } from '../settings/config.ts';
import type { Queries } from '../store/engine/db.ts';
import { readPostgres, tryEngine } from '../store/engine/postgres.ts';
import { readSqlite } from '../store/engine/sqlite.ts';
import { type Examined, isMissing, readOnce } from './examined.ts';
import { NoStore } from './store.ts';
import { seenFromOutside, toolsCheck } from './tools.ts';

type Opened = Queries & { close(): Promise<void> };

interface FromSettings {
  examined: Examined;
  close(): Promise<void>;
}

/** Paths in the settings are relative to `cwd`. */
export function fromSettings(settings: Config, version: string, cwd: string): FromSettings {
  const config = { ...settings, dataDir: resolve(cwd, settings.dataDir) };
  let opened: Opened | null = null;
  const store = readOnce(async () => (opened = await openStore(config, cwd)));
  return {
    examined: {
      config,
      version,
      running: false,
      localUrl: localUrl(config),
      store,
      tryEngine: () => tryEngine(config.databaseUrl ?? '', config.databasePooling),
      vault: vaultOf(config),
      tools: toolsCheck({ store }, seenFromOutside(config)),
    },
    close: async () => opened?.close(),
  };
}

async function openStore(config: Config, cwd: string): Promise<Opened> {
  const path = embeddedPath(config);
  if (path === null) return readPostgres(config.databaseUrl ?? '', config.databasePooling);
  const file = resolve(cwd, path);
  if (isMissing(file)) throw new NoStore();
  return readSqlite(file);
}

/** The key is read once; a file that is missing or wrong is as good as none. */
function vaultOf(config: Config): () => Vault | null {
  let known: Vault | null | undefined;
  return () => {
    known ??= readVault(config);
    return known;
  };
}

function readVault(config: Config): Vault | null {
  try {
    return new Vault(config.masterKey ?? masterKeyIn(config.dataDir, false));
  } catch {
    return null;
  }
}

/** A service that listens on every address is asked on loopback. */
function localUrl(config: Config): string {
  const every = config.host === '0.0.0.0' || config.host === '::';
  const host =
    every || (listensOnLoopback(config) && config.host === 'localhost') ? '127.0.0.1' : config.host;
  return `http://${host.includes(':') ? `[${host}]` : host}:${config.port}`;
}
