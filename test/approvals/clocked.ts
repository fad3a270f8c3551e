// The whole service inside the test process, on a clock that the test moves: for what takes minutes or days.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createLog } from '../../src/log.ts';
import { start } from '../../src/main.ts';
import { loadConfig } from '../../src/settings/config.ts';
import { newDataDir } from '../support/faults.ts';
import { freshStore } from '../support/fresh-store.ts';
import { ADMIN_TOKEN, type Engine, ROOT, TestService } from '../support/service.ts';

const SILENT = { text: '', ended: Promise.resolve() };

export class ClockedService extends TestService {
  readonly #clock: { ahead: number };
  readonly #stop: () => Promise<void>;

  constructor(
    url: string,
    dataDir: string,
    clock: { ahead: number },
    stop: () => Promise<void>,
    databaseUrl = `sqlite:${join(dataDir, 'toolgate.db')}`,
  ) {
    super(url, dataDir, databaseUrl, undefined as unknown as Bun.Subprocess, SILENT, true);
    this.#clock = clock;
    this.#stop = stop;
  }

  /** It runs on the clock of the machine no longer, but stands still except for this. */
  advance(ms: number): void {
    this.#clock.ahead += ms;
  }

  override async close(): Promise<void> {
    await this.#stop();
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

export async function startClocked(
  env: Record<string, string> = {},
  engine: Engine = 'sqlite',
): Promise<ClockedService> {
  const dataDir = newDataDir();
  const databaseUrl = await freshStore(engine, dataDir, ROOT);
  const clock = { ahead: 0 };
  const startedAt = Date.now();
  const { config } = loadConfig(
    {
      TOOLGATE_PORT: '0',
      TOOLGATE_DATA_DIR: dataDir,
      TOOLGATE_DATABASE_URL: databaseUrl,
      TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN,
      TOOLGATE_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      TOOLGATE_LOG_LEVEL: 'silent',
      ...env,
    },
    dataDir,
  );
  const running = await start(config, {
    readConfig: () => config,
    log: createLog('silent', () => {}),
    onFatal: error => {
      throw error;
    },
    print: async () => {},
    now: () => startedAt + clock.ahead,
  });
  return new ClockedService(running.url, dataDir, clock, running.stop, databaseUrl);
}
