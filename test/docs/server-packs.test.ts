// The packs for real tool servers, against the tools that these servers have (test/vectors/servers): every tool is decided by
// a rule that was written for it, and no rule names a tool that no server has.

import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readCases } from '../../src/cli/case-reader.ts';
import { failuresOf } from '../../src/cli/cases.ts';
import { run } from '../../src/cli/program.ts';
import { simulate } from '../../src/core/decision/simulate.ts';
import { compilePolicy } from '../../src/core/policy/compiled-policy.ts';
import type { Rule } from '../../src/core/policy/policy.ts';
import { captured } from '../cli/captured.ts';
import { ROOT } from '../support/service.ts';

interface Tool {
  name: string;
  readOnlyHint?: boolean;
  properties: Record<string, string>;
}

/** For each pack, the names of its servers, and the files that list their tools. */
const PACKS: Record<string, Record<string, string[]>> = {
  filesystem: { filesystem: ['server-filesystem'] },
  postgres: { postgres: ['server-postgres', 'postgres-mcp', 'henkey-postgres-mcp-server'] },
  mail: { gmail: ['server-gmail-autoauth-mcp'], email: ['email-mcp'] },
  payments: { stripe: ['stripe-mcp'], paypal: ['paypal-agent-toolkit'] },
  browser: {
    playwright: ['playwright-mcp'],
    puppeteer: ['server-puppeteer'],
    'chrome-devtools': ['chrome-devtools-mcp'],
  },
  slack: { slack: ['server-slack', 'slack-mcp-server'] },
  github: { github: ['github-mcp-server', 'server-github'] },
};

const FOLDER = join(ROOT, 'packs');

const toolsOf = (files: readonly string[]): Tool[] =>
  files.flatMap(file => {
    const { tools } = JSON.parse(readFileSync(join(ROOT, `test/vectors/servers/${file}.json`), 'utf8'));
    return tools as Tool[];
  });

const rulesOf = (pack: string): Rule[] => parse(readFileSync(join(FOLDER, `${pack}.yaml`), 'utf8')).rules;

/** The arguments that a rule reads in its conditions, allows to be there, or shows in its question. */
function argumentsOf({ when = [], ask = '', show = [] }: Rule): string[] {
  const conditions = [when].flat().join('\n');
  const read = [...conditions.matchAll(/\bargs\.(\w+)(?!\w*\()/g)].map(found => found[1] ?? '');
  const lists = [...conditions.matchAll(/args\.all\(field, field in \[(.*?)\]/g)].map(
    found => found[1] ?? '',
  );
  const allowed = lists.flatMap(list => list.split(',').map(name => name.trim().replaceAll('"', '')));
  const asked = [...ask.matchAll(/\{(\w+)/g)].map(found => found[1] ?? '');
  return [...read, ...allowed, ...asked, ...(show === 'all' ? [] : show)];
}

/** The tools that a rule for a whole server lists in its conditions. */
function listedTools({ when = [] }: Rule): string[] {
  const lists = [
    ...[when]
      .flat()
      .join('\n')
      .matchAll(/tool\.name in \[(.*?)\]/g),
  ].map(found => found[1] ?? '');
  return lists.flatMap(list => list.split(',').map(name => name.trim().replaceAll('"', '')));
}

/** The rule without each of its conditions, and without its limit. */
function weakened({ when, ...rule }: Rule): Rule[] {
  const conditions = when === undefined ? [] : [when].flat();
  const fewer = conditions.map((_, index) => {
    const rest = conditions.toSpliced(index, 1);
    return rest.length === 0 ? rule : { ...rule, when: rest };
  });
  if (rule.limit === undefined) return fewer;
  const { limit: _, show: __, ...unlimited } = rule;
  return [...fewer, when === undefined ? unlimited : { ...unlimited, when }];
}

const isCertain = ({ when, during }: Rule) => when === undefined && during === undefined;

describe.each(Object.entries(PACKS))('%s', (pack, servers) => {
  const rules = rulesOf(pack);
  const named = Object.entries(servers).flatMap(([server, files]) =>
    toolsOf(files).map(({ name }) => `${server}__${name}`),
  );

  test('lint finds nothing', async () => {
    const io = captured(FOLDER);
    await run(['lint', '--strict', `${pack}.yaml`], io);
    expect([io.err, io.code ?? 0]).toEqual([`${pack}.yaml: no problems\n`, 0]);
  });

  test('every call gets the decision that its case wants', async () => {
    const io = captured(FOLDER);
    await run(['test', '--json', `${pack}.cases.yaml`], io);
    const { calls, failures } = JSON.parse(io.out);
    expect(failures).toEqual([]);
    expect(calls).toBeGreaterThan(30);
  });

  test('no condition and no limit could be left out without a case that notices', async () => {
    const whole = parse(readFileSync(join(FOLDER, `${pack}.yaml`), 'utf8'));
    const { cases } = await readCases(captured(FOLDER), `${pack}.cases.yaml`);
    const isNoticed = (changed: Rule[]) => {
      const policy = compilePolicy({ id: 'p', version: 1, ...whole, rules: changed });
      return cases.some(each =>
        failuresOf(pack, policy, each).some(({ wanted, got }) => wanted.decision !== got.decision),
      );
    };
    const unnoticed = rules.flatMap((rule, index) =>
      weakened(rule)
        .filter(each => !isNoticed(rules.with(index, each)))
        .map(each => [rule.tool, each.when, each.limit]),
    );
    expect(unnoticed).toEqual([]);
  });

  test('every tool has a rule of its own that decides in any case', () => {
    const decided = new Set(rules.filter(isCertain).map(rule => rule.tool));
    expect(named.filter(name => !decided.has(name))).toEqual([]);
  });

  test('no rule names a tool that no server has, or another server', () => {
    const known = new Set([...named, ...Object.keys(servers).map(server => `${server}__*`)]);
    expect(rules.map(rule => rule.tool).filter(tool => !known.has(tool))).toEqual([]);
    const bare = new Set(named.map(name => name.slice(name.indexOf('__') + 2)));
    expect(rules.flatMap(listedTools).filter(name => !bare.has(name))).toEqual([]);
  });

  test('a rule for one tool reads only arguments that the tool has', () => {
    const known = new Map<string, Set<string>>();
    for (const [server, files] of Object.entries(servers))
      for (const { name, properties } of toolsOf(files)) {
        const full = `${server}__${name}`;
        known.set(full, new Set([...(known.get(full) ?? []), ...Object.keys(properties)]));
      }
    for (const rule of rules.filter(each => known.has(each.tool)))
      expect([rule.tool, argumentsOf(rule).filter(name => !known.get(rule.tool)?.has(name))]).toEqual([
        rule.tool,
        [],
      ]);
  });

  test('a tool that no server has yet is not allowed, whatever its arguments', () => {
    const policy = compilePolicy({
      id: 'p',
      version: 1,
      ...parse(readFileSync(join(FOLDER, `${pack}.yaml`), 'utf8')),
    });
    for (const server of Object.keys(servers)) {
      for (const toolName of ['new_tool', 'get_new', 'read', 'list_all', '*', named[0] ?? '']) {
        const call = { serverName: server, toolName };
        expect([toolName, simulate(policy, call, { at: 0, args: {} }).decision]).toEqual([
          toolName,
          'pending',
        ]);
      }
    }
  });
});
