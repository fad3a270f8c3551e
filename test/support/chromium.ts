// Where this machine has a Chromium, for tests and for screenshots; undefined if it has none.

import { existsSync } from 'node:fs';

/** Chromium without windows of its own needs a fifth less time for the same pages. */
export const CHROMIUM = [
  process.env['TOOLGATE_TEST_CHROMIUM'] ?? '',
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find(path => path !== '' && existsSync(path));
