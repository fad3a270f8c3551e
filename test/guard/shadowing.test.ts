// Whether a definition names a tool of another server is read in the transaction of a call, so it is found out once.

import { expect, test } from 'bun:test';
import { newId } from '../../src/guard/ids.ts';
import { namesTool } from '../../src/guard/shadowing.ts';
import { definitionDigest } from '../../src/guard/tool-servers/definitions.ts';
import type { Queries } from '../../src/store/engine/db.ts';
import { pinDefinition } from '../../src/store/tool-definitions.ts';
import { NOW, onEachEngine } from '../store/stores.ts';

await onEachEngine(store => {
  test('a definition is read once, and again when the other servers show other tools', async () => {
    const [ours, other] = [newId(), newId()];
    const shows = async (sourceId: string, toolName: string, description = '') => {
      const definition = { name: toolName, description };
      const digest = definitionDigest(definition);
      const text = JSON.stringify(definition);
      await store.db.transaction({}, async tx =>
        pinDefinition(tx, { sourceId, toolName, digest, definition: text, seenAt: NOW }),
      );
      return { sourceId, toolName, digest };
    };
    let texts = 0;
    const counting: Queries = {
      run: (sql, values) => store.db.run(sql, values),
      all: async (sql, values) => {
        const rows = await store.db.all(sql, values);
        texts += rows.filter(row => typeof row === 'object' && row !== null && 'definition' in row).length;
        return rows as never;
      },
    };
    const asks = (of: Parameters<typeof namesTool>[1], name = 'github') =>
      namesTool(counting, of, [{ sourceId: other, serverName: name }]);

    await shows(other, 'search');
    const names = await shows(ours, 'a', `First call github__read_file. ${ours}`);
    const alone = await shows(ours, 'b', `First call github__write_file. ${ours}`);
    for (let round = 0; round < 5; round++)
      expect([await asks(names), await asks(alone)]).toEqual([false, false]);
    expect(texts).toBe(2);

    await shows(other, 'read_file');
    for (let round = 0; round < 5; round++)
      expect([await asks(names), await asks(alone)]).toEqual([true, false]);
    expect(texts).toBe(4);
    // Under another name, the same server has no such tool.
    expect([await asks(names, 'gitlab'), await asks(names)]).toEqual([false, true]);
  });
});
