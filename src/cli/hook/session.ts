// One session of ours for each run of the agent, so that limits and approvals per session work. Its token is kept in a
// file, because every call of a run is a process of its own. The name of the file is a hash, which reveals nothing.

import {
  chmodSync,
  closeSync,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Credentials } from './credentials.ts';
import type { Minted, Service } from './service.ts';

/** The longest that a session may last: a run that lasts longer goes on with a second one. */
const TTL_MINUTES = 1440;
const LABEL_LENGTH = 200;
/** By then every session has ended. */
const OLD_MS = 2 * 86_400_000;
/** How many files are looked at when old ones are removed, which is done once in a run. */
const MOST_FILES = 1000;
const OURS = /^[0-9a-f]{64}(\.[0-9a-f-]+)?$/;
export class RunSession {
  readonly #folder: string;
  readonly #file: string;
  readonly #service: Service;
  readonly #key: string;
  readonly #label: string;

  constructor(folder: string, service: Service, { baseUrl, key }: Credentials, run: string) {
    const name = new Bun.CryptoHasher('sha256').update(JSON.stringify([baseUrl, key, run])).digest('hex');
    this.#folder = folder;
    this.#file = join(folder, name);
    this.#service = service;
    this.#key = key;
    this.#label = [...run.toWellFormed().replace(/\p{Cc}/gu, ' ')].slice(0, LABEL_LENGTH).join('');
  }

  /** The token of the run's session, minted at the first call; null when the key itself has to be used. */
  async token(): Promise<string | null> {
    return this.#kept() ?? (await this.#mint(null));
  }

  /** Another token, because this one is not accepted any more. Another hook may have minted it meanwhile. */
  async instead(refused: string): Promise<string | null> {
    const kept = this.#kept();
    return kept === null || kept === refused ? this.#mint(refused) : kept;
  }

  async #mint(refused: string | null): Promise<string | null> {
    if (!prepared(this.#folder)) return null;
    const minted = await this.#service.mint(this.#key, this.#label, TTL_MINUTES);
    if (minted === null) return null;
    clean(this.#folder);
    const token = this.#keep(minted, refused);
    // Another hook was quicker, and its session is the one of this run; or the key itself has to be used.
    if (token !== minted.token) await this.#service.end(this.#key, minted.id).catch(() => {});
    return token;
  }

  /**
   * Writes the new token where all hooks of the run find it, and returns the one to use; null where it cannot be written:
   * with a new session for every call, no limit per session would ever be reached.
   */
  #keep({ token, expiresAt }: Minted, refused: string | null): string | null {
    const draft = `${this.#file}.${crypto.randomUUID()}`;
    try {
      const kept = this.#kept();
      if (kept === null || kept === refused) rmSync(this.#file, { force: true });
      writeFileSync(draft, JSON.stringify({ token, expiresAt }), { mode: 0o600, flag: 'wx' });
      try {
        linkSync(draft, this.#file);
      } catch (error) {
        // Some file systems have no links.
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') renameSync(draft, this.#file);
      }
      return this.#kept();
    } catch {
      return null;
    } finally {
      forget(draft);
    }
  }

  /** The token in the file, unless it has expired or somebody else may have written it. */
  #kept(): string | null {
    let file: number | undefined;
    try {
      file = openSync(this.#file, 'r');
      const { mode, uid } = fstatSync(file);
      if (process.platform !== 'win32' && ((mode & 0o077) !== 0 || uid !== process.getuid?.())) return null;
      const { token, expiresAt } = JSON.parse(readFileSync(file, 'utf8'));
      return typeof token === 'string' && expiresAt > Date.now() ? token : null;
    } catch {
      return null;
    } finally {
      if (file !== undefined) closeSync(file);
    }
  }
}

/** Whether the folder is there, and only ours to use. */
function prepared(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
    return true;
  } catch {
    return false;
  }
}

function forget(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // A file that stays is removed with the old files.
  }
}

function clean(folder: string): void {
  try {
    for (const name of readdirSync(folder).slice(0, MOST_FILES)) {
      const path = join(folder, name);
      if (OURS.test(name) && lstatSync(path).mtimeMs < Date.now() - OLD_MS) forget(path);
    }
  } catch {
    // Old files only take room.
  }
}
