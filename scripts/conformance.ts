// Runs both published generations of the official MCP conformance runner through the gateway: its server scenarios with
// the fixture as the upstream and a shim in front, and its client scenarios about OAuth with the scenario's server as a
// Connected Tool. It prints what passed and failed. It fails on a failure that test/conformance/expected-failures.yml does
// not list, and on a listed one that no longer happens.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { startFixture } from '../test/conformance/fixture.ts';
import { startShim } from '../test/conformance/shim.ts';
import { newPerson } from '../test/operators/people.ts';
import { ADMIN_TOKEN, BUN, ROOT, startService, type TestService } from '../test/support/service.ts';
import { packagesOf } from './extras.ts';

type Era = 'legacy' | 'modern';

interface Run {
  name: string;
  runner: 'conformance-2025' | 'conformance-2026';
  /** The protocol era of the fixture behind the gateway. */
  upstream: Era;
  args: string[];
}

const SERVER = 'conf';
const EXPECTED = join(ROOT, 'test/conformance/expected-failures.yml');

/** Both eras of clients, each with both eras of upstreams. */
const RUNS: Run[] = [
  ...(['legacy', 'modern'] as const).flatMap((upstream): Run[] => [
    { name: '0.1.16, suite active', runner: 'conformance-2025', upstream, args: ['--suite', 'active'] },
    {
      name: '0.2.0-alpha.12, requirements 2025-11-25',
      runner: 'conformance-2026',
      upstream,
      args: ['--requirements', '2025-11-25'],
    },
  ]),
  {
    name: '0.2.0-alpha.12, requirements 2026-07-28',
    runner: 'conformance-2026',
    upstream: 'modern',
    args: ['--requirements', '2026-07-28'],
  },
];

/** All scenarios about OAuth: of the current revision, those that are new in it, and those for older servers. */
const OAUTH_RUNS: Omit<Run, 'upstream'>[] = [
  {
    name: '0.2.0-alpha.12, OAuth, 2026-07-28',
    runner: 'conformance-2026',
    args: ['--suite', 'auth', '--spec-version', '2026-07-28'],
  },
  { name: '0.2.0-alpha.12, OAuth, new ones', runner: 'conformance-2026', args: ['--suite', 'draft'] },
  { name: '0.2.0-alpha.12, OAuth, 2025-03-26', runner: 'conformance-2026', args: ['--suite', 'backcompat'] },
  { name: '0.1.16, OAuth', runner: 'conformance-2025', args: ['--suite', 'auth'] },
];

interface Check {
  scenario: string;
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  errorMessage?: string;
}

export interface Outcome {
  run: string;
  scenarios: string[];
  passed: number;
  skipped: number;
  failed: number;
  /** Failed checks that are not listed, with the runner's message. */
  unexpected: string[];
  /** Listed failures whose scenario ran and no longer fails. */
  stale: string[];
}

export async function runConformance(onOutcome: (outcome: Outcome) => void = () => {}): Promise<Outcome[]> {
  await using resources = new AsyncDisposableStack();
  const fixture = startFixture();
  resources.defer(() => fixture.stop());
  const service = await startService();
  resources.defer(() => service.close());
  const outcomes: Outcome[] = [];
  for (const run of RUNS) {
    const key = await keyFor(service, fixture.url(run.upstream));
    const shim = startShim(`${service.url}/mcp`, key, SERVER);
    resources.defer(() => shim.stop());
    const checks = await runOne(run, ['server', '--url', shim.url]);
    const outcome = outcomeOf(`${run.name}, ${run.upstream} upstream`, checks, readExpected().server);
    onOutcome(outcome);
    outcomes.push(outcome);
  }
  return outcomes;
}

/** The client in these scenarios is the gateway, which a command makes sign in and call. */
export async function runOAuthConformance(
  onOutcome: (outcome: Outcome) => void = () => {},
): Promise<Outcome[]> {
  await using resources = new AsyncDisposableStack();
  const service = await startService({ env: { TOOLGATE_TRUSTED_PROXIES: '127.0.0.0/8' } });
  resources.defer(() => service.close());
  const { cookie } = await newPerson(service, 'admin');
  const env = { TOOLGATE_URL: service.url, TOOLGATE_TOKEN: ADMIN_TOKEN, TOOLGATE_COOKIE: cookie };
  const command = `${BUN} ${join(ROOT, 'test/conformance/oauth-client.ts')}`;
  const outcomes: Outcome[] = [];
  for (const run of OAUTH_RUNS) {
    const checks = await runOne(run, ['client', '--command', command, '--timeout', '60000'], env);
    const about = checks.filter(each => each.scenario.startsWith('auth/'));
    const outcome = outcomeOf(run.name, about, readExpected().client);
    onOutcome(outcome);
    outcomes.push(outcome);
  }
  return outcomes;
}

/** A key that relays resources, prompts and completion, with the fixture as its only Connected Tool. */
async function keyFor(service: TestService, url: string): Promise<string> {
  const forward = ['resources', 'prompts', 'completion'];
  const { key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }], { forward });
  const tool = { name: SERVER, transport: 'http', url };
  const { status, text } = await service.admin('POST', `/keys/${keyId}/connected-tools`, tool);
  if (status !== 201) throw new Error(`Connected Tool refused: ${text}`);
  return key;
}

async function runOne(
  run: Pick<Run, 'runner' | 'args'>,
  what: readonly string[],
  env: Record<string, string> = {},
): Promise<Check[]> {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-conformance-'));
  try {
    const script = packagesOf('scripts', run.runner, 'dist/index.js');
    const child = Bun.spawn([BUN, script, ...what, '-o', folder, ...run.args], {
      cwd: folder,
      env: { ...process.env, ...env },
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const output = await Promise.all([child.stdout.text(), child.stderr.text()]);
    await child.exited;
    const checks = readChecks(folder);
    if (checks.length === 0) throw new Error(`${run.runner} did not run:\n${output.join('').slice(-2000)}`);
    return checks;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** There is one folder per scenario with its checks: `server-<scenario>-<time>`, or for clients `<scenario>-<time>`. */
function readChecks(folder: string): Check[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return files
    .filter(file => file.endsWith('checks.json'))
    .flatMap(file => {
      const scenario = file.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/s, '');
      const checks = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Check[];
      return checks.map(check => ({ ...check, scenario }));
    });
}

function readExpected(): { server: string[]; client: string[] } {
  return parse(readFileSync(EXPECTED, 'utf8'));
}

/** This is stricter than the runner, which ignores failures in scenarios that a revision does not score. */
function outcomeOf(run: string, checks: Check[], expected: string[]): Outcome {
  const failed = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
  const covers = (entry: string, { scenario, id }: Check) =>
    entry === scenario || entry === `${scenario}:${id}`;
  const count = (status: Check['status']) => checks.filter(check => check.status === status).length;
  return {
    run,
    scenarios: [...new Set(checks.map(({ scenario }) => scenario))],
    passed: count('SUCCESS'),
    skipped: count('SKIPPED'),
    failed: failed.length,
    unexpected: failed
      .filter(check => !expected.some(entry => covers(entry, check)))
      .map(({ scenario, id, errorMessage }) => `${scenario}:${id} ${errorMessage ?? ''}`),
    stale: expected.filter(
      entry => checks.some(check => covers(entry, check)) && !failed.some(check => covers(entry, check)),
    ),
  };
}

export function describeOutcome({ run, passed, failed, skipped, unexpected, stale }: Outcome): string {
  const expected = failed - unexpected.length;
  return [
    `${run}: ${passed} passed, ${expected} failed as expected, ${unexpected.length} unexpectedly, ${skipped} skipped`,
    ...unexpected.map(each => `  failed: ${each}`),
    ...stale.map(each => `  passes now, so remove it from expected-failures.yml: ${each}`),
  ].join('\n');
}

export const asExpected = ({ unexpected, stale }: Outcome) => unexpected.length + stale.length === 0;

if (import.meta.main) {
  const print = (outcome: Outcome) => console.log(describeOutcome(outcome));
  const outcomes = [...(await runConformance(print)), ...(await runOAuthConformance(print))];
  process.exit(outcomes.every(asExpected) ? 0 : 1);
}
