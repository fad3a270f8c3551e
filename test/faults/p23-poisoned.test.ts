// P23: one caller's input never fails another caller's check. Bad keys send what is hostile (NUL, lone surrogates and
// long texts where a reference, a name or an argument belongs) or have settings in the store that cannot be read, in
// the same groups as a good key's checks. Every good check is answered, rightly and recorded once. What is refused at
// the edge, and what is known to fail one key only, is then let through on purpose: the group is divided, and the good
// checks still succeed. The mutants let it through and fail the group as a whole.

import { expect, test } from 'bun:test';
import {
  againstLog,
  figures,
  inTime,
  Received,
  sql,
  until,
  verdictOf,
  withMutant,
} from '../support/faults.ts';
import { type Answer, isLate, startLoad } from '../support/load.ts';
import { connect, modern, RecordingUpstream } from '../support/mcp.ts';
import type { Patch } from '../support/mutant.ts';
import { type Engine, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged, sized, whenChanged } from '../support/when-changed.ts';

const CHECKS = sized(8000, 800, 400);
/** Where the guard lets something in, every group has a bad check in it, so fewer say the same. */
const CHECKS_LET_IN = CHECKS / 2;
const GOOD_CLIENTS = 16;
/** Good and bad clients may take turns, each in groups of their own: of ten campaigns, one noticed nothing of a mutant. */
const MOST_CAMPAIGNS = 5;
/** Of each kind of bad key. */
const BAD_CLIENTS = 2;
const MANY = { TOOLGATE_MAX_OPEN_APPROVALS_PER_KEY: '1000000', TOOLGATE_LOG_LEVEL: 'silent' };

const NUL = '\u0000';
const LONE = 'a\ud800b';
const HUGE = 'r'.repeat(200_000);

const UNCHECKED: Patch = {
  file: 'src/mcp/translate.ts',
  find: 'if (isReference(reference)) return reference;',
  replace: "if (typeof reference === 'string') return reference;",
};
const NOTIFY_THROWS: Patch = {
  file: 'src/guard/approvals/ask.ts',
  find: '  } catch (error) {\n    return auditFailed(',
  replace: '  } catch (error) {\n    throw (',
};
const POLICY_THROWS: Patch = {
  file: 'src/guard/check/cases.ts',
  find: 'return auditFailed(unreadable(key));',
  replace: 'throw unreadable(key);',
};
const WHOLE: Patch = {
  file: 'src/guard/check/commit.ts',
  find: 'if (group.length > 1) await this.#divide(group);',
  replace: '',
};

/** What each lets through; the first only harms PostgreSQL, which takes no NUL. */
const HOLES: Record<string, { patch: Patch; engines: Engine[] }> = {
  'any text as a reference': { patch: UNCHECKED, engines: ['postgres'] },
  'settings that cannot be read': { patch: NOTIFY_THROWS, engines: ['sqlite', 'postgres'] },
  'policies that cannot be read': { patch: POLICY_THROWS, engines: ['sqlite', 'postgres'] },
};

for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/**', 'src/mcp/**')) {
  test(`${engine}: a good key’s checks succeed, whatever others send or have stored`, async () => {
    const found = await inTime(() => measure(engine, engine, CHECKS));
    expect(found.faults).toEqual([]);
    expect(found.wrong).toEqual([]);
    expect(found.operations).toBe(CHECKS);
    expect(found.hostile).toBeGreaterThan(0);
  });

  for (const [what, hole] of Object.entries(HOLES)) {
    if (!hole.engines.includes(engine)) continue;

    whenChanged(hole.patch, WHOLE)(`${engine}: so they do where the guard lets in ${what}`, async () => {
      const found = await withMutant([hole.patch], root =>
        inTime(() => measure(engine, `${engine}, let in: ${what}`, CHECKS_LET_IN, { root })),
      );
      expect(found.faults).toEqual([]);
      expect(found.operations).toBe(CHECKS_LET_IN);
      expect(found.hostile).toBeGreaterThan(0);
    });

    whenChanged(hole.patch, WHOLE)(
      `${engine}: a mutant that lets in ${what} and fails groups whole is found out`,
      async () => {
        const found = await withMutant([hole.patch, WHOLE], async root => {
          let faults = 0;
          for (let campaign = 0; campaign < MOST_CAMPAIGNS && faults === 0; campaign++)
            faults = (await measure(engine, `${engine} mutant`, CHECKS, { root, endsWithFault: true })).faults
              .length;
          return faults;
        });
        expect(found).toBeGreaterThan(0);
      },
    );
  }
}

// --- measuring -----------------------------------------------------------------------------------

interface Broken {
  root?: string;
  /** Whether the first check that fails is enough. */
  endsWithFault?: boolean;
}

async function measure(
  engine: Engine,
  where: string,
  checks: number,
  { root, endsWithFault = false }: Broken = {},
) {
  const service = await startService({ engine, env: MANY, ...(root && { root }) });
  const upstream = new RecordingUpstream();
  const bad = await hostileKeys(service, upstream);
  const { key } = await service.newKey([
    { tool: 'good', action: 'allow' },
    { tool: 'held', action: 'require_approval' },
  ]);
  const received = new Received();
  const good: Answer[] = [];
  const attack = bad.flatMap(each => Array.from({ length: BAD_CLIENTS }, () => keepSending(each)));
  await until('hostile answers of every kind', () => bad.every(each => each.answers > 0));
  let left = checks;
  const load = startLoad({
    connections: GOOD_CLIENTS,
    url: () => service.url,
    next: number => (left-- > 0 ? { token: key, body: goodCheck(number) } : null),
    answered: answer => {
      received.take(answer);
      good.push(answer);
      if (endsWithFault && verdictOf(answer) === null) left = 0;
    },
  });
  await load.done;
  for (const each of bad) each.stopped = true;
  await Promise.all(attack);
  const { lost, twice } = await againstLog(service.databaseUrl, received.verdicts);
  await service.close();
  await upstream.stop();
  const faults = [
    ...good.filter(each => verdictOf(each) === null).map(each => `a good check got ${each.text}`),
    ...Array(lost + twice).fill('a verdict is not in the log once'),
    ...(load.unanswered > 0 ? [`${load.unanswered} good checks were not answered`] : []),
  ];
  const hostile = bad.reduce((sum, each) => sum + each.answers, 0);
  figures(`P23 ${where}`, { operations: good.length, faults: hostile, violations: faults.length });
  const late = good.filter(isLate).length;
  const wrong = bad.flatMap(each => [...each.wrong]);
  return { operations: good.length, hostile, faults, wrong, late };
}

function goodCheck(connection: number): string {
  const toolName = connection % 4 === 0 ? 'held' : 'good';
  return JSON.stringify({ serverName: 'files', toolName, args: { connection } });
}

// --- bad keys ------------------------------------------------------------------------------------

interface BadKey {
  send: () => Promise<string | null>;
  answers: number;
  /** Answers that such a key must not get. */
  wrong: Set<string>;
  stopped: boolean;
}

async function keepSending(bad: BadKey): Promise<void> {
  while (!bad.stopped) {
    const wrong = await bad.send();
    if (wrong !== null) bad.wrong.add(wrong);
    bad.answers++;
  }
}

const RULES = [
  { tool: 'held', action: 'require_approval' as const },
  { tool: 'up__*', action: 'require_approval' as const },
  { tool: '*', action: 'allow' as const },
];

async function hostileKeys(service: TestService, upstream: RecordingUpstream): Promise<BadKey[]> {
  const withNotify = await service.newKey(RULES, { notify: { emails: ['someone@example.com'] } });
  const [missing, garbled, sender] = [
    await service.newKey(RULES),
    await service.newKey(RULES),
    await service.newKey(RULES),
  ];
  await connect(service, sender.keyId, 'up', upstream.url);
  const broken = [
    `UPDATE keys SET notify_sealed = 'AAAA' WHERE id = '${withNotify.keyId}'`,
    `DELETE FROM policy_versions WHERE policy_id = '${missing.policyId}'`,
    `UPDATE policy_versions SET rules = '[{"tool"' WHERE policy_id = '${garbled.policyId}'`,
  ];
  await sql(service.databaseUrl, ...broken);
  const begun = { answers: 0, stopped: false };
  const judgedBy = (token: string, toolName: string) => async () =>
    (await check(service, token, { serverName: 'x', toolName })) === 200
      ? 'a key whose settings cannot be read got a verdict'
      : null;
  return [
    { ...begun, wrong: new Set(), send: judgedBy(withNotify.key, 'held') },
    { ...begun, wrong: new Set(), send: judgedBy(missing.key, 'any') },
    { ...begun, wrong: new Set(), send: judgedBy(garbled.key, 'any') },
    { ...begun, wrong: new Set(), send: hostileCalls(service, sender.key) },
    { ...begun, wrong: new Set(), send: hostileChecks(service, sender.key) },
  ];
}

async function check(service: TestService, token: string, body: unknown): Promise<number> {
  return (await service.json('POST', '/v1/check', token, body)).status;
}

/** Over MCP, with what is no reference. */
function hostileCalls(service: TestService, token: string): BadKey['send'] {
  const references = [NUL, `${crypto.randomUUID()}${NUL}`, LONE, HUGE, '', 1, null, { [NUL]: NUL }];
  let next = 0;
  return async () => {
    const reference = references[next++ % references.length];
    const params = {
      name: 'up__echo',
      arguments: { text: NUL },
      _meta: { 'toolgate/referenceId': reference },
    };
    const { error } = await modern(service, token, 'tools/call', params);
    return error === undefined ? 'a call with no reference was taken' : null;
  };
}

/** Over /v1/check: in arguments anything goes, elsewhere it is refused. */
function hostileChecks(service: TestService, token: string): BadKey['send'] {
  const bodies = [
    { serverName: 'x', toolName: 'held', args: { [NUL]: LONE, text: HUGE } },
    { serverName: 'x', toolName: `t${NUL}` },
    { serverName: LONE, toolName: 'held' },
    { serverName: 'x', toolName: 'held', referenceId: NUL },
    { serverName: 'x', toolName: 'held', referenceId: HUGE },
    { serverName: 'x', toolName: 'held', args: { [LONE]: [NUL] }, referenceId: crypto.randomUUID() },
  ];
  let next = 0;
  return async () => {
    const status = await check(service, token, bodies[next++ % bodies.length]);
    return status < 500 ? null : `a hostile check got ${status}`;
  };
}
