// One of two files that orphans.test.ts runs at the same time.

import { test } from 'bun:test';
import { leaveBehind } from './leave.ts';

test('leaves much behind', leaveBehind);
