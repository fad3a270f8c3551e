// The audit log over HTTP: what an entry holds, each filter, both export formats, the statistics.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

interface Entry extends Record<string, string | number | null> {
  id: string;
  at: string;
}

const FIELDS = [
  'id',
  'at',
  'keyId',
  'sessionId',
  'surface',
  'serverName',
  'toolName',
  'decision',
  'reason',
  'policyId',
  'policyVersion',
  'ruleIndex',
  'referenceId',
  'latencyMs',
];

/** RFC 4180, strictly enough to tell a wrong quote. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [];
  for (const line of text.trimEnd().split('\r\n')) {
    const cells = line.match(/("(?:[^"]|"")*"|[^",]*)(,|$)/g) ?? [];
    rows.push(
      cells
        .slice(0, FIELDS.length)
        .map(cell => cell.replace(/,$/, '').replace(/^"|"$/g, '').replaceAll('""', '"')),
    );
  }
  return rows;
}

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(engine, () => {
    let service: TestService;
    let all: Entry[];
    let keyId: string;
    let sessionId: string;
    const odd = ['=1+1', '+1', '-1', '@SUM(A1)', 'say "hi", you'];

    beforeAll(async () => {
      service = await startService({ engine });
      const first = await service.newKey([
        { tool: 'ask', action: 'require_approval' },
        { tool: 'no', action: 'deny', reason: '=HYPERLINK("http://x")' },
        { tool: '*', action: 'allow' },
      ]);
      const second = await service.newKey([]);
      keyId = first.keyId;
      const session = (await service.json('POST', '/v1/sessions', first.key)).body;
      sessionId = session.id;
      for (const tool of ['a', 'ask', 'no', 'a__b', ...odd]) await service.check(first.key, 's', tool);
      for (const tool of ['a', 'a__b']) await service.check(session.token, 'other', tool);
      await service.check(second.key, 's', 'a');
      all = (await service.admin('GET', '/audit?limit=1000')).body.entries;
    });
    afterAll(() => service.close());

    const list = async (query: string): Promise<Entry[]> =>
      (await service.admin('GET', `/audit?limit=1000&${query}`)).body.entries;

    test('an entry has the decided fields and never arguments', async () => {
      expect(all).toHaveLength(12);
      for (const entry of all) {
        expect(Object.keys(entry).sort()).toEqual([...FIELDS, 'reasonCode'].sort());
        expect(entry).toMatchObject({ surface: 'check', policyVersion: 1, latencyMs: expect.any(Number) });
      }
      const { key } = await service.newKey([{ tool: '*', action: 'require_approval' }]);
      await service.check(key, 's', 'secretive', { args: { password: 'canary-7351' } });
      expect(JSON.stringify(await list('tool=secretive'))).not.toContain('canary');
    });

    test('each filter keeps what it names', async () => {
      const filters: [string, (entry: Entry) => boolean][] = [
        [`keyId=${keyId}`, entry => entry['keyId'] === keyId],
        [`sessionId=${sessionId}`, entry => entry['sessionId'] === sessionId],
        ['decision=allow', entry => entry['decision'] === 'allow'],
        ['decision=pending', entry => entry['decision'] === 'pending'],
        ['tool=a', entry => entry['toolName'] === 'a'],
        ['tool=s__a', entry => entry['toolName'] === 'a' && entry['serverName'] === 's'],
        ['tool=other__a__b', entry => entry['toolName'] === 'a__b' && entry['serverName'] === 'other'],
        [`tool=${encodeURIComponent('=1+1')}`, entry => entry['toolName'] === '=1+1'],
        ['tool=OTHER', entry => entry['serverName'] === 'other'],
        ['tool=s__*', entry => entry['serverName'] === 's'],
        ['tool=*a*', entry => /a/i.test(`${entry['serverName']}__${entry['toolName']}`)],
        ['tool=sum(', entry => entry['toolName'] === '@SUM(A1)'],
        ['tool=nobody', () => false],
        ['surface=check', () => true],
        ['surface=mcp', () => false],
        [`decision=deny&keyId=${keyId}`, e => e['decision'] === 'deny' && e['keyId'] === keyId],
      ];
      const upTo = `to=${encodeURIComponent(new Date(Date.parse(all[0]?.at as string) + 1).toISOString())}`;
      for (const [query, keeps] of filters) expect(await list(`${upTo}&${query}`)).toEqual(all.filter(keeps));
    });

    test('from is included, to is not, also with an offset', async () => {
      const at = all[5]?.at as string;
      expect(await list(`from=${at}`)).toEqual(expect.arrayContaining(all.filter(entry => entry.at >= at)));
      expect((await list(`from=${at}`)).every(entry => entry.at >= at)).toBe(true);
      expect(await list(`to=${at}`)).toEqual(all.filter(entry => entry.at < at));
      const offset = new Date(Date.parse(at) + 3_600_000).toISOString().replace('Z', '+01:00');
      expect(await list(`to=${encodeURIComponent(offset)}`)).toEqual(all.filter(entry => entry.at < at));
    });

    test('an entry says what its ids stand for, and what became of the question', async () => {
      const { key, keyId, policyId } = await service.newKey([{ tool: '*', action: 'require_approval' }], {
        name: 'asking',
      });
      const session = (await service.json('POST', '/v1/sessions', key, { label: 'a run' })).body;
      const { toolCallId, referenceId } = (await service.check(session.token, 's', 'asked')).body;
      const context = async () => (await service.admin('GET', `/audit/${toolCallId}`)).body.context;
      const policy = (await service.admin('GET', `/policies/${policyId}`)).body;
      const waiting = { status: 'pending', decidedBy: null, decidedAt: null, note: null };
      expect(await context()).toEqual({
        keyName: 'asking',
        policyName: policy.name,
        policyCurrentVersion: 1,
        sessionLabel: 'a run',
        approval: waiting,
      });
      const answer = { action: 'deny', note: 'Not today.' };
      await service.admin('POST', `/approvals/${referenceId}/resolve`, answer);
      expect((await context()).approval).toEqual({
        status: 'denied',
        decidedBy: 'admin',
        decidedAt: expect.any(String),
        note: 'Not today.',
      });
      const plain = (await service.admin('GET', `/audit/${all[0]?.id}`)).body.context;
      expect([plain.sessionLabel, plain.approval]).toEqual([null, null]);
      // The ids stay in the log when the policy is gone.
      const other = (await service.admin('POST', '/policies', { name: 'next', rules: [] })).body.id;
      await service.admin('PATCH', `/keys/${keyId}`, { policyId: other });
      await service.admin('DELETE', `/policies/${policyId}`);
      expect(await context()).toMatchObject({ keyName: 'asking', policyName: null });
    });

    test('suggests full names, the best first, and bounds what is asked', async () => {
      const suggested = async (like: string) =>
        (await service.admin('GET', `/audit/tools?like=${encodeURIComponent(like)}`)).body.tools;
      expect((await suggested('A')).slice(0, 4)).toEqual(['other__a', 'other__a__b', 's__a', 's__a__b']);
      expect(await suggested('OTHER')).toEqual(['other__a', 'other__a__b']);
      expect(await suggested('other__*b')).toEqual(['other__a__b']);
      expect(await suggested('%')).toEqual([]);
      expect((await service.admin('GET', '/audit/tools')).body.tools.length).toBeGreaterThan(5);
      expect((await service.admin('GET', `/audit/tools?like=${'x'.repeat(301)}`)).status).toBe(400);
    });

    test('exports as JSON lines, the same entries in the same order', async () => {
      const reply = await service.admin('GET', `/audit/export?keyId=${keyId}`);
      expect(reply.headers.get('content-type')).toStartWith('application/jsonl');
      expect(reply.headers.get('content-disposition')).toContain('.jsonl');
      const rows = reply.text
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line) as Entry);
      expect(rows).toEqual(all.filter(entry => entry['keyId'] === keyId));
    });

    test('exports as CSV, with formulas defused and quotes doubled', async () => {
      const reply = await service.admin('GET', `/audit/export?format=csv&keyId=${keyId}`);
      expect(reply.headers.get('content-type')).toStartWith('text/csv');
      const [head, ...rows] = parseCsv(reply.text);
      expect(head?.toSorted()).toEqual(FIELDS.toSorted());
      const shadow = ['shadowPolicyId', 'shadowPolicyVersion', 'shadowDecision', 'shadowRuleIndex'];
      const last = ['personId', ...shadow, 'traceId', 'runId', 'marks'];
      expect(reply.text.split('\r\n')[0]?.split(',').slice(FIELDS.length)).toEqual(last);
      const wanted = all.filter(entry => entry['keyId'] === keyId);
      expect(rows).toHaveLength(wanted.length);
      const column = (name: string) => rows.map(row => row[head?.indexOf(name) ?? -1] ?? '');
      expect(column('id')).toEqual(wanted.map(entry => entry.id));
      const safe = (text: unknown) => (/^[=+\-@]/.test(String(text)) ? `'${text}` : String(text));
      expect(column('toolName')).toEqual(wanted.map(entry => safe(entry['toolName'])));
      expect(column('reason')).toEqual(wanted.map(entry => safe(entry['reason'])));
      for (const cell of rows.flat()) expect(cell).not.toMatch(/^[=+\-@\t\r]/);
    });

    test('an export of more than one page of the store is whole', async () => {
      const { key, keyId: busy } = await service.newKey([{ tool: '*', action: 'allow' }]);
      for (let round = 0; round < 21; round++) {
        await Promise.all(Array.from({ length: 100 }, () => service.check(key, 's', 't')));
      }
      const { text } = await service.admin('GET', `/audit/export?keyId=${busy}`);
      const ids = text
        .trimEnd()
        .split('\n')
        .map(line => (JSON.parse(line) as Entry).id);
      expect(ids).toHaveLength(2100);
      expect(ids).toEqual([...new Set(ids)].sort().toReversed());
    });

    test('the statistics add up to the log', async () => {
      const { body } = await service.admin('GET', '/stats?window=1h');
      const entries = await list('');
      const some = await service.admin('GET', '/audit/export');
      const total = some.text.trimEnd().split('\n').length;
      const sum = (each: Record<string, number>) =>
        (each['allow'] ?? 0) + (each['deny'] ?? 0) + (each['pending'] ?? 0);
      expect(sum(body.totals)).toBe(total);
      expect(body.series.map(sum).reduce((a: number, b: number) => a + b, 0)).toBe(total);
      expect(body.totals.pending).toBe((await list('decision=pending')).length);
      expect(body.topTools[0]).toEqual({ tool: 's__t', count: 2100, allow: 2100, deny: 0, pending: 0 });
      expect(body.topKeys[0]).toMatchObject({ count: 2100, allow: 2100 });
      expect(body.deliveries).toEqual({ pending: 0, delivered: 0, failed: 0, oldestPendingAt: null });
      expect(body.latencyMs.p50).toBeLessThanOrEqual(body.latencyMs.p99);
      expect(entries).toHaveLength(1000);
      expect((await service.admin('GET', '/stats')).status).toBe(200);
      for (const window of ['', '5', '367d', '24 h', '-1h']) {
        expect((await service.admin('GET', `/stats?window=${encodeURIComponent(window)}`)).status).toBe(400);
      }
    });
  });
}
