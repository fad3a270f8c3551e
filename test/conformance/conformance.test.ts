// The official MCP conformance runner through the gateway; its findings are compared with expected-failures.yml.

import { expect, test } from 'bun:test';
import {
  asExpected,
  describeOutcome,
  runConformance,
  runOAuthConformance,
} from '../../scripts/conformance.ts';
import { packagesOf } from '../../scripts/extras.ts';
import { need, needExtra } from '../support/need.ts';
import { BUN } from '../support/service.ts';

/** The runner is written for Node 22 and later; Bun runs it as well, as far as it keeps up with that. */
const runs = () =>
  ['conformance-2025', 'conformance-2026'].every(runner => {
    const script = packagesOf('scripts', runner, 'dist/index.js');
    return Bun.spawnSync([BUN, script, '--version']).exitCode === 0;
  });

const lacks = !needExtra('scripts') || !need(runs(), 'a runtime that runs the MCP conformance runner');

test.skipIf(lacks)(
  'the official conformance runner finds nothing through the gateway but what is explained',
  async () => {
    const outcomes = await runConformance(outcome => console.log(describeOutcome(outcome)));
    expect(outcomes.filter(outcome => !asExpected(outcome)).map(describeOutcome)).toEqual([]);
    expect(outcomes.length).toBe(5);
  },
  600_000,
);

test.skipIf(lacks)(
  'it finds nothing else when the gateway signs in to servers as an OAuth client',
  async () => {
    const outcomes = await runOAuthConformance(outcome => console.log(describeOutcome(outcome)));
    expect(outcomes.filter(outcome => !asExpected(outcome)).map(describeOutcome)).toEqual([]);
    expect(new Set(outcomes.flatMap(each => each.scenarios)).size).toBe(27);
  },
  600_000,
);
