// Every test of the CEL specification either agrees or is refused when it is compiled. specification.yaml pins which.
// TOOLGATE_TEST_WRITE=1 writes that file anew.

import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Document, parse, visit } from 'yaml';
import { ConditionFault } from '../../../src/core/condition/fault.ts';
import { needExtra } from '../../support/need.ts';
import { evaluate, shown } from './evaluate.ts';
import { type SpecTest, specificationTests, withoutDyn } from './specification.ts';

const PINNED = join(import.meta.dir, 'specification.yaml');

interface Report {
  tests: number;
  agree: number;
  /** As specification-differences.yaml explains. */
  differ: number;
  refused: number;
  /** A variable is a message, bytes, a uint or has a qualified name; or the test is about types alone. */
  notAsked: number;
  /** Tests with dyn(), asked again in another spelling. */
  respelled: { agree: number; differ: number; refused: number };
  /** What is refused, by group of tests; a number where all of a group is. */
  refusedTests: Record<string, number | string[]>;
}

/** Tests that come to something else on purpose, and why; written by hand. */
const DELIBERATE = join(import.meta.dir, 'specification-differences.yaml');

const wrong: string[] = [];

function ask(
  name: string,
  expression: string,
  { declarations, scope, wanted }: SpecTest,
): 'agree' | 'differ' | 'refused' {
  let got: string;
  try {
    got = shown(evaluate(expression, declarations, scope));
  } catch (error) {
    if (error instanceof ConditionFault) return 'refused';
    throw error;
  }
  if (got === wanted) return 'agree';
  wrong.push(`${name} is ${got}`);
  return 'differ';
}

async function report(): Promise<Report> {
  const tests = await specificationTests();
  const counts = { tests: tests.size, agree: 0, differ: 0, refused: 0, notAsked: 0 };
  const respelled = { agree: 0, differ: 0, refused: 0 };
  const groups = new Map<string, { refused: string[]; agreed: boolean }>();
  for (const [name, each] of tests) {
    if (each === null) {
      counts.notAsked++;
      continue;
    }
    const answer = ask(name, each.expression, each);
    counts[answer]++;
    const [suite, part, ...rest] = name.split('/');
    const group = groups.get(`${suite}/${part}`) ?? { refused: [], agreed: false };
    groups.set(`${suite}/${part}`, group);
    if (answer !== 'refused') group.agreed = true;
    else group.refused.push(rest.join('/'));
    const spelled = withoutDyn(each.expression);
    if (spelled !== null) respelled[ask(name, spelled, each)]++;
  }
  const refusedTests: Report['refusedTests'] = {};
  for (const [name, { refused, agreed }] of groups) {
    if (refused.length > 0) refusedTests[name] = agreed ? refused : refused.length;
  }
  return { ...counts, respelled, refusedTests };
}

function write(made: Report): void {
  const document = new Document(made);
  visit(document, {
    Seq: (_, list) => {
      list.flow = true;
    },
  });
  writeFileSync(PINNED, document.toString({ lineWidth: 110, flowCollectionPadding: false }));
}

test.skipIf(!needExtra('scripts'))('every test of the specification agrees or is refused', async () => {
  const made = await report();
  const deliberate: { tests: string[] }[] = parse(readFileSync(DELIBERATE, 'utf8'));
  expect(wrong.sort()).toEqual(deliberate.flatMap(each => each.tests).sort());
  if (process.env['TOOLGATE_TEST_WRITE'] === '1') write(made);
  expect(made).toEqual(parse(readFileSync(PINNED, 'utf8')));
});
