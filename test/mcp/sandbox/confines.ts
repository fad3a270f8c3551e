// Whether this machine can confine commands, for tests that need it.

import { features } from '../../../src/mcp/sandbox/features.ts';
import { judge } from '../../../src/mcp/sandbox/judge.ts';
import { need } from '../../support/need.ts';
import { UNLIMITED } from './confined.ts';

/** Everything that a sandbox can say. */
const EVERYTHING = { ...UNLIMITED, read: [], write: [], network: false, memory: 1, processes: 1 };

const lacking =
  process.platform === 'linux'
    ? judge(EVERYTHING, await features()).notEnforced.map(({ why }) => why)
    : ['it is not Linux'];

/** Whether this machine can confine commands as docs/confined.md says. */
export const CONFINES = need(lacking.length === 0, `a kernel that confines commands wholly: ${lacking[0]}`);
