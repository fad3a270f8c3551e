// P2: the audit entry is durable before its verdict is written to the client's socket, and before the log shows it
// to anybody. A trace of the system calls shows it: on SQLite the fsync of the log has returned that followed the
// write of the entry, on PostgreSQL the server's word that the commit is done has arrived. And a server that would not keep its word (fsync or
// synchronous_commit off) is refused at the start. The mutants sync too late, or not at all, or do not look.

import { afterAll, describe, expect, test } from 'bun:test';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  canTrace,
  figures,
  inTime,
  newDataDir,
  Received,
  sql,
  until,
  withMutant,
} from '../support/faults.ts';
import { checks } from '../support/load.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG, need } from '../support/need.ts';
import { startPostgres } from '../support/postgres.ts';
import { type Engine, failToStart, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged, whenChanged } from '../support/when-changed.ts';

const CHECKS = LONG ? 1000 : 100;
const MUTANT_CHECKS = 40;
const CONNECTIONS = 4;
const CALLS = 'fsync,fdatasync,pwrite64,write,writev,sendto,sendmsg,recvfrom,read';
/** A page and its frame, with room to spare: entries are searched for in what is written. */
const BYTES_SHOWN = 8192;
/** However fast the disk is: long enough for others to look at what is written and not yet synced. */
const SLOW_SYNC = 'inject=fsync,fdatasync:delay_enter=10000';
const TRACED = need(canTrace(), 'strace, and the right to trace');

const BEFORE_COMMIT: Patch = {
  file: 'src/guard/check/commit.ts',
  find: `tx =>
        this.#work.decideGroup(tx, requests),
      );`,
  replace: `async tx => {
        const early = await this.#work.decideGroup(tx, requests);
        group.forEach((each, index) => each.answer(early.results[index] as Result));
        await Bun.sleep(5);
        return early;
      });`,
};
const UNSYNCED: Patch = {
  file: 'src/store/engine/sqlite.ts',
  find: 'await this.#log.sync();',
  replace: '',
};
const SHOWN_EARLY: Patch = {
  file: 'src/store/engine/sqlite.ts',
  find: 'return this.#log.synced ? rows : this.#durable(rows);',
  replace: 'return rows;',
};
const UNLOOKED: Patch = {
  file: 'src/store/engine/postgres-engine.ts',
  find: 'if (lossy !== null)',
  replace: "if (lossy === 'never')",
};
const MUTANTS: Record<Engine, Record<string, Patch>> = {
  sqlite: { BEFORE_COMMIT, UNSYNCED, SHOWN_EARLY },
  postgres: { BEFORE_COMMIT },
};

const both = await enginesWhenChanged('src/store/**', 'src/guard/**');

for (const engine of both) {
  test.skipIf(!TRACED)(`${engine}: no verdict is sent before its entry is durable`, async () => {
    const found = await inTime(() => measure(engine, CHECKS));
    expect(found.violations).toBe(0);
    expect(found.operations).toBeGreaterThanOrEqual(CHECKS);
  });

  for (const [name, patch] of Object.entries(MUTANTS[engine])) {
    whenChanged(patch).skipIf(!TRACED)(
      `${engine}: a mutant (${name}) that sends too early is found out`,
      async () => {
        const found = await withMutant(
          [patch],
          async root => (await measure(engine, MUTANT_CHECKS, root)).violations,
        );
        expect(found).toBeGreaterThan(0);
      },
    );
  }
}

async function measure(engine: Engine, count: number, root?: string) {
  const dataDir = newDataDir();
  const file = join(dataDir, 'calls');
  const strace = ['strace', '-D', '-f', '-q', '-y', '-s', String(BYTES_SHOWN), '-o', file];
  const wrap = [...strace, '-e', `trace=${CALLS}`, '-e', 'signal=none', '-e', SLOW_SYNC];
  const service = await startService({ engine, dataDir, wrap, ...(root && { root }) });
  const received = new Received();
  const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
  let asking = true;
  // PostgreSQL shows others only what it has flushed, be its word to us still on the way.
  const watching = engine === 'sqlite' ? watch(service, () => asking) : null;
  await checks(count, {
    connections: CONNECTIONS,
    url: () => service.url,
    next: () => ({ token: key, body: JSON.stringify({ serverName: 'files', toolName: 'read' }) }),
    answered: answer => received.take(answer),
  });
  asking = false;
  await watching;
  await service.close();
  const answered = new Set(received.verdicts.map(each => each.toolCallId));
  const found = judge(engine, readFileSync(file, 'latin1').split('\n'), answered);
  rmSync(dataDir, { recursive: true, force: true });
  figures(`P2 ${engine}${root ? ' mutant' : ''}`, found);
  return { ...found, late: count - answered.size };
}

/** Looks at the newest entries all the while. */
async function watch(service: TestService, on: () => boolean): Promise<void> {
  do await service.admin('GET', '/audit?limit=4');
  while (on());
}

const IDS = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** What begins to make durable all that was written before. PostgreSQL's own word covers it whenever it comes. */
const SYNCING: Record<Engine, RegExp> = {
  sqlite: /^\d+ +(?:fsync|fdatasync)\(\d+<[^>]*-wal>/,
  postgres: /^\d+ +(?:read|recvfrom)\(.*COMMIT\\0/,
};
const SYNCED: Record<Engine, RegExp> = {
  sqlite: /^\d+ +(?:fsync|fdatasync)\(\d+<[^>]*-wal>\) += 0/,
  postgres: SYNCING.postgres,
};
const WRITTEN: Record<Engine, RegExp> = {
  sqlite: /^\d+ +pwrite64\(\d+<[^>]*-wal>/,
  postgres: /^\d+ +(?:write|writev|sendto|sendmsg)\(\d+<socket:[^>]*>, (?!"HTTP)/,
};
const SENT = /^\d+ +(?:write|writev|sendto|sendmsg)\(\d+<socket:[^>]*>.*HTTP\/1\.1 200/;

/** Goes through the calls in their order; a verdict is due once its entry was written and then synced. */
function judge(engine: Engine, lines: string[], answered: ReadonlySet<string>) {
  const durable = new Set<string>();
  const written: string[] = [];
  let covered: string[] = [];
  const found = { operations: 0, violations: 0 };
  for (const [line, resumed] of whole(lines)) {
    if (SYNCING[engine].test(line)) {
      if (!resumed) covered = written.splice(0);
      if (SYNCED[engine].test(line)) for (const id of covered) durable.add(id);
    } else if (SENT.test(line)) {
      const sent = (line.match(IDS) ?? []).filter(id => answered.has(id));
      found.operations += sent.length;
      found.violations += sent.filter(id => !durable.has(id)).length;
    } else if (WRITTEN[engine].test(line)) written.push(...(line.match(IDS) ?? []));
  }
  return found;
}

/** A call that another thread interrupted has two lines. What it sends is in the first, that it is over in the second. */
function whole(lines: string[]): (readonly [line: string, resumed: boolean])[] {
  const begun = new Map<string, string>();
  return lines.map(line => {
    const [, pid = '', start] = /^(\d+) +(.*?) <unfinished \.\.\.>$/.exec(line) ?? [];
    if (start !== undefined) {
      begun.set(pid, start);
      return [line, false] as const;
    }
    const [, who = '', rest] = /^(\d+) +<\.\.\. \w+ resumed>(.*)$/.exec(line) ?? [];
    const resumed = /^(?:fsync|fdatasync|read|recvfrom)\(/.exec(begun.get(who) ?? '');
    if (rest === undefined || resumed === null) return [line, false] as const;
    return [`${who} ${begun.get(who)}${rest}`, true] as const;
  });
}

describe('a server that would not keep its word', async () => {
  const server = both.includes('postgres') ? await startPostgres() : null;
  const shown = async (setting: string) =>
    (await sql<{ now: string }>(server!.url, `SELECT current_setting('${setting}') AS now`))[0]?.now;
  const owned =
    server !== null && need(server.owned, 'a PostgreSQL of our own, to switch its durability off');
  afterAll(() => server?.close());

  for (const setting of ['fsync', 'synchronous_commit']) {
    const refusal = async (root?: string): Promise<string> => {
      await sql(server!.url, `ALTER SYSTEM SET ${setting} = off`, 'SELECT pg_reload_conf()');
      await until(`${setting}=off`, async () => (await shown(setting)) === 'off');
      const databaseUrl = await server!.createDatabase();
      const said = await failToStart({ databaseUrl, ...(root && { root }) }).catch(() => 'it started');
      await sql(server!.url, `ALTER SYSTEM RESET ${setting}`, 'SELECT pg_reload_conf()');
      const violations = said.includes(`${setting}=off`) ? 0 : 1;
      figures(`P2 postgres, ${setting} off${root ? ' mutant' : ''}`, {
        operations: 1,
        faults: 1,
        violations,
      });
      return said;
    };

    test.skipIf(!owned)(`${setting}=off: the service does not start`, async () => {
      expect(await refusal()).toContain(`PostgreSQL runs with ${setting}=off`);
    });

    whenChanged(UNLOOKED).skipIf(!owned)(`${setting}=off: a mutant that does not look starts`, async () => {
      expect(await withMutant([UNLOOKED], refusal)).toBe('it started');
    });
  }
});
