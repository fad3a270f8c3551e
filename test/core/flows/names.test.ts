// Names of marks and of runs.

import { expect, test } from 'bun:test';
import { markFault, runNameFault } from '../../../src/core/flows/names.ts';

test.each(['a', 'untrusted', 'a-1-', 'x'.repeat(32)])('%j is a name of a mark', name => {
  expect(markFault(name)).toBeNull();
});

test.each(['', 'A', '1a', '-a', 'a_b', 'a b', 'ä', 'a\n', 'x'.repeat(33)])('%j is none', name => {
  expect(markFault(name)).toStartWith('must have 1 to 32 characters');
});

test.each(['a', '!', '~', 'run-1/2', 'x'.repeat(128)])('%j is a name of a run', name => {
  expect(runNameFault(name)).toBeNull();
});

test.each(['', ' ', 'a b', 'a\n', '\u007f', 'ä', 'x'.repeat(129)])('%j is no name of a run', name => {
  expect(runNameFault(name)).toStartWith('must have 1 to 128 visible ASCII characters');
});
