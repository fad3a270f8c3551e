// Conditions that read what a tool says about itself. They read the definition that was accepted: a tool server that
// changes its mind changes no decision until an operator accepts it. A plain check has no definition.

import { expect, test } from 'bun:test';
import { auditOf, connect, LegacyClient, RecordingUpstream } from '../support/mcp.ts';
import { startService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

const tool = (name: string, annotations?: unknown) => ({
  name,
  inputSchema: { type: 'object' },
  ...(annotations !== undefined && { annotations }),
});
const reading = (readOnlyHint: unknown) => ({ readOnlyHint });

const RULES = [
  { tool: 'up__*', action: 'allow' as const, when: 'tool.annotations.readOnlyHint == true' },
  { tool: 'up__*', action: 'require_approval' as const, when: '!has(tool.annotations)' },
];
const NOT_TRUE = 'Rule 1 did not apply: condition 0 is false.';
const UNKNOWN = 'Rule 0 did not apply: condition 0 could not be evaluated.';

for (const engine of await enginesWhenChanged('src/store/**')) {
  test(`${engine}: annotations are those of the accepted definition`, async () => {
    // A changed definition holds no call here, so that the decisions are those of the rules.
    const service = await startService({ engine, env: { TOOLGATE_TOOL_DRIFT: 'allow' } });
    const upstream = new RecordingUpstream({
      tools: [
        tool('look', reading(true)),
        tool('wipe', reading(false)),
        tool('text', reading('true')),
        tool('plain'),
        tool('list', [reading(true)]),
      ],
    });
    const { key, keyId } = await service.newKey(RULES);
    const id = await connect(service, keyId, 'up', upstream.url);
    const client = await LegacyClient.open(service, key);
    await client.tools();

    async function decided(name: string): Promise<[string, string]> {
      await client.call(`up__${name}`);
      const { decision = '', reason = '' } = (await auditOf(service, keyId)).at(-1) ?? {};
      return [decision, reason];
    }

    expect(await decided('look')).toEqual(['allow', expect.any(String)]);
    expect(await decided('wipe')).toEqual(['deny', expect.stringContaining(NOT_TRUE)]);
    expect(await decided('text')).toEqual(['deny', expect.stringContaining(NOT_TRUE)]);
    expect(await decided('plain')).toEqual(['pending', expect.stringContaining(UNKNOWN)]);
    expect(await decided('list')).toEqual(['pending', expect.stringContaining(UNKNOWN)]);
    // A plain check knows no definition, even of a tool that has one.
    const plain = (await service.check(key, 'up', 'look')).body;
    expect([plain.decision, plain.reason]).toEqual(['pending', expect.stringContaining(UNKNOWN)]);

    upstream.options.tools = [tool('look', reading(false)), tool('wipe', reading(true)), tool('plain')];
    await client.tools();
    expect((await decided('look'))[0]).toBe('allow');
    expect((await decided('wipe'))[0]).toBe('deny');

    const path = `/keys/${keyId}/connected-tools/${id}`;
    const { definitions } = (await service.admin('GET', `${path}/definitions`)).body;
    for (const { name, changedDigest: digest } of definitions)
      if (digest !== null) await service.admin('POST', `${path}/accept`, { tool: name, digest });
    expect((await decided('look'))[0]).toBe('deny');
    expect((await decided('wipe'))[0]).toBe('allow');
    await service.close();
    await upstream.stop();
  });
}
