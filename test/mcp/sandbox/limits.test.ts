// How much a confined command may use: processes, counted however they hide from whoever started them, and memory. And
// that all of it ends, whoever ends first.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Sandbox } from '../../../src/settings/sandbox.ts';
import { until } from '../../support/faults.ts';
import { run, start } from './confined.ts';
import {
  COMPILES,
  CONFINES,
  compileEscapes,
  folder,
  many,
  PROGRAM,
  removeFolder,
  results,
} from './escapes.ts';

const ERROR = { EPERM: 1, EAGAIN: 11, ENOMEM: 12, ENOSYS: 38 };
const ENDED = { kind: 'ended', code: 0, why: null } as const;
const MIB = 1024 * 1024;

beforeAll(() => {
  if (CONFINES && COMPILES) compileEscapes();
});
afterAll(removeFolder);

/** Which processes run the program of attempts, whatever has become of their parents. */
function running(): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name) && commandLine(name).startsWith(`${PROGRAM}\0`))
    .map(Number);
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

const firstSaid = (stdout: Readable) =>
  new Promise<string>(heard => stdout.once('data', (text: string) => heard(text)));
const noneIsLeft = () => until('nothing of the command is left', () => running().length === 0);
/** The number that the attempt wrote into its file. */
const noted = (file: string) => {
  const read = () => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0);
  return until('the attempt runs', () => read() > 0).then(read);
};

describe.skipIf(!CONFINES || !COMPILES)('processes', () => {
  test('there are as many as `processes` says beside the command itself, and not one more', async () => {
    for (const processes of [0, 1, 7]) {
      const { out, report } = await run({ processes }, [PROGRAM, 'processes', '20']);
      expect([out, report]).toEqual([`${processes}\n`, { ...ENDED, code: ERROR.EAGAIN }]);
    }
    expect((await run({}, [PROGRAM, 'processes', '20'])).out).toBe('20\n');
    await noneIsLeft();
  });

  test('those that have ended make room', async () => {
    expect((await run({ processes: 1 }, [PROGRAM, 'sequential', '50'])).report).toEqual(ENDED);
  });

  test('a grandchild that left its session counts, too', async () => {
    const file = join(folder, 'daemon');
    const { out } = await run(
      { processes: 3 },
      many([
        ['escaped-child', file],
        ['processes', '9'],
      ]),
    );
    // The child that makes each attempt counts, and so does what has become a daemon: one of three is left.
    expect(out.split('\n')).toContain('1');
    await noneIsLeft();
  });

  test('threads are no processes, but without end there are none of them either', async () => {
    expect((await run({ processes: 0 }, [PROGRAM, 'threads', '200'])).report).toEqual(ENDED);
    const { report } = await run({ processes: 0 }, [PROGRAM, 'threads', '400']);
    expect(report).toEqual({ ...ENDED, code: ERROR.EAGAIN });
  });

  test('a fork bomb is ended as a whole', async () => {
    const { report } = await run({ processes: 20 }, [PROGRAM, 'bomb', join(folder, 'bomb')]);
    expect(report).toMatchObject({ code: null, why: expect.stringContaining('beyond sandbox.processes') });
    await noneIsLeft();
  });

  test('what the command leaves behind ends with it, and with the service', async () => {
    const [left, killed] = [join(folder, 'left'), join(folder, 'killed')];
    expect((await run({}, [PROGRAM, 'escaped-child', left])).report).toMatchObject(ENDED);
    await noneIsLeft();
    const { letGo, ended } = await start({}, [PROGRAM, 'bomb', killed], {}, {});
    await noted(killed);
    letGo();
    await ended;
    await noneIsLeft();
  });

  test('without what watches it, the command ends, too', async () => {
    const { pid, ended } = await start({}, ['/bin/sleep', '300']);
    const child = () => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    await until('the command runs', () => child() !== '' && commandLine(child()).startsWith('/bin/sleep'));
    const command = child();
    process.kill(pid, 'SIGKILL');
    await ended;
    await until('it has ended', () => commandLine(command) === '');
  });
});

describe.skipIf(!CONFINES || !COMPILES)('memory', () => {
  const ways = ['', '-later', '-shared', '-below', '-stack', '-moved', '-file', '-segment'].map(
    each => `memory${each}`,
  );
  const take = async (limits: Partial<Sandbox>, size: number) => {
    const { out } = await run({ processes: 1, ...limits }, many(ways.map(way => [way, String(size)])));
    return results(out);
  };

  test('none beyond `memory` is had, by whichever way, and what is below is', async () => {
    const { ENOMEM, EPERM, ENOSYS } = ERROR;
    const refused = [ENOMEM, ENOMEM, EPERM, EPERM, EPERM, ENOMEM, ENOSYS, ENOSYS];
    expect(await take({ memory: 64 * MIB }, 65)).toEqual(refused);
    expect((await take({ memory: 64 * MIB }, 32)).slice(0, 2)).toEqual([0, 0]);
    // Without the limit, only the segment is refused, which others of its user could use.
    expect(await take({}, 65)).toEqual([0, 0, 0, 0, 0, 0, 0, ENOSYS]);
  });
});

describe.skipIf(!CONFINES || !COMPILES)('the folder for temporary files', () => {
  test('is the command’s own: another one can neither list, read nor find it', async () => {
    const temporary = realpathSync(mkdtempSync(join(folder, 'tmp-')));
    const wait = ['/bin/sh', '-c', 'echo secret >$TMPDIR/file; echo $TMPDIR; cat'];
    const first = await start({ write: [] }, wait, {}, { temporary });
    const theirs = (await firstSaid(first.stdout)).trim();
    expect(theirs.startsWith(temporary)).toBe(true);
    const read = ['/bin', '/lib', '/lib64', '/usr', '/etc/ld.so.cache'].filter(existsSync);
    const words = [
      '/bin/sh',
      '-c',
      `{ cat ${theirs}/file || ls ${temporary} || cat $TMPDIR/../*/file; } 2>/dev/null`,
    ];
    const other = await run({ read, write: [] }, words, {}, { temporary });
    expect([other.out, other.report.kind]).toEqual(['', 'ended']);
    first.stdin.end();
    await first.ended;
    expect(readdirSync(temporary)).toEqual([]);
  });

  test('of a supervisor that was killed goes with the next one', async () => {
    const temporary = realpathSync(mkdtempSync(join(folder, 'tmp-')));
    const { pid, stdout, ended } = await start({}, ['/bin/sh', '-c', 'echo on; exec cat'], {}, { temporary });
    await firstSaid(stdout);
    process.kill(pid, 'SIGKILL');
    await ended;
    expect(readdirSync(temporary)).toHaveLength(1);
    await run({}, ['/bin/true'], {}, { temporary });
    expect(readdirSync(temporary)).toEqual([]);
  });

  test('is removed whatever is in it, and a place without room is named', async () => {
    const temporary = realpathSync(mkdtempSync(join(folder, 'tmp-')));
    const locked = ['/bin/sh', '-c', 'mkdir -p $TMPDIR/a/b; chmod 0 $TMPDIR/a; ln -s / $TMPDIR/root'];
    expect((await run({}, locked, {}, { temporary })).report).toEqual(ENDED);
    expect(readdirSync(temporary)).toEqual([]);
    const { report } = await run({}, ['/bin/true'], {}, { temporary: join(folder, 'nowhere') });
    expect(report).toMatchObject({ kind: 'failed', why: expect.stringContaining('temporary files') });
  });
});
