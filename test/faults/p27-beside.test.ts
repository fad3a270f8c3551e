// P27: nothing outside the store delays a check. Names whose servers are silent (of webhooks and of Connected Tools),
// a flood of sign-ins without a credential from many addresses, receivers that never answer and hung tool servers,
// all at once, while a good client goes on asking: none of its checks fails, none exceeds the limit of a check. The
// mutants sync the log in the runtime's thread pool, where look-ups or password hashes wait too.

import { expect } from 'bun:test';
import { canCompile } from '../support/clock.ts';
import { figures, inTime, sql, until, withMutant } from '../support/faults.ts';
import { ANSWERED_WITHIN_MS, type Answer, isLate, startLoad, took } from '../support/load.ts';
import { connect, LegacyClient, RecordingUpstream } from '../support/mcp.ts';
import type { Patch } from '../support/mutant.ts';
import { NameServer } from '../support/names.ts';
import { LONG, need } from '../support/need.ts';
import { Receiver } from '../support/receiver.ts';
import { type Engine, engines, startService, type TestService } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';

/** What a check could wait for. */
const BESIDE = ['src/store/engine/**', 'src/guard/check/**', 'src/guard/outgoing/**', 'src/guard/people/**'];
const ATTACK_MS = LONG ? 20_000 : 4000;
/** Longer than a check may take, so that one that waits for the pool fails within. */
const MUTANT_ATTACK_MS = 8000;
const GOOD_CLIENTS = 4;
const SILENT_WEBHOOKS = 4;
const SILENT_TOOLS = 2;
/** Where what becomes silent leads when it is registered. */
const NOWHERE = 'http://127.0.0.1:1/';
const SIGN_INS = LONG ? 300 : 200;
const REFUSED_MS = 200;
const HELD_CALLS = 20;
const HUNG_CALLS = 20;

const SYNC_IN_THE_POOL: Patch = {
  file: 'src/store/engine/sqlite.ts',
  find: 'await this.#thread.ask(this.#files.log);',
  replace: `const file = this.#files.log;
    await new Promise<void>((done, fail) =>
      require('node:fs').fdatasync(file, (error: Error | null) => (error === null ? done() : fail(error))));`,
};
const MUTANTS: Record<string, Patch[]> = {
  'that looks names up where it syncs': [
    SYNC_IN_THE_POOL,
    { file: 'src/guard/outgoing/dns.ts', find: "'c-ares' : 'system'", replace: "'system' : 'system'" },
  ],
  'that hashes where it syncs': [
    SYNC_IN_THE_POOL,
    {
      file: 'src/guard/people/passwords.ts',
      find: 'return await line.ask(order);',
      replace: 'return await Bun.password.verify(order.password, order.hash ?? NOBODY);',
    },
  ],
};

if (need(canCompile(), 'a C compiler (cc)')) {
  for (const engine of await engines()) {
    whenChanged(...BESIDE)(
      `${engine}: a good client is answered, whatever goes wrong beside the store`,
      async () => {
        const found = await inTime(() => measure(engine));
        expect(found.faults).toEqual([]);
        expect(found.operations).toBeGreaterThan(GOOD_CLIENTS);
      },
    );
  }

  for (const [what, patches] of Object.entries(MUTANTS)) {
    whenChanged(...patches)(`a mutant ${what} is found out`, async () => {
      const found = await withMutant(patches, async root => (await measure('sqlite', root)).faults.length);
      expect(found).toBeGreaterThan(0);
    });
  }
}

async function measure(engine: Engine, root?: string) {
  const names = await NameServer.start();
  const hung = await Receiver.start(() => 'hang');
  const silent = new RecordingUpstream({ onCall: () => new Promise(() => {}) });
  const env = {
    ...names.env,
    TOOLGATE_NOTIFY_URL: hung.url,
    // Every sign-in comes from an address of its own.
    TOOLGATE_TRUSTED_PROXIES: '127.0.0.1/32',
  };
  // With the real cost of a password hash, which is half of the attack.
  const service = await startService({ engine, env, source: true, ...(root && { root }) });
  const beside = await prepare(service, hung.url, silent.url);
  const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
  const good: Answer[] = [];
  const load = startLoad({
    connections: GOOD_CLIENTS,
    url: () => service.url,
    next: () => ({ token: key, body: JSON.stringify({ serverName: 'x', toolName: 'good' }) }),
    answered: answer => good.push(answer),
  });
  const attack = new AbortController();
  const attacks = [
    ...beside.map(begin => begin(attack.signal)),
    ...Array.from({ length: SIGN_INS }, (_, n) => signInAgainAndAgain(service, n, attack.signal)),
  ];
  // A mutant has shown enough with the first fault. What the real one is waited for may never come on it.
  if (root !== undefined) {
    const faulty = () => faultsOf(good, load.unanswered).length > 0;
    await until('a good client is refused or late', faulty, MUTANT_ATTACK_MS).catch(() => {});
  } else {
    await Bun.sleep(ATTACK_MS);
    await until('the attack is on', () => names.asked.some(each => each.endsWith('.silent.test')));
    await until('good answers', () => good.length > GOOD_CLIENTS);
  }
  await load.stop();
  attack.abort();
  const tried = await Promise.all(attacks);
  const faults = [...faultsOf(good, load.unanswered), ...ended(service)];
  // How it stops is not what is measured: a hundred sign-ins still wait for their hash.
  await service.kill('SIGKILL');
  await service.close();
  await Promise.all([hung.close(), silent.stop()]);
  names.close();
  const times = good.map(took).sort((a, b) => a - b);
  const at = (share: number) => Number((times[Math.floor(times.length * share)] ?? 0).toFixed(1));
  figures(`P27 ${engine}${root ? ' mutant' : ''}`, {
    operations: good.length,
    faults: tried.reduce((sum, each) => sum + each, 0) + names.asked.length + hung.arrivals.length,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    slowestMs: at(1 - 1e-9),
    violations: faults.length,
  });
  return { operations: good.length, faults, late: good.filter(isLate).length };
}

type Attack = (signal: AbortSignal) => Promise<number>;

/**
 * Webhooks and Connected Tools whose names were fine when they were registered, and lead nowhere by now; a receiver
 * and a tool server that never answer.
 */
async function prepare(service: TestService, hungUrl: string, silentUrl: string): Promise<Attack[]> {
  const asking = await service.newKey([{ tool: '*', action: 'require_approval' }]);
  const calling = await service.newKey([{ tool: '*', action: 'allow' }]);
  for (let n = 0; n < SILENT_WEBHOOKS; n++)
    await service.admin('POST', '/webhooks', { url: NOWHERE, keyId: asking.keyId });
  await service.admin('POST', '/webhooks', { url: hungUrl, keyId: asking.keyId });
  await connect(service, calling.keyId, 'hung', silentUrl);
  for (let n = 0; n < SILENT_TOOLS; n++) await connect(service, calling.keyId, `lost${n}`, NOWHERE);
  const becomesSilent = (table: string, column: string) =>
    `UPDATE ${table} SET ${column} = 'http://' || id || '.silent.test/' WHERE ${column} = '${NOWHERE}'`;
  await sql(
    service.databaseUrl,
    becomesSilent('webhooks', 'url'),
    becomesSilent('connected_tools', 'target'),
  );
  const heldCalls: Attack = async () => {
    const held = Array.from({ length: HELD_CALLS }, (_, n) => service.check(asking.key, 'prod', `tool${n}`));
    return (await Promise.all(held)).length;
  };
  const hungCalls: Attack = async signal => {
    const client = await LegacyClient.open(service, calling.key);
    const calls = Array.from({ length: HUNG_CALLS }, () =>
      client.request('tools/call', { name: 'hung__echo' }, { signal }).catch(() => null),
    );
    return (await Promise.all([client.request('tools/list', {}, { signal }).catch(() => null), ...calls]))
      .length;
  };
  return [heldCalls, hungCalls];
}

/** Each from an address and of an e-mail that nobody has used, so that no limit on guessing ends it. */
async function signInAgainAndAgain(service: TestService, who: number, signal: AbortSignal): Promise<number> {
  for (let n = 0; ; n++) {
    if (signal.aborted) return n;
    const headers = {
      'Content-Type': 'application/json',
      'Sec-Fetch-Site': 'same-origin',
      'X-Forwarded-For': `10.${who >> 8}.${who & 255}.${n & 255}`,
    };
    const body = JSON.stringify({ email: `${who}-${n}@example.com`, password: 'violet kettle orbit' });
    const asked = service.request('POST', '/admin/v1/sign-in', { headers, body, signal });
    const answered = await asked.catch(() => null);
    // What was refused cost no hash: a flood of mere requests is another test's (P16).
    if (answered !== null && answered.status !== 401) await Bun.sleep(REFUSED_MS);
  }
}

function faultsOf(good: Answer[], unanswered: number): string[] {
  const wrong = good.filter(each => each.status !== 200).map(each => `a good client got ${each.text}`);
  const late = good
    .filter(each => took(each) > ANSWERED_WITHIN_MS)
    .map(() => 'a good client was answered late');
  return [...wrong, ...late, ...(unanswered > 0 ? [`${unanswered} good requests were not answered`] : [])];
}

const ended = ({ process: { exitCode } }: TestService): string[] =>
  exitCode === null ? [] : ['the process ended'];
