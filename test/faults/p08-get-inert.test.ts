// P8: looking at an approval link changes nothing: random methods other than POST, as mail scanners and link
// previews send them, leave every row of the store as it was. The mutant answers on GET.

import { expect, test } from 'bun:test';
import { type Asked, fingerprint, from, openGate } from '../approvals/gate.ts';
import { figures, random, SEED, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG } from '../support/need.ts';
import type { Engine, TestService } from '../support/service.ts';
import { enginesWhenChanged, whenChanged } from '../support/when-changed.ts';

const REQUESTS = LONG ? 10_000 : 300;
const BATCH = 100;
const APPROVALS = 12;

const RESOLVING: Patch = {
  file: 'src/http/pages/approve.ts',
  find: 'return askPage(factsOf(question), {',
  replace: `if (query.action !== undefined)
    await resolveByLink(services.deps, token, { action: query.action, grantMs: null });
  return askPage(factsOf(question), {`,
};

const METHODS = ['GET', 'GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'PROPFIND', 'get'];
const QUERIES = [
  '',
  '?action=approve',
  '?action=approve',
  '?action=deny',
  '?action=approve&duration=1h',
  '?action=approve&_method=POST',
  '?ACTION=approve',
  '?action=approve#x',
];
const AGENTS = [
  'Mozilla/5.0 (compatible; Microsoft Outlook SafeLinks)',
  'BarracudaCentral/1.0',
  'Mozilla/5.0 (compatible; proofpoint-urldefense)',
  'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
  'facebookexternalhit/1.1',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/140.0 Safari/537.36',
  'curl/8.5.0',
];
const ACCEPTS = ['text/html', 'application/json', '*/*', 'image/avif,image/webp', ''];
const EXTRAS: Record<string, string>[] = [
  {},
  { 'Sec-Purpose': 'prefetch;prerender', Purpose: 'prefetch' },
  { 'X-HTTP-Method-Override': 'POST' },
  { 'X-Method-Override': 'POST', 'Sec-Fetch-Site': 'same-origin' },
  { 'Sec-Fetch-Site': 'cross-site', Referer: 'https://mail.example/' },
];

for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/**', 'src/http/**')) {
  test(`${engine}: no method but POST changes anything`, async () => {
    const found = await measure(engine, REQUESTS);
    expect(found.requests).toBe(REQUESTS);
    expect(found.violations).toBe(0);
  });

  whenChanged(RESOLVING)(`${engine}: a mutant whose GET answers is found out`, async () => {
    const found = await withMutant(
      [RESOLVING],
      async root => (await measure(engine, BATCH * 2, root)).violations,
    );
    expect(found).toBeGreaterThan(0);
  });
}

/** Violations are batches after which the store was another. */
async function measure(engine: Engine, requests: number, root?: string) {
  const chance = random(SEED);
  const gate = await openGate({ engine, ...(root && { root }) });
  const found = { requests: 0, statuses: '', violations: 0 };
  const statuses = new Set<number>();
  try {
    const key = await gate.key();
    const asked = await Promise.all(
      Array.from({ length: APPROVALS }, (_, index) => gate.ask(key, `t${index}`)),
    );
    await gate.quiet();
    let before = await fingerprint(gate.service.databaseUrl);
    while (found.requests < requests) {
      const batch = Array.from({ length: BATCH }, () => look(gate.service, asked, chance));
      for (const status of await Promise.all(batch)) statuses.add(status);
      found.requests += BATCH;
      const after = await fingerprint(gate.service.databaseUrl);
      if (after !== before) found.violations++;
      before = after;
    }
    found.statuses = [...statuses].sort().join(',');
  } finally {
    await gate.close();
  }
  figures(`P8 ${engine}${root ? ' mutant' : ''}`, { seed: SEED, operations: found.requests, ...found });
  return found;
}

async function look(service: TestService, asked: Asked[], chance: () => number): Promise<number> {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(chance() * list.length)] as T;
  const method = pick(METHODS);
  const headers = { 'User-Agent': pick(AGENTS), Accept: pick(ACCEPTS), ...pick(EXTRAS) };
  const bodies = ['PUT', 'PATCH', 'DELETE', 'PROPFIND'].includes(method);
  const init = bodies
    ? { headers: { ...headers, 'Content-Type': 'application/json' }, body: '{"action":"approve"}' }
    : { headers };
  return (await service.request(method, `/v1/approve/${pick(asked).token}${pick(QUERIES)}`, from(init)))
    .status;
}
