// In ordinary results the detectors find nothing that is not there: at most in 5 of 1,000 texts, and in no drawn one.

import { expect, test } from 'bun:test';
import { DETECTOR_NAMES } from '../../../src/core/detectors/detectors.ts';
import { sized } from '../../support/when-changed.ts';
import { countDrawn, countPackaged } from './ordinary.ts';

test('drawn logs, tables, mails and listings', () => {
  const { mistaken, examples } = countDrawn(sized(14_000, 1_400, 700));
  expect([mistaken, examples]).toEqual([
    Object.fromEntries(DETECTOR_NAMES.map(name => [name, 0])) as never,
    [],
  ]);
}, 60_000);

test('texts of the installed packages', () => {
  const { texts, mistaken } = countPackaged(sized(1, 4, 8));
  expect(texts).toBeGreaterThan(500);
  for (const name of DETECTOR_NAMES) expect([name, mistaken[name] / texts <= 0.005]).toEqual([name, true]);
}, 60_000);
