// The packs for real tool servers, against the tools that these servers have (test/vectors/servers): every tool is decided by
// a rule that was written for it, no rule names a tool that no server has, and what strangers can write marks its run.

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
import { hiddenOf, type ResultEntry } from '../../src/core/policy/result-fields.ts';
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

/** The rule without each of its conditions, without its limit, and without what it makes known. */
function weakened(rule: Rule): Rule[] {
  const { when, ...always } = rule;
  const conditions = when === undefined ? [] : [when].flat();
  const fewer = conditions.map((_, index) => {
    const rest = conditions.toSpliced(index, 1);
    return rest.length === 0 ? always : { ...always, when: rest };
  });
  const { limit, show: _, ...unlimited } = rule;
  const { known, ...silent } = rule;
  return [...fewer, ...(limit === undefined ? [] : [unlimited]), ...(known === undefined ? [] : [silent])];
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

  test('nothing of a rule could be left out without a case that notices', async () => {
    const whole = parse(readFileSync(join(FOLDER, `${pack}.yaml`), 'utf8'));
    const file = `${pack}.cases.yaml`;
    const { cases } = await readCases(captured(FOLDER), file);
    // A rule for one tool decides nothing in a case that does not call it.
    const casesWith = (tool: string) =>
      cases.filter(
        ({ steps }) => tool.endsWith('*') || steps.some(each => `${each.server}__${each.tool}` === tool),
      );
    const isNoticed = (index: number, rule: Rule) => {
      const changed = rules.with(index, rule);
      const policy = compilePolicy({ id: 'p', version: 1, ...whole, rules: changed });
      return casesWith(rule.tool).some(each => failuresOf(file, policy, each).length > 0);
    };
    const unnoticed = rules.flatMap((rule, index) =>
      weakened(rule)
        .filter(each => !isNoticed(index, each))
        .map(each => [rule.tool, each.when, each.limit, each.known]),
    );
    expect(unnoticed).toEqual([]);
  });

  test('secrets are hidden in what each server returns, and nothing that is hidden could be left out unnoticed', async () => {
    const whole = parse(readFileSync(join(FOLDER, `${pack}.yaml`), 'utf8'));
    const results: ResultEntry[] = whole.results;
    expect(results.map(each => each.tool)).toEqual(Object.keys(servers).map(server => `${server}__*`));
    expect(results.filter(each => !hiddenOf(each).includes('secrets'))).toEqual([]);
    const file = `${pack}.cases.yaml`;
    const { cases } = await readCases(captured(FOLDER), file);
    const withResults = cases.filter(({ steps }) => steps.some(each => each.want.result !== undefined));
    for (const [index, entry] of results.entries())
      for (const [at, hidden] of hiddenOf(entry).entries()) {
        const hide = hiddenOf(entry).toSpliced(at, 1);
        const fewer = hide.length > 0 ? results.with(index, { ...entry, hide }) : results.toSpliced(index, 1);
        const policy = compilePolicy({ id: 'p', version: 1, ...whole, results: fewer });
        const isNoticed = withResults.some(each => failuresOf(file, policy, each).length > 0);
        expect([entry.tool, hidden, isNoticed]).toEqual([entry.tool, hidden, true]);
      }
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

/** Tools that read what nobody but the owner, or who may write in their place, has written. */
const OWN: Record<string, string[]> = {
  mail: [
    'gmail__list_email_labels',
    'gmail__list_filters',
    'gmail__get_filter',
    'gmail__get_or_create_label',
    'email__list_accounts',
    'email__list_mailboxes',
    'email__list_labels',
    'email__list_scheduled',
    'email__list_templates',
    'email__list_presets',
    'email__list_calendars',
    'email__find_email_folder',
    'email__get_email_status',
    'email__get_hooks_config',
    'email__get_watcher_status',
    'email__check_health',
    'email__check_calendar_permissions',
    'email__check_notification_setup',
  ],
  payments: [
    'stripe__list_coupons',
    'stripe__list_prices',
    'stripe__list_products',
    'stripe__retrieve_balance',
    'stripe__search_stripe_documentation',
    'paypal__get_merchant_insights',
    'paypal__get_shipment_tracking',
    'paypal__list_products',
    'paypal__list_subscription_plans',
    'paypal__show_product_details',
    'paypal__show_subscription_plan_details',
  ],
  browser: [
    'playwright__browser_pdf_save',
    'playwright__browser_route_list',
    'playwright__browser_highlight',
    'playwright__browser_hide_highlight',
    'playwright__browser_get_config',
  ],
  slack: ['slack__slack_list_channels', 'slack__channels_list', 'slack__usergroups_list'],
  github: ['github__get_me', 'github__get_teams', 'github__get_team_members'],
};

const READS = /^(?:slack_)?(?:get|list|read|retrieve|search|show|download)_/;
/** These have the hint that they only read, and show no page. */
const RECORDS = /__browser_(?:start|stop)_|__browser_video_/;

describe.each(Object.entries(OWN))('%s, after reading', (pack, own) => {
  const rules = rulesOf(pack);
  const reading = Object.entries(PACKS[pack] ?? {}).flatMap(([server, files]) =>
    toolsOf(files)
      .filter(({ name, readOnlyHint = false }) => readOnlyHint || READS.test(name))
      .map(({ name }) => `${server}__${name}`),
  );

  test('every tool that reads marks its run, unless only the owner writes what it gives', () => {
    const unmarked = rules.filter(
      ({ tool, action, marks, known }) =>
        action !== 'deny' && marks === undefined && known === undefined && reading.includes(tool),
    );
    const given = rules.filter(rule => rule.known !== undefined && isCertain(rule)).map(rule => rule.tool);
    const found = new Set([...unmarked.map(rule => rule.tool), ...given]);
    expect([...found].filter(tool => !RECORDS.test(tool)).sort()).toEqual(own.toSorted());
  });

  test('a tool that is not known yet marks its run once a person has let it pass', () => {
    const others = rules.filter(
      ({ tool, action, when }) => tool.endsWith('__*') && action !== 'deny' && when === undefined,
    );
    expect(others.length).toBe(Object.keys(PACKS[pack] ?? {}).length);
    expect(others.filter(({ marks }) => marks !== 'untrusted')).toEqual([]);
  });
});
