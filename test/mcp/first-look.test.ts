// The first look at a tool: until somebody accepts its definition, a call of it waits or is denied where its server is
// trusted only as far as it was reviewed, or where something was found that a reader would not see. Whoever accepts names
// what they have looked at, and nothing else is accepted.

import { afterAll, expect, test } from 'bun:test';
import { newPerson, send } from '../operators/people.ts';
import { auditOf } from '../support/mcp.ts';
import { type Engine, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { changedLines, pendingOf, Reviewing, type ShownTool, tool } from './reviewing.ts';

const both = await enginesWhenChanged('src/store/**', 'src/guard/**');

const started = new Map<string, Promise<TestService>>();
afterAll(async () => {
  for (const service of started.values()) await (await service).close();
});

/** One service for all tests on this engine and under this setting. */
function serviceOf(engine: Engine, drift = 'allow'): Promise<TestService> {
  const name = `${engine} ${drift}`;
  const service = started.get(name) ?? startService({ engine, env: { TOOLGATE_TOOL_DRIFT: drift } });
  started.set(name, service);
  return service;
}

const begin = async (engine: Engine, drift?: string) => Reviewing.start(await serviceOf(engine, drift));

for (const engine of both) {
  test(`${engine}: the API's default accepts what is seen first`, async () => {
    const at = await begin(engine);
    const up = await at.connect('up', [tool('a')]);
    await at.client.tools();
    expect(await at.call('up__a')).toBe('ran');
    const { accepted, digest, ...shown } = await at.tool(up, 'a');
    expect(accepted).toEqual({ by: 'first', at: expect.stringMatching(/Z$/), digest });
    expect(shown).toEqual({ name: 'a', definition: tool('a'), difference: null, findings: [], heldFor: [] });
    await at.end();
  });

  for (const [drift, outcome, decision] of [
    ['allow', 'pending', 'pending'],
    ['require_approval', 'pending', 'pending'],
    ['deny', 'denied', 'deny'],
  ] as const)
    test(`${engine}: a call of a reviewed server's tool under TOOLGATE_TOOL_DRIFT=${drift}`, async () => {
      const at = await begin(engine, drift);
      const up = await at.connect('up', [tool('a'), tool('b'), tool('c')], 'reviewed');
      // Nobody has listed the tools, and the first call is held as the others are.
      expect(await at.call('up__a')).toBe(outcome);
      const asks = decision === 'pending' ? ', so it requires approval' : '';
      expect(await at.reason()).toContain(
        `allows up__a, but nobody has accepted the definition of the tool${asks}`,
      );
      const [a, b, c] = await at.tools(up);
      for (const each of [a, b, c]) expect(each).toMatchObject({ accepted: null, heldFor: [at.keyId] });
      expect((await at.accept(up, [a!])).status).toBe(204);
      expect([await at.call('up__a'), await at.call('up__b')]).toEqual(['ran', outcome]);
      expect((await at.accept(up, [b!, c!])).status).toBe(204);
      expect([await at.call('up__b'), await at.call('up__c')]).toEqual(['ran', 'ran']);
      for (const each of await at.tools(up))
        expect(each).toMatchObject({ accepted: { by: 'admin', digest: each.digest }, heldFor: [] });
      // A change is held again, and an accepted definition that comes back is not.
      await at.shows(up, [tool('a', { description: 'Does more.' }), tool('b'), tool('c')]);
      const ran = at.ran;
      expect([await at.call('up__a'), at.ran]).toEqual([outcome, ran]);
      expect(await at.reason()).toContain(
        'the definition of the tool has changed and no operator has accepted it',
      );
      const changed = await at.tool(up, 'a');
      expect(changed.accepted?.digest).toBe(a!.digest);
      expect(changedLines(changed)).toEqual([
        '- "description": "Does a.",',
        '+ "description": "Does more.",',
      ]);
      expect(changed.heldFor).toEqual([at.keyId]);
      await at.shows(up, [tool('a'), tool('b'), tool('c')]);
      expect(await at.call('up__a')).toBe('ran');
      await at.shows(up, [tool('a', { description: 'Does more.' }), tool('b'), tool('c')]);
      expect((await at.accept(up, [changed])).status).toBe(204);
      expect(await at.call('up__a')).toBe('ran');
      // The one before is a change now, which nobody has accepted after the last one.
      await at.shows(up, [tool('a'), tool('b'), tool('c')]);
      expect(await at.call('up__a')).toBe(outcome);
      await at.end();
    });

  test(`${engine}: an approval frees a held call once, and accepts nothing`, async () => {
    const at = await begin(engine);
    const up = await at.connect('up', [tool('a')], 'reviewed');
    const referenceId = pendingOf(await at.client.call('up__a', { n: 1 }));
    await at.approve(referenceId);
    expect([await at.call('up__a', { n: 1 }), await at.call('up__a', { n: 1 })]).toEqual(['ran', 'pending']);
    expect((await at.tool(up, 'a')).accepted).toBeNull();
    expect((await auditOf(at.service, at.keyId)).map(each => each.decision)).toEqual([
      'pending',
      'allow',
      'pending',
    ]);
    // What was approved for one definition frees no call of another.
    const again = pendingOf(await at.client.call('up__a', { n: 2 }));
    await at.approve(again);
    await at.shows(up, [tool('a', { description: 'Does more.' })]);
    expect(await at.call('up__a', { n: 2 })).toBe('pending');
    expect(at.ran).toBe(1);
    await at.end();
  });

  test(`${engine}: nothing is accepted that somebody has not looked at`, async () => {
    const at = await begin(engine);
    const up = await at.connect('up', [tool('a'), tool('b')], 'reviewed');
    await at.client.tools();
    const [a, b] = await at.tools(up);
    await at.shows(up, [tool('a'), tool('b', { description: 'Other.' })]);
    const refused = await at.accept(up, [a!, b!]);
    expect(refused.status).toBe(409);
    expect(refused.text).toContain(
      'Nothing was accepted: the server shows another definition, or none, of \\"b\\".',
    );
    expect((await at.tools(up)).map(each => each.accepted)).toEqual([null, null]);
    expect(await at.call('up__a')).toBe('pending');
    const never = { name: 'never', digest: a!.digest };
    expect((await at.accept(up, [a!, never])).status).toBe(409);
    expect((await at.accept(up, [{ ...b!, digest: a!.digest }])).status).toBe(409);
    expect((await at.accept(up, [a!, { ...a!, digest: b!.digest }])).status).toBe(409);
    const post = async (body: unknown) => (await at.service.admin('POST', `${up.path}/accept`, body)).status;
    const NUL = String.fromCharCode(0);
    for (const tools of [
      [],
      [{ name: 'a' }],
      [{ name: 'a', digest: 'x' }],
      [{ name: 'a', digest: a!.digest.toUpperCase() }],
      [{ ...never, more: 1 }],
      Array.from({ length: 1001 }, () => never),
    ])
      expect(await post({ tools })).toBe(400);
    expect([400, 409]).toContain(await post({ tools: [{ name: NUL, digest: a!.digest }] }));
    expect(await post({ tools: [{ name: 'a', digest: a!.digest }], tool: 'a', digest: a!.digest })).toBe(400);
    expect((await at.tools(up)).map(each => each.accepted)).toEqual([null, null]);
    expect((await at.accept(up, [a!, a!])).status).toBe(204);
    const missing = up.path.replace(/.{4}$/, '0000');
    expect((await at.accept({ ...up, path: missing }, [a!])).status).toBe(404);
    expect((await at.service.admin('GET', `${missing}/tools`)).status).toBe(404);
    await at.end();
  });

  test(`${engine}: a thousand tools are accepted at once`, async () => {
    const at = await begin(engine);
    const long = (index: number) => `${'日'.repeat(120)}${index}`;
    const up = await at.connect(
      'up',
      Array.from({ length: 1000 }, (_, index) => tool(long(index))),
      'reviewed',
    );
    await at.client.tools();
    const shown: ShownTool[] = [];
    for (let cursor: string | null = null; ; ) {
      const query: string = cursor === null ? '' : `?cursor=${encodeURIComponent(cursor)}`;
      const { body } = await at.service.admin('GET', `${up.path}/tools${query}`);
      shown.push(...body.tools);
      cursor = body.nextCursor;
      if (cursor === null) break;
    }
    expect(shown).toHaveLength(1000);
    expect(await at.accept(up, shown)).toMatchObject({ status: 204, text: '' });
    expect((await at.tools(up)).every(each => each.accepted?.by === 'admin')).toBe(true);
    await at.end();
  });

  test(`${engine}: a server that is reviewed from now on is held at once, and one that is trusted again is not`, async () => {
    const at = await begin(engine);
    const up = await at.connect('up', [tool('a')]);
    expect(await at.call('up__a')).toBe('ran');
    const trust = async (value: string) =>
      (await at.service.admin('PATCH', up.path, { trust: value })).body.trust;
    expect([await trust('reviewed'), await at.call('up__a')]).toEqual(['reviewed', 'pending']);
    expect(await at.tool(up, 'a')).toMatchObject({ accepted: null, heldFor: [at.keyId] });
    expect([await trust('first'), await at.call('up__a')]).toEqual(['first', 'ran']);
    expect([await trust('reviewed'), await at.call('up__a')]).toEqual(['reviewed', 'pending']);
    expect((await at.accept(up, await at.tools(up))).status).toBe(204);
    expect([await trust('first'), await trust('reviewed'), await at.call('up__a')]).toEqual([
      'first',
      'reviewed',
      'ran',
    ]);
    expect((await at.service.admin('PATCH', up.path, { trust: 'never' })).status).toBe(400);
    await at.end();
  });

  test(`${engine}: what is accepted of a shared server is accepted for all its keys`, async () => {
    const service = await serviceOf(engine);
    const [at, other] = [await Reviewing.start(service), await Reviewing.start(service)];
    const up = await at.connectShared('up', [tool('a'), tool('b')], 'reviewed');
    const toolServerId = up.path.split('/').at(-1);
    const linked = await service.admin('POST', `/keys/${other.keyId}/connected-tools`, {
      toolServerId,
      name: 'there',
    });
    const link = { ...up, path: `/keys/${other.keyId}/connected-tools/${linked.body.id}` };
    expect([await at.call('up__a'), await other.call('there__a')]).toEqual(['pending', 'pending']);
    const [a, b] = await at.tools(up);
    expect([a!.heldFor, b!.heldFor]).toEqual([
      [at.keyId, other.keyId].sort(),
      [at.keyId, other.keyId].sort(),
    ]);
    expect(await at.tools(link)).toEqual([a!, b!]);
    // By the server for one, and through the link of a key for the other.
    expect((await at.accept(up, [a!])).status).toBe(204);
    expect((await at.accept(link, [b!])).status).toBe(204);
    for (const name of ['a', 'b'])
      expect([await at.call(`up__${name}`), await other.call(`there__${name}`)]).toEqual(['ran', 'ran']);
    up.upstream.options.tools = [tool('a', { title: 'Other' }), tool('b')];
    expect((await at.ask(up)).body.ok).toBe(true);
    expect([await at.call('up__a'), await other.call('there__a'), await other.call('there__b')]).toEqual([
      'pending',
      'pending',
      'ran',
    ]);
    // What a definition names counts only for keys that have it beside.
    const naming = tool('n', { description: 'Use mail__send.' });
    up.upstream.options.tools = [tool('a'), tool('b'), naming];
    await service.admin('PATCH', up.path, { trust: 'first' });
    await other.connect('mail', [tool('send')]);
    await other.client.tools();
    expect((await at.ask(up)).body.ok).toBe(true);
    expect([await at.call('up__n'), await other.call('there__n')]).toEqual(['ran', 'pending']);
    expect((await at.tool(up, 'n')).heldFor).toEqual([other.keyId]);
    await at.end();
    await other.end();
  });

  test(`${engine}: who may look, and who may accept`, async () => {
    const at = await begin(engine);
    const up = await at.connect('up', [tool('a')], 'reviewed');
    await at.client.tools();
    const { name, digest } = await at.tool(up, 'a');
    const as = async (cookie: string) => [
      (await send(at.service, 'GET', `/admin/v1${up.path}/tools`, { cookie })).status,
      (
        await send(
          at.service,
          'POST',
          `/admin/v1${up.path}/accept`,
          { cookie },
          { tools: [{ name, digest }] },
        )
      ).status,
    ];
    const [user, approver, admin] = [
      await newPerson(at.service, 'user'),
      await newPerson(at.service, 'approver'),
      await newPerson(at.service, 'admin'),
    ];
    expect(await as(user.cookie)).toEqual([403, 403]);
    expect(await as(approver.cookie)).toEqual([200, 403]);
    expect(await at.call('up__a')).toBe('pending');
    expect(await as(admin.cookie)).toEqual([200, 204]);
    expect((await at.tool(up, 'a')).accepted?.by).toBe(admin.email);
    expect(await at.call('up__a')).toBe('ran');
    const changes = (await at.service.admin('GET', '/changes?limit=5')).body;
    expect(JSON.stringify(changes)).toContain('connected-tool.accept');
    await at.end();
  });

  test(`${engine}: pages of tools, by name`, async () => {
    const at = await begin(engine);
    const names = ['a', 'a b', 'b&c', 'd/e', 'é', '日本', 'z'.repeat(128)];
    const up = await at.connect(
      'up',
      names.map(each => tool(each)),
    );
    await at.client.tools();
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { body } = await at.service.admin('GET', `${up.path}/tools?limit=2${query}`);
      expect(body.tools.length).toBeLessThanOrEqual(2);
      seen.push(...body.tools.map((each: { name: string }) => each.name));
      cursor = body.nextCursor;
    }
    expect(seen.toSorted()).toEqual(names.toSorted());
    for (const query of ['?limit=0', '?limit=201', '?limit=x', '?more=1', `?cursor=${'x'.repeat(1025)}`])
      expect((await at.service.admin('GET', `${up.path}/tools${query}`)).status).toBe(400);
    await at.end();
  });
}

test('a rule that denies or asks keeps its word', async () => {
  const at = await Reviewing.start(await serviceOf('sqlite'), [
    { tool: 'no', action: 'deny' },
    { tool: 'ask', action: 'require_approval' },
  ]);
  await at.connect('up', [tool('no'), tool('ask')], 'reviewed');
  expect([await at.call('up__no'), await at.call('up__ask')]).toEqual(['denied', 'pending']);
  expect((await auditOf(at.service, at.keyId)).map(each => each.reason)).toEqual([
    expect.stringContaining('denies up__no'),
    expect.stringContaining('requires approval for up__ask.'),
  ]);
  await at.end();
});
