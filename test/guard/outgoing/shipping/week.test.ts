// The log of a demo week in a bucket of a real S3 service: every sealed entry is there once, in objects by hour, also
// when the service is killed meanwhile, and `toolgate audit verify` finds the downloaded objects to be what was signed.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { run } from '../../../../src/cli/program.ts';
import type { Verification } from '../../../../src/cli/verify.ts';
import { verifierKeyText } from '../../../../src/core/log/checkpoint.ts';
import { fillDemo } from '../../../../src/demo/fill.ts';
import { logKey } from '../../../../src/guard/log/sealed-log.ts';
import { s3Target } from '../../../../src/guard/outgoing/shipping/s3.ts';
import { Shipper } from '../../../../src/guard/outgoing/shipping/shipper.ts';
import { findShipping } from '../../../../src/store/log/shipping.ts';
import { captured } from '../../../cli/captured.ts';
import { openStore, type TestStore } from '../../../store/stores.ts';
import { newDataDir } from '../../../support/faults.ts';
import { S3_KEY, S3Service } from '../../../support/rclone.ts';
import { hasTool, tool } from '../../../support/tools.ts';
import { Clock, sealerOn, type TestSealer } from '../../log/sealing.ts';

describe.skipIf(!hasTool('rclone'))('a demo week', () => {
  const clock = new Clock();
  const folder = newDataDir();
  let store: TestStore;
  let one: TestSealer;
  let service: S3Service;
  let verdicts: number;

  beforeAll(async () => {
    [store, service] = await Promise.all([
      openStore('sqlite'),
      S3Service.start(tool('rclone') as string, 'audit'),
    ]);
    one = await sealerOn(store.db, clock);
    ({ verdicts } = await fillDemo(one.deps, false, () => {}));
    clock.now += 3_600_000;
    await one.settle();
    writeFileSync(join(folder, 'audit.pub'), verifierKeyText(await logKey(one.deps)));
    writeFileSync(join(folder, 'checkpoints.txt'), one.notes.map(note => `\n${note}\n`).join(''));
  });
  afterAll(async () => {
    await service.kill();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const verify = async (): Promise<Verification> => {
    const io = captured(folder, { TOOLGATE_DATA_DIR: folder });
    const files = ['--public-key', 'audit.pub', '--checkpoints', 'checkpoints.txt'];
    await run(['audit', 'verify', ...files, '--log', join(service.folder, 'audit'), '--json'], io);
    return JSON.parse(io.out);
  };

  test('arrives whole and in order, although the service is killed meanwhile', async () => {
    const bucket = { url: `${service.url}/audit`, prefix: 'log', key: S3_KEY, everyMs: 3_600_000 };
    const target = s3Target({ type: 's3', ...bucket, schema: 'native' }, { allowPrivate: true }, Date.now);
    const errors: string[] = [];
    const observer = {
      lag: () => {},
      sent: ({ error }: { error: string | null }) => error !== null && errors.push(error),
      missing: () => {},
      failed: (error: unknown) => errors.push(String(error)),
    };
    const shipper = () =>
      new Shipper(one.deps, { name: 'archive', target, givenUp: async () => 0 }, observer);
    const first = shipper();
    for (let batch = 0; batch < 10; batch++) expect(await first.tick()).toBe(true);
    await service.kill();
    expect(await first.tick()).toBe(false);
    await service.startAgain();
    clock.now += 60_000;
    const second = shipper();
    while (await second.tick());
    expect(errors).toEqual(['connection refused']);
    expect((await findShipping(store.db, 'archive'))?.shipped).toBe(verdicts);
    const objects = service.objects('audit');
    const lines = objects.flatMap(({ name, text }) =>
      text
        .trimEnd()
        .split('\n')
        .map(line => ({ hour: name.slice('log/'.length, 'log/2026/11/17/05'.length), ...JSON.parse(line) })),
    );
    expect(lines.map(each => each.seq)).toEqual(Array.from({ length: verdicts }, (_, seq) => seq));
    for (const { hour, at } of lines) expect(at.slice(0, 13).replace(/[-T]/g, '/')).toBe(hour);
  });

  test('is what was signed; an object that is changed, missing or there twice is told', async () => {
    expect(await verify()).toMatchObject({ ok: true, sealed: verdicts, covered: verdicts, findings: [] });
    const objects = service.objects('audit');
    const object = objects[Math.floor(objects.length / 2)] as (typeof objects)[number];
    const file = join(service.folder, 'audit', object.name);
    const bytes = readFileSync(file);
    const [from] = /\d+/.exec(file.slice(file.lastIndexOf('/'))) ?? [];

    writeFileSync(file, gzipSync(gunzipSync(bytes).toString().replace('"decision":"', '"decision":"not ')));
    expect((await verify()).findings.map(each => each.kind)).toEqual(['rewritten']);
    rmSync(file);
    expect((await verify()).findings[0]).toMatchObject({ kind: 'removed', seq: Number(from) });
    writeFileSync(file, bytes.subarray(0, bytes.length / 2));
    const io = captured(folder, { TOOLGATE_DATA_DIR: folder });
    await run(
      ['audit', 'verify', '--public-key', 'audit.pub', '--checkpoints', 'checkpoints.txt', '--log', file],
      io,
    );
    expect([io.code, io.err]).toEqual([3, expect.stringContaining('it is damaged or cut short')]);

    writeFileSync(file, bytes);
    // A batch that was sent again with another end.
    writeFileSync(file.replace(/-\d+\.jsonl\.gz$/, '-000000000000.jsonl.gz'), bytes);
    expect(await verify()).toMatchObject({ ok: true, sealed: verdicts });
  });
});
