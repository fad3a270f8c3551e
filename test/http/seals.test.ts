// The sealed log over HTTP: its key and size, pages of checkpoints, proofs that hold, the stream that verifies, and
// what is refused.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { verifyInclusion } from '../../clients/typescript/src/index.ts';
import { isSignedBy, parseCheckpoint, parseVerifierKey } from '../../src/core/log/checkpoint.ts';
import { notesIn } from '../../src/core/log/checkpoint-file.ts';
import { entryText, shownEntry } from '../../src/core/log/entry.ts';
import { migrate } from '../../src/store/engine/migrate.ts';
import { Shell } from '../cli/shell.ts';
import { entries, write } from '../guard/log/sealing.ts';
import { newStore } from '../store/stores.ts';
import { newDataDir, until } from '../support/faults.ts';
import { subproof } from '../support/rfc6962.ts';
import { ADMIN_TOKEN, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

const COUNT = 300;
const DAY = 86_400_000;

const TRACE_ID = 'ab'.repeat(16);

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(engine, () => {
    const dataDir = newDataDir();
    const rows = entries(COUNT, Date.now() - DAY);
    const taken: string[] = [];
    const outside = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async request => {
        taken.push(`${request.method} ${new URL(request.url).pathname} ${await request.text()}`);
        return new Response();
      },
    });
    let service: TestService;
    let shell: Shell;
    let keyText: string;

    beforeAll(async () => {
      // Made a day ago, so that nothing has to settle first.
      const store = await newStore(engine);
      await migrate(store.db, Date.now());
      const traced = rows.map((row, at) => (at === 7 ? { ...row, traceId: TRACE_ID } : row));
      await write(store.db, traced);
      await store.db.close();
      service = await startService({
        dataDir,
        databaseUrl: store.url,
        env: {
          TOOLGATE_CHECKPOINT_INTERVAL: '1s',
          TOOLGATE_CHECKPOINT_URL: `http://127.0.0.1:${outside.port}/log/{size}`,
          TOOLGATE_CHECKPOINT_METHOD: 'PUT',
        },
      });
      shell = new Shell({ TOOLGATE_BASE_URL: service.url, TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN });
      await until('all is signed', async () => (await sealing()).checkpoint?.size === COUNT);
      keyText = (await sealing()).publicKey;
    });
    afterAll(async () => {
      shell.close();
      await service.close();
      await outside.stop(true);
      rmSync(dataDir, { recursive: true, force: true });
    });

    const sealing = async () => (await service.admin('GET', '/audit/sealing')).body;

    test('shows its key, its size and a checkpoint that the key signed', async () => {
      const key = parseVerifierKey(keyText);
      const { size, checkpoint } = await sealing();
      expect([size, checkpoint.prunedBefore]).toEqual([COUNT, 0]);
      expect(key !== null && (await isSignedBy(checkpoint.note, key))).toBe(true);
      expect(parseCheckpoint(checkpoint.note)).toMatchObject({ size: COUNT, root: checkpoint.root });
      expect(new Date(checkpoint.sealedThrough).getTime()).toBe(rows.at(-1)?.at ?? 0);
    });

    test('keeps key and checkpoints in the data folder, for its owner only', async () => {
      // Written after the store has it.
      await until('it is in the file', () => {
        const path = join(dataDir, 'checkpoints.txt');
        const kept = existsSync(path)
          ? notesIn(readFileSync(path, 'utf8'), parseVerifierKey(keyText)?.name ?? '')
          : [];
        return parseCheckpoint(kept.at(-1)?.note ?? '')?.size === COUNT;
      });
      expect(readFileSync(join(dataDir, 'checkpoints.pub'), 'utf8').trim()).toBe(keyText);
      for (const name of ['checkpoints.txt', 'checkpoints.pub']) {
        expect(statSync(join(dataDir, name)).mode & 0o777).toBe(0o600);
      }
    });

    test('sends checkpoints to the address outside, and counts it', async () => {
      const { checkpoint } = await sealing();
      await until('it arrives', () => taken.includes(`PUT /log/${COUNT} ${checkpoint.note}`));
      const counted = /toolgate_checkpoint_sends_total\{outcome="ok"\} [1-9]/;
      await until('it is counted', async () => counted.test((await service.request('GET', '/metrics')).text));
    });

    test('lists checkpoints page by page', async () => {
      const all = (await service.admin('GET', '/audit/checkpoints')).body.checkpoints;
      const seen: unknown[] = [];
      let cursor = '';
      do {
        const { body } = await service.admin('GET', `/audit/checkpoints?limit=1${cursor}`);
        seen.push(...body.checkpoints);
        cursor = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`;
      } while (cursor !== '');
      expect(seen).toEqual(all);
      expect(all[0].size).toBe(COUNT);
      expect((await service.admin('GET', '/audit/checkpoints?cursor=x')).status).toBe(400);
    });

    test('proves every entry asked for, to the client as to the command line', async () => {
      for (const at of [0, 1, 127, 128, 255, 256, COUNT - 1]) {
        const { body } = await service.admin('GET', `/audit/${rows[at]?.id}/proof`);
        const { entry, seq } = await verifyInclusion(body, keyText);
        expect([entry['id'], entry['toolName'], seq]).toEqual([rows[at]?.id, rows[at]?.toolName, at]);
        expect(entry).toEqual((await service.admin('GET', `/audit?limit=1000`)).body.entries.at(-1 - at));
      }
      const { code, stdout } = await shell.run(`toolgate audit prove ${rows[7]?.id}`);
      expect([code, (await verifyInclusion(stdout, keyText)).seq]).toEqual([0, 7]);
      // The trace of a call is shown, and not sealed.
      expect((await service.admin('GET', `/audit/${rows[7]?.id}`)).body.traceId).toBe(TRACE_ID);
      expect(JSON.parse(stdout).entry).not.toHaveProperty('traceId');
    });

    test('proves that it only grew', async () => {
      const leaves = rows.map(row => entryText(shownEntry(row)));
      for (const [from, to] of [
        [0, COUNT],
        [1, 2],
        [256, 257],
        [100, COUNT],
        [COUNT, COUNT],
      ] as const) {
        const { body } = await service.admin('GET', `/audit/consistency?from=${from}&to=${to}`);
        const proof = from === 0 ? [] : subproof(from, leaves.slice(0, to), true);
        expect(body.path).toEqual(proof.map(hash => hash.toString('base64')));
      }
      expect((await service.admin('GET', '/audit/consistency?from=2&to=1')).status).toBe(409);
      expect((await service.admin('GET', `/audit/consistency?from=1&to=${COUNT + 1}`)).status).toBe(409);
      expect((await service.admin('GET', '/audit/consistency?from=1')).status).toBe(400);
    });

    test('is exported whole, and the export verifies with the printed key and checkpoint', async () => {
      const ran = await shell.run(
        `toolgate audit export --sealed --output sealed.jsonl &&
         toolgate audit checkpoints --public-key > audit.pub &&
         toolgate audit checkpoints --limit 1 --notes > kept.txt &&
         toolgate audit verify --log sealed.jsonl --public-key audit.pub --checkpoints kept.txt`,
      );
      expect([ran.code, ran.stdout]).toEqual([
        0,
        expect.stringContaining('OK: the audit log is as it was signed.'),
      ]);
      const lines = readFileSync(join(shell.folder, 'sealed.jsonl'), 'utf8').trim().split('\n');
      expect(lines.slice(0, COUNT).map(line => JSON.parse(line).entry.id)).toEqual(rows.map(row => row.id));
      expect(lines.join()).not.toContain(TRACE_ID);
      const part = await service.admin('GET', `/audit/sealed?from=${COUNT - 2}`);
      expect(part.text.trim().split('\n').slice(0, 2)).toEqual(lines.slice(COUNT - 2, COUNT));
      expect((await shell.run('toolgate audit checkpoints')).stdout).toContain('PRUNED BEFORE');
      expect((await shell.run('toolgate audit export --sealed --decision deny')).code).toBe(64);
      expect((await shell.run('toolgate audit export --sealed --format csv')).code).toBe(64);
    });

    test('verifying beside the running service needs nothing but the settings', async () => {
      const env = { TOOLGATE_DATA_DIR: dataDir, TOOLGATE_DATABASE_URL: service.databaseUrl };
      const { code, stdout } = await shell.run('toolgate audit verify', env);
      expect([code, stdout]).toEqual([0, expect.stringContaining('OK')]);
    });

    // The last one: until here the log stands still.
    test('what is not there has no proof, and what is not signed yet none so far', async () => {
      expect((await service.admin('GET', `/audit/${Bun.randomUUIDv7()}/proof`)).status).toBe(404);
      const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
      // A machine that stands still for long enough signs it before it is asked for.
      await until('one is asked for before it is signed', async () => {
        const { toolCallId } = (await service.check(key, 'files', 'read')).body;
        const { status, body } = await service.admin('GET', `/audit/${toolCallId}/proof`);
        if (status === 409) expect(body.detail).toContain('No checkpoint contains the entry yet');
        return status === 409;
      });
    });
  });
}
