// The tests to run for a change in a source file: those that cover the file best, so that the whole suite would hardly
// notice a change that they all miss. A test with the file's name, and one that imports the file, need not be listed. A
// file without a test of its name, and without a row here, gets the tests of the files that import it.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dir, '../..');

/**
 * Tests by a pattern for the path under `src`; a file may match several rows. A file in a room of its folder is also
 * known by its folder and name alone (`core/policy-file/lint.ts` as `core/lint.ts`).
 */
const NAMED: [RegExp, string][] = [
  [
    /^core\/(decide|consider|compiled-policy|situation|policy|rule-index|pattern|name|simulate|trace)/,
    'core/cases core/decision/decide core/decision/reason core/decision/reasons core/strictness core/decision/trace core/text/pattern core/policy-file/lint faults/p14 faults/p15',
  ],
  [
    /^core\/(reason|recorded|evidence|replay|possibilities|situation)/,
    'core/decision/reason core/foresight/replay core/replay-random core/policy/situation',
  ],
  [/^core\/(json|exact-number|canonical)/, 'core/wire/json core/wire/canonical http/refusals'],
  [
    /^core\/(policy-file|policy-text|rule-faults|rule-fields|field-type|yaml-faults|yaml-scalar|lint-conditions|lint-asking|diff)/,
    'core/policy-file/ core/policy/rule-fields cli/transcripts http/policies',
  ],
  [
    /^core\/(checkpoint|given-up|log-stretch|log-verifier|merkle|entry)/,
    'core/log/checkpoint core/log/log-verifier core/log/merkle cli/audit-verify',
  ],
  [/^core\/(zone|hours|limit|decimal)/, 'core/time/hours core/policy/limit'],
  [
    /^core\/condition\//,
    'core/condition/condition core/condition/hostile core/condition/specification core/condition/reference',
  ],
  [/^core\/definitions\//, 'core/definitions'],
  [
    /^(core\/definitions\/(held|look|lock-file)|guard\/(check\/(held|facts)|shadowing|tool-servers\/(accept|accepted|definitions|held-keys|looks|review|sources))|store\/(definition-reviews|tool-definitions)|settings\/tools-lock)/,
    'mcp/first-look mcp/definition-findings mcp/tools-lock mcp/first-look-attacks replicas/first-look',
  ],
  [/^core\/(detectors|results|text\/iban)/, 'core/detectors core/results core/text/iban'],
  [/^core\/agents\//, 'core/agents docs/daily-work http/packs'],
  [/^(cli|core)\/clients\//, 'cli/clients/edit cli/clients/connect core/clients/clients'],
  [/^core\/errors/, 'http/refusals core/wire/json'],
  [/^core\/(approval|event)/, 'approvals/approve approvals/webhooks core/approvals/approval'],
  [/^core\/visible/, 'approvals/notifications guard/approvals/notify'],
  [
    /^guard\/(check\/|approvals\/ask|deps)/,
    'guard/check/ http/agent/check approvals/spend approvals/flood approvals/withdraw http/policies http/cases mcp/drift mcp/approved-for',
  ],
  [
    /^guard\/(check\/(approval-)?facts|credentials|sessions|keys)/,
    'http/credentials http/agent/sessions http/keys guard/credentials faults/p06 operators/mine',
  ],
  [
    /^guard\/(approvals\/[ag]|people\/return-targets)/,
    'approvals/approve approvals/grants approvals/lapse approvals/admin approvals/withdraw guard/key-lock operators/approval',
  ],
  [
    /^(guard\/approvals\/(answer|approvers|votes|bound-grants)|store\/votes|core\/comparable)/,
    'guard/approvals/approvers guard/approvals/bound-grants core/approvals/comparable approvals/votes approvals/grants',
  ],
  [
    /^(guard\/approvals\/(proofs|answer|votes)|store\/approval-proofs|core\/(assertion|cose-key|proof-check))/,
    'guard/approvals/proofs approvals/proofs',
  ],
  [/^core\/details/, 'core/approvals/details approvals/details'],
  [/^guard\/approvals\/(details|shown-details|answer)/, 'guard/approvals/details approvals/details'],
  [
    /^guard\/outgoing\/(outbox|worker|deliver|send|webhooks|sign)\./,
    'guard/outgoing/send approvals/webhooks approvals/endpoints faults/p10',
  ],
  [
    /^guard\/outgoing\/(addresses|names|pins|pinned-fetch)/,
    'guard/outgoing/addresses guard/outgoing/send mcp/administration',
  ],
  [/^guard\/outgoing\/client/, 'guard/outgoing/client mcp/wire-http mcp/wires'],
  [
    /^(guard|store|http|http\/admin)\/server-sign-in/,
    'guard/server-sign-ins/refresh guard/server-sign-ins/discovery guard/server-sign-ins/changes http/pages/server-sign-ins',
  ],
  [/^guard\/(chores|log\/(retention|rollups|stats))/, 'guard/log/retention guard/log/rollups http/audit'],
  [
    /^guard\/(log\/(seal|proofs|signed-)|outgoing\/(checkpoint-target|sign-s3))/,
    'guard/log/sealed-log http/seals guard/outgoing/checkpoint-target cli/audit-verify',
  ],
  [
    /^guard\/people\/(operators|sign-ins|throttle|passwords|hashing-thread|admins|setup)/,
    'operators/operators operators/passwords operators/times operators/sign-in operators/reset operators/first-admin operators/single-sign-on.',
  ],
  [/^(guard\/people|store|http\/admin)\/passkey/, 'guard/people/passkeys operators/passkeys'],
  [/^guard\/people\/(single-sign-on|provider|claims)/, 'guard/people/claims operators/single-sign-on'],
  [/^guard\/people\/company/, 'guard/people/company'],
  [
    /^(guard\/people\/(oauth|redirects|client-documents)|store\/oauth|http\/oauth|http\/admin\/oauth)/,
    'oauth/',
  ],
  [
    /^guard\/(connected-tools|edit-tool|check\/callable)/,
    'guard/key-lock mcp/administration mcp/drift mcp/names http/keys mcp/hostile-list',
  ],
  [/^guard\/(mcp-sessions|check\/outcomes|hints)/, 'mcp/sessions http/audit replicas/hints'],
  [/^guard\/(check\/annotations|rule-digest)/, 'mcp/annotations approvals/grants'],
  [/^guard\/check\/limits/, 'faults/p24'],
  [/^guard\/first-start/, 'http/first-start'],
  [/^guard\/rate-limit/, 'guard/rate-limit approvals/rate-limit'],
  [/^guard\/changes/, 'http/policies http/keys operators/operators'],
  [/^guard\/approvals\/notify\//, 'guard/approvals/notify approvals/notifications approvals/channels'],
  [/^(core\/channel|guard\/approvals\/channels)/, 'http/channels guard/check/check'],
  [
    /^(guard\/approvals\/notify\/slack-bot|http\/slack|store\/posted-messages)/,
    'approvals/slack http/slack store/posted-messages',
  ],
  [/^guard\/secrets/, 'core/wire/canonical guard/credentials http/credentials faults/p19'],
  [
    /^store\/(approvals|grants|notifications)/,
    'store/records approvals/admin approvals/lapse approvals/spend',
  ],
  [
    /^store\/(audit|audit-search|audit-tally|contexts|slots)/,
    'store/log/audit store/log/audit-search http/audit',
  ],
  [/^store\/(deliveries|webhooks|outcomes)/, 'store/records faults/p10 approvals/endpoints'],
  [
    /^store\/(keys|sessions|policies|settings)/,
    'store/records http/keys http/agent/sessions http/policies http/credentials',
  ],
  [/^store\/(connected-tools|mcp-sessions)/, 'store/connected-tools mcp/administration mcp/drift'],
  [
    /^store\/(operators|sign-ins|identities|request-counts)/,
    'store/records guard/rate-limit operators/times operators/operators',
  ],
  [/^guard\/people\/sign-ins/, 'http/events'],
  [/^guard\/check\/freeing/, 'guard/approvals/proofs approvals/proofs approvals/votes'],
  [/^guard\/approvals\/approvals/, 'approvals/context'],
  [/^core\/channels\/slack/, 'guard/approvals/notify approvals/slack.'],
  [/^mcp\/(sign-in-answer|own-questions)/, 'mcp/sign-in mcp/modern'],
  [/^mcp\/(approve-here|awaited-answers|own-questions)/, 'mcp/approve-here mcp/own-questions'],
  [/^mcp\/store-watch/, 'mcp/tasks/listen mcp/approve-here'],
  [/^store\/identities/, 'operators/single-sign-on operators/acting approvals/slack.'],
  [/^store\/(retention|rollups|marks)/, 'guard/log/retention guard/log/rollups'],
  [/^store\/(seals|checkpoints)/, 'http/seals cli/audit-verify'],
  [/^store\/(migrate|backup)/, 'store/engine/migrate cli/backup'],
  [/^store\/sqlite-(copy|restore)/, 'cli/restore cli/backup faults/restore-killed'],
  [/^store\/waiting/, 'approvals/flood approvals/votes'],
  [
    /^store\/(sqlite|file-lock|thread|sync-thread|db)/,
    'store/engine/sqlite store/transaction store/wake store/records http/failures',
  ],
  [
    /^store\/(postgres|db)/,
    'store/engine/postgres store/transaction store/wake store/records replicas/ended-connections replicas/pooling replicas/failover http/failures',
  ],
  [/^store\/committed-memory/, 'store/log/audit.'],
  [
    /^mcp\/(answer|call|legs|mcp-sessions|endpoint|relay|legacy|modern|negotiate|offered|hub|listing|pages|protocol|schema)/,
    'mcp/refusals mcp/modern mcp/relay mcp/names mcp/passing',
  ],
  [/^mcp\/tracing/, 'telemetry/tracing'],
  [/^mcp\/(answer|mcp-sessions|endpoint|legacy)/, 'mcp/answers mcp/sessions'],
  [/^mcp\/(mcp-sessions|endpoint|hub)/, 'mcp/bounds'],
  [/^mcp\/(answer|call|legs)/, 'mcp/answers mcp/failures mcp/approved-once mcp/approved-for'],
  [/^mcp\/(hub|listing|offered)/, 'mcp/kept mcp/administration mcp/listing'],
  [/^mcp\/(sign-in|hub|listing|offered|call|upstream)/, 'mcp/sign-in'],
  [/^mcp\/(listing|offered)/, 'mcp/drift'],
  [/^mcp\/(call|relay|places)/, 'mcp/places'],
  [/^mcp\/pages/, 'mcp/hostile-list'],
  [/^mcp\/(duplex|event-stream|upstream|wire)/, 'mcp/failures mcp/passing'],
  [/^mcp\/(lines|turns|wire-stdio)/, 'mcp/failures'],
  [/^mcp\/(listening|wire-http)/, 'mcp/wires'],
  [/^mcp\/(duplex|negotiate|upstream-)/, 'mcp/upstream'],
];

/** These tests take minutes, and quicker ones cover the same code. */
const TOO_SLOW = /^test\/(browser\/|cli\/audit-given-up)/;

const tests = [...new Bun.Glob('test/**/*.test.ts').scanSync({ cwd: ROOT })]
  .filter(test => !TOO_SLOW.test(test))
  .sort();
const sources = [...new Bun.Glob('src/**/*.ts').scanSync({ cwd: ROOT })];

/** The quickest tests come first (test/timings.json), because most changes are noticed by the first one. */
export function testsOf(file: string): string[] {
  return [...covering(file, new Set())].sort((a, b) => took(a) - took(b));
}

function covering(file: string, seen: Set<string>): Set<string> {
  if (seen.has(file)) return new Set();
  seen.add(file);
  const sameName = pathsOf(file).map(path => `test/${path.replace(/\.ts$/, '.test.ts')}`);
  const named = NAMED.filter(([pattern]) => matches(pattern, file)).flatMap(([, names]) => names.split(' '));
  const own = tests.filter(
    test => sameName.includes(test) || named.some(name => test.startsWith(`test/${name}`)),
  );
  const found = new Set([...own, ...tests.filter(test => imports(test, file))]);
  if (own.length > 0) return found;
  return importersOf(file).reduce((all, importer) => all.union(covering(importer, seen)), found);
}

/** The rows that match no source, and the tests in them that are not there, in sentences. */
export function faultsOfTests(): string[] {
  return NAMED.flatMap(([pattern, names]) => [
    ...(sources.some(file => matches(pattern, file))
      ? []
      : [`mutants/tests.ts: no source matches ${pattern}`]),
    ...names
      .split(' ')
      .filter(name => !tests.some(test => test.startsWith(`test/${name}`)))
      .map(name => `mutants/tests.ts: there is no test test/${name}`),
  ]);
}

function matches(pattern: RegExp, file: string): boolean {
  return pathsOf(file).some(path => pattern.test(path));
}

/** Its path under `src`, and its folder there with its name. */
function pathsOf(file: string): string[] {
  const parts = file.split('/').slice(1);
  return [parts.join('/'), `${parts[0]}/${parts.at(-1)}`];
}

function imports(test: string, file: string): boolean {
  return textOf(test).includes(`../${file}'`);
}

function importersOf(file: string): string[] {
  return sources.filter(source =>
    [...textOf(source).matchAll(/from '(\.[^']+)'/g)].some(
      ([, path]) => join(source, '..', path as string) === file,
    ),
  );
}

const texts = new Map<string, string>();

function textOf(file: string): string {
  const text = texts.get(file) ?? readFileSync(join(ROOT, file), 'utf8');
  texts.set(file, text);
  return text;
}

const TIMINGS = join(ROOT, 'test/timings.json');
const timings: Record<string, number> = existsSync(TIMINGS)
  ? JSON.parse(readFileSync(TIMINGS, 'utf8')).files
  : {};

export function took(test: string): number {
  return timings[test] ?? 5000;
}
