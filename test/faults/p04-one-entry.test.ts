// P4: exactly one audit entry per verdict, under many concurrent checks that share commits. The mutants
// merge entries of one tool in a group, and write every entry twice.

import { expect, test } from 'bun:test';
import { againstLog, figures, inTime, Received, withMutant } from '../support/faults.ts';
import { checks } from '../support/load.ts';
import type { Patch } from '../support/mutant.ts';
import { type Engine, startService } from '../support/service.ts';
import { enginesWhenChanged, sized, whenChanged } from '../support/when-changed.ts';

const CHECKS = sized(20_000, 2_000, 500);
const MUTANT_CHECKS = 500;
const CONNECTIONS = 64;
const DECISIONS = ['allow', 'deny', 'pending'];

const insert = (entries: string): Patch => ({
  file: 'src/guard/check/check.ts',
  find: 'this.#log.insert(tx, entries);',
  replace: `this.#log.insert(tx, ${entries});`,
});
const MERGED = insert('[...new Map(entries.map(each => [each.toolName, each])).values()]');
const TWICE = insert('entries.flatMap(each => [each, { ...each, id: crypto.randomUUID() }])');

for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/**')) {
  test(`${engine}: there is one entry for every verdict and no other`, async () => {
    const found = await inTime(() => measure(engine, CHECKS));
    expect(found.decisions).toEqual(DECISIONS);
    expect(found.verdicts).toBe(CHECKS);
    expect(found.violations).toBe(0);
  });

  for (const [name, patch] of Object.entries({ MERGED, TWICE })) {
    whenChanged(patch)(
      `${engine}: a mutant whose entries are ${name.toLowerCase()} is found out`,
      async () => {
        const found = await withMutant(
          [patch],
          async root => (await measure(engine, MUTANT_CHECKS, root)).violations,
        );
        expect(found).toBeGreaterThan(0);
      },
    );
  }
}

async function measure(engine: Engine, count: number, root?: string) {
  const service = await startService({ engine, ...(root && { root }) });
  const received = new Received();
  try {
    const { key } = await service.newKey([
      { tool: 'allowed', action: 'allow' },
      { tool: 'asked', action: 'require_approval' },
    ]);
    const tools = ['allowed', 'allowed', 'asked', 'denied'];
    await checks(count, {
      connections: CONNECTIONS,
      url: () => service.url,
      next: connection => ({
        token: key,
        body: JSON.stringify({ serverName: 'files', toolName: tools[connection % tools.length] }),
      }),
      answered: answer => received.take(answer),
    });
    const { lost, twice, unanswered } = await againstLog(service.databaseUrl, received.verdicts);
    const violations = lost + twice + unanswered;
    const verdicts = received.verdicts.length;
    figures(`P4 ${engine}${root ? ' mutant' : ''}`, {
      operations: verdicts,
      lost,
      twice,
      unanswered,
      violations,
    });
    return {
      verdicts,
      violations,
      late: count - verdicts,
      decisions: [...new Set(received.verdicts.map(each => each.decision))].sort(),
    };
  } finally {
    await service.close();
  }
}
