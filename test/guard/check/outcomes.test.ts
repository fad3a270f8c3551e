// What came of calls is written down a moment later: each outcome once, also after the store failed, and at a stop.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { OutcomeLog } from '../../../src/guard/check/outcomes.ts';
import { newId } from '../../../src/guard/ids.ts';
import { NOW, openStore, type TestStore } from '../../store/stores.ts';
import { until } from '../../support/faults.ts';
import { engines } from '../../support/service.ts';
import { depsAt } from '../deps.ts';

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    beforeEach(async () => {
      store = await openStore(engine);
    });
    afterEach(() => store.close());

    test('each outcome is written once, with its time', async () => {
      const failures: unknown[] = [];
      const log = new OutcomeLog(depsAt(store.db), error => failures.push(error));
      const ids: string[] = [];
      const record = () => {
        const toolCallId = newId();
        ids.push(toolCallId);
        log.record({ toolCallId, outcome: 'ok', durationMs: 7, result: null });
      };
      const written = () =>
        store.db.all<{ id: string; at: number }>(
          'SELECT tool_call_id AS id, at FROM outcomes ORDER BY tool_call_id',
        );
      record();
      record();
      await until('both are written', async () => (await written()).length === 2);
      record();
      await until('a third is written', async () => (await written()).length === 3);
      await store.db.run('ALTER TABLE outcomes RENAME TO elsewhere');
      log.record({ toolCallId: newId(), outcome: 'ok', durationMs: 7, result: null });
      await until('the failure is told', () => failures.length === 1);
      await store.db.run('ALTER TABLE elsewhere RENAME TO outcomes');
      record();
      await log.flush();
      expect(await written()).toEqual(ids.map(id => ({ id, at: NOW })));
    });
  });
}
