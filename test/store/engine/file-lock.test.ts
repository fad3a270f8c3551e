// The lock on an open file itself: one holder, one byte far behind the end, and no descriptor that stays open.

import { afterAll, describe, expect, test } from 'bun:test';
import { fstatSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FileLock, lockDescriptor } from '../../../src/store/engine/file-lock.ts';
import { newDataDir } from '../../support/faults.ts';
import { need } from '../../support/need.ts';

const AT = 2n ** 62n;

describe.if(need(process.platform === 'linux', 'a lock on an open file, which Linux has'))('linux', () => {
  const folder = newDataDir();
  afterAll(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'store.db');
  writeFileSync(path, '');
  const isOpen = (descriptor: number) => {
    try {
      return fstatSync(descriptor).isFile();
    } catch {
      return false;
    }
  };

  test('one descriptor has the lock until it is released, and a refused descriptor is closed', () => {
    const [first, second, third] = [openSync(path, 'r+'), openSync(path, 'r+'), openSync(path, 'r+')];
    const held = lockDescriptor(first) as FileLock;
    expect(isOpen(first)).toBe(true);
    expect([lockDescriptor(second), isOpen(second)]).toEqual(['taken', false]);
    held.release();
    expect(isOpen(first)).toBe(false);
    (lockDescriptor(third) as FileLock).release();
  });

  test('it covers one byte far behind the end', () => {
    const descriptor = openSync(path, 'r+');
    const held = lockDescriptor(descriptor) as FileLock;
    const { ino } = fstatSync(descriptor);
    const lines = readFileSync('/proc/locks', 'utf8').split('\n');
    const ours = lines.filter(line => line.includes('OFDLCK') && line.includes(`:${ino} `));
    expect(ours).toEqual([expect.stringMatching(new RegExp(`WRITE .* ${AT} ${AT}$`))]);
    held.release();
  });

  test('a descriptor that cannot be locked is closed, and no lock is left', () => {
    const reading = openSync(path, 'r');
    expect(lockDescriptor(reading)).toBeNull();
    expect(isOpen(reading)).toBe(false);
  });
});
