// Proves that the PostgreSQL of the tests is one: durable across a crash, freezable, several databases,
// and gone when the process that started it is gone. Skips loudly where there is no PostgreSQL.

import { afterAll, describe, expect, test } from 'bun:test';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { SQL } from 'bun';
import { sharedPostgres, startPostgres } from './postgres.ts';

const server = await startPostgres();
if (!server && process.env.TOOLGATE_TEST_STRICT === '1') throw new Error('No PostgreSQL found');
if (!server) console.warn('SKIPPED: no PostgreSQL found, nothing that needs it is tested');

const owned = server?.owned ? server : null;
if (server && !owned) console.warn('SKIPPED: stop, start and pause, because this PostgreSQL is not ours');

afterAll(async () => {
  await server?.close();
  if (owned) expect(fs.existsSync(owned.dataDir)).toBe(false);
});

describe.skipIf(!server)('any PostgreSQL', () => {
  test('gives each caller a database of its own', async () => {
    const urls = [await server!.createDatabase(), await server!.createDatabase()];
    const [first, second] = urls.map(url => new SQL(url, { max: 1 })) as [SQL, SQL];
    await first`CREATE TABLE note (text text)`;
    await second`CREATE TABLE note (text text)`;
    await first`INSERT INTO note VALUES ('only here')`;
    expect(await first`SELECT text FROM note`).toHaveLength(1);
    expect(await second`SELECT text FROM note`).toHaveLength(0);
    await Promise.all([first.close(), second.close()]);
  });
});

describe.skipIf(!owned)('a PostgreSQL of our own', () => {
  test('keeps what was committed before a crash', async () => {
    const url = await owned!.createDatabase();
    const before = new SQL(url, { max: 1 });
    await before`CREATE TABLE note (text text)`;
    await before`INSERT INTO note VALUES ('committed')`;
    await owned!.stop('immediate');
    await before.close().catch(() => {});
    await expect(new SQL(url, { max: 1 })`SELECT 1`.execute()).rejects.toThrow();

    await owned!.start();
    const after = new SQL(url, { max: 1 });
    expect((await after`SELECT text FROM note`)[0].text).toBe('committed');
    await after.close();
    expect(owned!.logText()).toContain('was interrupted');
  });

  test('stops in good order as well', async () => {
    await owned!.stop('fast');
    await owned!.start();
    expect(owned!.logText()).toContain('database system is shut down');
  });

  test('answers nothing while paused and everything once resumed', async () => {
    const sql = new SQL(await owned!.createDatabase(), { max: 1 });
    await sql`SELECT 1`;
    owned!.pause();
    let answered = false;
    const query = sql`SELECT 42 AS answer`.execute().then((rows: { answer: number }[]) => {
      answered = true;
      return rows;
    });
    await Bun.sleep(300);
    expect(answered).toBe(false);
    owned!.resume();
    expect((await query)[0]!.answer).toBe(42);
    await sql.close();
  });

  test('can be stopped while paused', async () => {
    owned!.pause();
    await owned!.stop('immediate');
    await owned!.start();
    await owned!.createDatabase();
  });

  for (const paused of [false, true]) {
    test(`does not outlive a killed test process${paused ? ', not even paused' : ''}`, async () => {
      const module = path.join(import.meta.dirname, 'postgres.ts');
      const script = `
        const server = await (await import(${JSON.stringify(module)})).startPostgres();
        if (${paused}) server.pause();
        console.log(server.dataDir);
        setInterval(() => {}, 1000);
      `;
      const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'inherit' });
      const dataDir = await firstLine(child.stdout);
      const postmaster = Number(fs.readFileSync(path.join(dataDir, 'postmaster.pid'), 'utf8').split('\n')[0]);
      expect(isRunning(postmaster)).toBe(true);

      child.kill('SIGKILL');
      while (isRunning(postmaster) || fs.existsSync(path.dirname(dataDir))) await Bun.sleep(20);
    });
  }

  test('is shared by all who ask for the shared one', async () => {
    const [one, other] = await Promise.all([sharedPostgres(), sharedPostgres()]);
    expect(one).toBe(other);
    await one!.createDatabase();
  });
});

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = '';
  for await (const chunk of stream) {
    text += Buffer.from(chunk).toString();
    if (text.includes('\n')) break;
  }
  return text.split('\n')[0]!;
}

/** A zombie still has its entry until somebody reaps it. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
