// The lock file of tools: while a service has one, a definition is accepted if the file has it and only then, whatever the
// trust in its server is and whatever people accepted before. A file that cannot be read stops the start.

import { afterAll, describe, expect, test } from 'bun:test';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LockedTool, lockLine } from '../../src/core/definitions/lock-file.ts';
import { newDataDir } from '../support/faults.ts';
import { LegacyClient } from '../support/mcp.ts';
import { failToStart, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { changedLines, outcomeOf, Reviewing, tool } from './reviewing.ts';

const folder = newDataDir();
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
function written(content: string | Uint8Array): string {
  const path = join(folder, `${files++}.lock`);
  writeFileSync(path, content);
  return path;
}

async function acceptedTools(service: TestService, limit = 200): Promise<LockedTool[]> {
  const tools: LockedTool[] = [];
  for (let cursor: string | null = null; ; ) {
    const more: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { body } = await service.admin('GET', `/accepted-tools?limit=${limit}${more}`);
    tools.push(...body.tools);
    cursor = body.nextCursor;
    if (cursor === null) return tools;
  }
}

for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/**')) {
  test(`${engine}: what is accepted becomes a file, and the file decides from then on`, async () => {
    const before = await startService({ engine });
    const odd = 'née "x" #';
    const world = await Reviewing.start(before);
    const tools = [
      tool('a'),
      tool('b'),
      tool(odd),
      tool('hides', { description: 'Does\u200b it.' }),
      tool('names', { description: 'Use strict__a.' }),
    ];
    const up = await world.connect('up', tools);
    const strict = await world.connect('strict', [tool('a'), tool('b')], 'reviewed');
    const names = (await world.client.tools()).map(each => each.name);
    const oddName = names.find(each => each.startsWith('up__n')) as string;
    expect((await world.accept(strict, [await world.tool(strict, 'a')])).status).toBe(204);
    // What a revoked key had under the same name is accepted for nobody.
    const gone = await Reviewing.start(before);
    await gone.connect('up', [tool('a', { description: 'Of a revoked key.' })]);
    await gone.client.tools();
    expect(await acceptedTools(before)).toHaveLength(5);
    expect((await before.admin('DELETE', `/keys/${gone.keyId}`)).status).toBe(204);
    await gone.end();
    // One in each page, of which some have none.
    const accepted = await acceptedTools(before, 1);
    expect(accepted.map(({ server, tool: name }) => `${server} ${name}`).toSorted()).toEqual(
      ['strict a', 'up a', 'up b', `up ${odd}`].toSorted(),
    );
    expect(await acceptedTools(before)).toEqual(accepted);
    // A person accepts one more, after the file was written.
    expect((await world.accept(strict, [await world.tool(strict, 'b')])).status).toBe(204);

    const lines = accepted.map(lockLine);
    for (const line of lines) expect(line).toMatch(/^[ -~]+$/);
    const path = written(`# accepted by the platform team\n\n${lines.join(' # looked at\r\n')}\n\n`);
    const options = { databaseUrl: before.databaseUrl, env: { TOOLGATE_TOOLS_LOCK: path } };
    await before.kill('SIGTERM');
    const services = [await startService(options)];
    if (engine === 'postgres') services.push(await startService(options));
    for (const service of services) {
      const there = world.at(service);
      for (const name of ['up__a', 'up__b', oddName, 'strict__a'])
        expect([name, await there.call(name)]).toEqual([name, 'ran']);
      expect([await there.call('strict__b'), await there.call('up__hides')]).toEqual(['pending', 'pending']);
      expect(await there.reason()).toContain(
        'but the lock file does not have the definition of the tool, so it requires approval',
      );
      const [a, b] = await there.tools(strict);
      expect(a).toMatchObject({ accepted: { by: 'lock file', at: null, digest: a!.digest }, heldFor: [] });
      expect(b).toMatchObject({ accepted: null, heldFor: [world.keyId] });
      const refused = await there.accept(strict, [b!]);
      expect(refused.status).toBe(409);
      expect(refused.text).toContain(`The lock file ${path} decides which definitions are accepted.`);
      const single = await service.admin('POST', `${strict.path}/accept`, { tool: 'b', digest: b!.digest });
      expect(single.status).toBe(409);
      expect(await acceptedTools(service, 3)).toEqual(accepted);
    }
    // A tool that is new, and one that changes, are held on every replica, though the server is trusted.
    up.upstream.options.tools = [tool('a', { description: 'Other.' }), tool('b'), tool('new')];
    const [first] = services as [TestService];
    for (const service of services) {
      const there = world.at(service);
      await there.client.tools();
      expect([await there.call('up__a'), await there.call('up__new'), await there.call('up__b')]).toEqual([
        'pending',
        'pending',
        'ran',
      ]);
    }
    // Other lines, and the service started anew: the change is accepted, and what has left the file is not.
    const changed = await world.at(first).tool(up, 'a');
    expect(changed).toMatchObject({ accepted: { by: 'lock file' }, heldFor: [world.keyId] });
    expect(changedLines(changed)).toEqual(['- "description": "Does a.",', '+ "description": "Other.",']);
    for (const each of services) await each.kill('SIGTERM');
    const other = written(`${lockLine({ server: 'up', tool: 'a', digest: changed.digest })}\n`);
    const env = { TOOLGATE_TOOLS_LOCK: other, TOOLGATE_TOOL_DRIFT: 'deny' };
    const after = await startService({ databaseUrl: before.databaseUrl, env });
    const last = world.at(after);
    expect([await last.call('up__a'), await last.call('up__b'), await last.call('strict__a')]).toEqual([
      'ran',
      'denied',
      'denied',
    ]);
    expect(await last.tool(up, 'a')).toMatchObject({
      accepted: { by: 'lock file' },
      difference: null,
      heldFor: [],
    });
    await after.kill('SIGTERM');
    // Without a file, people and the first look decide again.
    const without = await startService({ databaseUrl: before.databaseUrl });
    const outcomes = [];
    for (const name of ['up__b', 'strict__a', 'strict__b']) outcomes.push(await world.at(without).call(name));
    expect(outcomes).toEqual(['ran', 'ran', 'ran']);
    await without.kill('SIGTERM');
    await world.end();
    await before.close();
  });
}

describe('a file that stops the start', () => {
  const digest = 'a'.repeat(64);
  const CASES: [string, () => string, string][] = [
    ['is not there', () => join(folder, 'nowhere.lock'), 'a file that can be read (ENOENT'],
    [
      'is a folder',
      () => mkdirSync(join(folder, 'folder'), { recursive: true }) ?? join(folder, 'folder'),
      'a file that can be read (',
    ],
    ['is not UTF-8', () => written(new Uint8Array([0x61, 0xff, 0x0a])), 'a file that can be read ('],
    [
      'lacks a digest',
      () => written(`# fine\nup a ${digest}\nup b\n`),
      'its line 3 is not "server tool digest"',
    ],
    [
      'has a short digest',
      () => written(`up a ${digest.slice(1)}\n`),
      'its line 1 is not "server tool digest"',
    ],
    ['has a digest in capitals', () => written(`up a ${digest.toUpperCase()}\n`), 'its line 1'],
    ['has a quoted name without end', () => written(`up "a ${digest}\n`), 'its line 1'],
    ['has a quoted name that is no JSON', () => written(`up "\\x" ${digest}\n`), 'its line 1'],
    ['has a word too many', () => written(`up a ${digest} more\n`), 'its line 1'],
  ];
  for (const [what, path, why] of CASES)
    test(what, async () => {
      const file = path();
      const said = await failToStart({ env: { TOOLGATE_TOOLS_LOCK: file } });
      expect(said).toContain('TOOLGATE_TOOLS_LOCK');
      expect(said).toContain(why);
    });
});

test('an empty file accepts nothing', async () => {
  const [lock, config] = [written('\ufeff\n# nothing yet\n'), written('stdioServers: {}\n')];
  const env = { TOOLGATE_TOOLS_LOCK: lock, TOOLGATE_CONFIG: config };
  const service = await startService({ env });
  const world = await Reviewing.start(service);
  await world.connect('up', [tool('a')]);
  expect(await world.call('up__a')).toBe('pending');
  expect(await acceptedTools(service)).toEqual([]);
  // It needs a restart when it has changed, and only then.
  const ignored = async () => (await service.admin('POST', '/server-file/reload')).body.ignored;
  expect(await ignored()).toEqual([]);
  writeFileSync(lock, `up a ${'0'.repeat(64)}\n`);
  expect(await ignored()).toEqual(['toolsLock']);
  expect(outcomeOf(await (await LegacyClient.open(service, world.key)).call('up__a'))).toBe('pending');
  await world.end();
  await service.close();
});
