import { expect, test } from 'bun:test';
import { engines, startService } from '../support/service.ts';
for (const engine of await engines()) {
  test(`check on ${engine}`, async () => {
    const s = await startService({ engine });
    const { key } = await s.newKey([{ tool: 'a*', action: 'allow' }, { tool: 'ask', action: 'require_approval' }]);
    expect((await s.check(key, 's', 'abc')).body.decision).toBe('allow');
    expect((await s.check(key, 's', 'ask')).body.decision).toBe('pending');
    expect((await s.check(key, 's', 'x')).body.decision).toBe('deny');
    await s.close();
  });
}
