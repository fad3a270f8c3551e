// What a test needs beyond Node and npm. Where it is missing, the test is left out with a loud line; with
// TOOLGATE_TEST_STRICT=1, as in CI, a missing part is a failure.

import { describeExtra, type Extra, hasExtra } from '../../scripts/extras.ts';

export function need(there: boolean, what: string): boolean {
  if (there) return true;
  if (process.env['TOOLGATE_TEST_STRICT'] === '1')
    throw new Error(`missing, and TOOLGATE_TEST_STRICT=1: ${what}`);
  console.warn(`\n*** SKIPPED, because this machine lacks it: ${what} ***\n`);
  return false;
}

/** The same for packages that the root's `npm ci` does not bring. */
export const needExtra = (folder: Extra): boolean => need(hasExtra(folder), describeExtra(folder));

/** The long form of the promise tests: `npm run promises`. */
export const LONG = process.env['TOOLGATE_TEST_LONG'] === '1';

/** Names the program that tests start as a service, where `npm test` has made one (program.ts). */
export const PROGRAM = 'TOOLGATE_TEST_PROGRAM';

/** Two files: the paths that changed, and the count of the tests that wait for another change (when-changed.ts). */
export const CHANGED = 'TOOLGATE_TEST_CHANGED';
export const LEFT_OUT = 'TOOLGATE_TEST_LEFT_OUT';
