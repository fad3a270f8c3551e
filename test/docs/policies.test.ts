// The ten policies of docs/policies.md beyond what `toolgate test` can try, which the page itself runs: every file is shown
// on the page, and the policy about annotations is tried with what servers say of their tools.

import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { consider } from '../../src/core/decision/consider.ts';
import { type Decision, decide } from '../../src/core/decision/decide.ts';
import { compilePolicy } from '../../src/core/policy/compiled-policy.ts';
import type { Policy } from '../../src/core/policy/policy.ts';
import type { JsonObject } from '../../src/core/wire/json.ts';
import { ROOT } from '../support/service.ts';
import { parsePage } from './page.ts';

const FOLDER = 'docs/policies';
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const policyIn = (name: string): Policy => parse(read(`${FOLDER}/${name}`)).policy;

const shown = parsePage(read('docs/policies.md')).steps.flatMap(step => (step.kind === 'from' ? [step] : []));

test('the page shows each policy whole', () => {
  for (const name of readdirSync(join(ROOT, FOLDER))) {
    const blocks = shown.filter(step => step.name === `${FOLDER}/${name}`).map(step => parse(step.text));
    const rules = blocks.flatMap(block => block.rules ?? block);
    expect([name, rules]).toEqual([name, policyIn(name).rules.filter(rule => rule.tool !== LEFT_OUT)]);
  }
});

/** What the page says about it stands in the text, because it is the policy with which the page begins. */
const LEFT_OUT = 'mail__send_checked';

describe('annotations', () => {
  const decided = (name: string, tool: string, annotations: JsonObject | null): Decision => {
    const policy = compilePolicy({ ...policyIn(name), id: 'p', version: 1 });
    const [serverName = '', toolName = ''] = tool.split('__');
    const considered = consider(policy, { serverName, toolName }, null, {
      now: 0,
      surface: 'mcp',
      args: {},
      keyId: 'k',
      keyName: 'k',
      session: null,
      person: null,
      annotations,
    });
    return decide(considered, { drift: null, freedom: null, approvalLimit: null, usedUp: false }).decision;
  };

  test.each<[string, JsonObject | null, Decision]>([
    ['internal__report', { readOnlyHint: true }, 'allow'],
    ['internal__report', { readOnlyHint: true, destructiveHint: false }, 'allow'],
    ['internal__report', { readOnlyHint: true, destructiveHint: true }, 'pending'],
    ['internal__report', { readOnlyHint: false }, 'pending'],
    ['internal__report', { readOnlyHint: 'true' }, 'pending'],
    ['internal__report', { readOnlyHint: 1 }, 'pending'],
    ['internal__report', {}, 'pending'],
    ['internal__report', null, 'pending'],
    ['github__get_issue', null, 'allow'],
    ['github__get_issue', { title: 'Get' }, 'allow'],
    ['github__get_issue', { destructiveHint: false }, 'allow'],
    ['github__get_issue', { destructiveHint: true }, 'pending'],
    ['github__get_issue', { destructiveHint: 'false' }, 'pending'],
    ['evil__delete_everything', { readOnlyHint: true }, 'deny'],
    ['evil__internal__report', { readOnlyHint: true }, 'deny'],
  ])('%s that says %p: %s', (tool, annotations, wanted) => {
    expect(decided('annotations.yaml', tool, annotations)).toBe(wanted);
  });

  test('the first idea allows what any server says', () => {
    expect(decided('naive.yaml', 'evil__delete_everything', { readOnlyHint: true })).toBe('allow');
  });
});
