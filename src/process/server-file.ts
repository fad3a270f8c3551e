// Reads the server file again while the service runs, and takes in the commands that it declares. What else has changed
// in it needs a restart and is only named. A file with any mistake changes nothing. With several processes on a port, the
// one that is asked reads it first, and has the others read it if it is right.

import { isDeepStrictEqual } from 'node:util';
import { GuardError } from '../core/errors.ts';
import type { Actor, Deps } from '../guard/deps.ts';
import { type Reloaded, recordReload } from '../guard/tool-servers/server-file.ts';
import type { Log } from '../log.ts';
import type { Hub } from '../mcp/hub.ts';
import { type Config, ConfigError } from '../settings/config.ts';
import { SETTINGS } from '../settings/settings.ts';

/** Has the other processes on this port read the file, and says what went wrong in them. */
type TellOthers = () => Promise<string[]>;

export class ServerFileReader {
  readonly #config: Config;
  readonly #read: () => Config;
  readonly #hub: Pick<Hub, 'redeclared'>;
  readonly #log: Log;
  /** The file that was read last; null if there was none. */
  path: string | null;
  tellOthers: TellOthers = async () => [];
  #last: Promise<unknown> = Promise.resolve();

  /** `read` reads the whole configuration anew, and throws a ConfigError if anything in it is wrong. */
  constructor(config: Config, read: () => Config, hub: Pick<Hub, 'redeclared'>, log: Log) {
    this.#config = config;
    this.#read = read;
    this.#hub = hub;
    this.#log = log;
    this.path = config.serverFile?.path ?? null;
  }

  /** Reads it in this process and then in the others. */
  async reload(deps: Deps, actor: Actor): Promise<Reloaded> {
    const reloaded = await this.#afterOthers(() => this.#reload(what => recordReload(deps, actor, what)));
    const [fault] = await this.tellOthers();
    if (fault === undefined) return reloaded;
    throw new GuardError('conflict', `One process has read the server file, and another has not: ${fault}`);
  }

  /** Reads it in this process alone, after another one has read it and recorded that. */
  async follow(): Promise<void> {
    await this.#afterOthers(() => this.#reload(async () => {}));
  }

  /** One reading at a time, so that the last one holds. */
  #afterOthers<T>(read: () => Promise<T>): Promise<T> {
    const reading = this.#last.then(read);
    this.#last = reading.catch(() => {});
    return reading;
  }

  async #reload(record: (what: Reloaded) => Promise<void>): Promise<Reloaded> {
    const next = this.#readAnew();
    const { stdioServers } = this.#config;
    const names = stdioServers.comparedWith(next.stdioServers);
    const reloaded = { path: next.serverFile.path, ...names, ignored: this.#ignoredOf(next) };
    await record(reloaded);
    stdioServers.become(next.stdioServers);
    this.path = reloaded.path;
    this.#hub.redeclared([...names.added, ...names.changed, ...names.removed]);
    this.#log.info(reloaded, 'the server file was read again');
    return reloaded;
  }

  #readAnew(): Config & { serverFile: { path: string } } {
    try {
      const next = this.#read();
      if (next.serverFile !== null) return { ...next, serverFile: next.serverFile };
      throw new ConfigError(this.path === null ? NO_FILE : `${this.path} is not there any more.`);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      throw new GuardError('conflict', `${error.message} Everything stays as it was.`, { cause: error });
    }
  }

  #ignoredOf(next: Config): string[] {
    const names = [...(Object.keys(SETTINGS) as (keyof typeof SETTINGS)[]), 'channels', 'shipping'] as const;
    const [now, then] = [comparable(this.#config), comparable(next)];
    return names.filter(name => !isDeepStrictEqual(now[name], then[name]));
  }
}

/** Of a lock file that was read twice, the functions differ. */
function comparable({ toolsLock, ...rest }: Config) {
  return { ...rest, toolsLock: toolsLock && [toolsLock.path, toolsLock.tools] };
}

const NO_FILE = 'There is no server file: make a toolgate.yaml, or name one in TOOLGATE_CONFIG.';
