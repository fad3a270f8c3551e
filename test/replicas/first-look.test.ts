// Definitions that a version without the first look has recorded: they are looked at before the service serves, and what a
// replica of that version records meanwhile, beside one of this version, is held until somebody has looked.

import { describe, expect, test } from 'bun:test';
import { LOOK_VERSION } from '../../src/core/definitions/look.ts';
import { Reviewing, tool } from '../mcp/reviewing.ts';
import { sql } from '../support/faults.ts';
import { lastRelease } from '../support/last-release.ts';
import { startService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

const FIRST_MIGRATION = '0026_tool_servers.sql';
const HIDES = { description: 'Does\u200b it.' };
const both = await enginesWhenChanged('src/store/**', 'src/guard/**');

for (const engine of both)
  test(`${engine}: what nobody has looked at is looked at before the service serves`, async () => {
    const before = await startService({ engine });
    const at = await Reviewing.start(before);
    const names = Array.from({ length: 250 }, (_, index) => `t${index}`);
    const up = await at.connect('up', [
      tool('honest'),
      tool('hides', HIDES),
      tool('changed'),
      ...names.map(name => tool(name)),
    ]);
    await at.connect('other', [tool('h\u043enest')]);
    await at.client.tools();
    await at.shows(up, [
      tool('honest'),
      tool('hides', HIDES),
      tool('changed', HIDES),
      ...names.map(name => tool(name)),
    ]);
    await before.kill('SIGTERM');
    // As the migration leaves them.
    await sql(before.databaseUrl, 'UPDATE tool_definitions SET look = NULL, looked = 0, skeleton = NULL');
    const after = await startService({ databaseUrl: before.databaseUrl });
    const looked = await sql<{ n: number }>(
      before.databaseUrl,
      `SELECT count(*) AS n FROM tool_definitions WHERE looked = ${LOOK_VERSION} AND look IS NOT NULL AND skeleton IS NOT NULL`,
    );
    expect(looked.map(({ n }) => Number(n))).toEqual([names.length + 4]);
    const there = at.at(after);
    const outcomes = [];
    for (const name of ['t7', 'hides', 'changed', 'honest']) outcomes.push(await there.call(`up__${name}`));
    expect(outcomes).toEqual(['ran', 'pending', 'pending', 'pending']);
    expect(await there.reason()).toContain('the tool is spelled like another tool of this key');
    await after.kill('SIGTERM');
    await at.end();
    await before.close();
  });

const release = both.includes('postgres') ? lastRelease(FIRST_MIGRATION) : null;

if (release !== null)
  describe('a replica from before the first look beside one of this version', () => {
    test('what it records is held by this one until it is looked at', async () => {
      const old = await startService({ engine: 'postgres', root: release.root });
      const at = await Reviewing.start(old);
      const up = await at.connect('up', [tool('honest'), tool('hides', HIDES)]);
      expect([await at.call('up__honest'), await at.call('up__hides')]).toEqual(['ran', 'ran']);
      const next = await startService({ databaseUrl: old.databaseUrl });
      const there = at.at(next);
      expect([await there.call('up__honest'), await there.call('up__hides')]).toEqual(['ran', 'pending']);
      // The old one sees a change, and a tool that is new. This one has looked at neither.
      up.upstream.options.tools = [tool('honest', { title: 'Now' }), tool('hides', HIDES), tool('new')];
      await at.client.tools();
      expect(await there.call('up__honest')).toBe('pending');
      expect(await there.reason()).toContain('the definition of the tool has changed and no operator');
      expect((await there.tool(up, 'honest')).heldFor).toEqual([at.keyId]);
      await there.client.tools();
      expect([await there.call('up__honest'), await there.call('up__new')]).toEqual(['ran', 'ran']);
      // What is accepted here is accepted there, and the other way round.
      expect((await there.accept(up, [await there.tool(up, 'hides')])).status).toBe(204);
      expect([await there.call('up__hides'), await at.call('up__hides')]).toEqual(['ran', 'ran']);
      await next.kill('SIGTERM');
      await old.close();
      await at.end();
      release.remove();
    });
  });
