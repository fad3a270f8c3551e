// An approval link from end to end: looking at it changes nothing, answering works once, whatever is wrong is
// refused and leaves the question open. The pages' looks are tested with the browser.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mintToken } from '../../src/guard/secrets.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { type Asked, fingerprint, type Gate, openGate } from './gate.ts';

const PAGE = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };

const DURATIONS: unknown[] = [
  ...['', '1', 'm', '0m', '8d', '169h', '10081m', '1s', '1h ', ' 1h', '1.5h', '-1h', '+1h', '1H', '1w'],
  ...['forever', '1h30m', '1e1m', '0x1h', '٣h', '1h\n', '99999999999999999999m'],
  ...[1, 60, null, true, ['1h'], { hours: 1 }],
];
const BODIES: [string, unknown][] = [
  ...DURATIONS.map(duration => [`duration ${JSON.stringify(duration)}`, { action: 'approve', duration }]),
  ...['', 'Approve', 'approved', 'approve ', 'allow', null, 1, true, ['approve'], {}].map(action => [
    `action ${JSON.stringify(action)}`,
    { action },
  ]),
  ['no action', {}],
  ['only a duration', { duration: '1h' }],
  ['a duration with deny', { action: 'deny', duration: '1h' }],
  ['an unknown field', { action: 'approve', reason: 'x' }],
  ['too long a note', { action: 'approve', note: 'x'.repeat(501) }],
  ['a note with a control character', { action: 'approve', note: 'a\u0007b' }],
  ['a note that is no text', { action: 'approve', note: 1 }],
  ['__proto__', '{"action":"approve","__proto__":{}}'],
  ['a repeated key', '{"action":"deny","action":"approve"}'],
  ['a list', ['approve']],
  ['a bare word', '"approve"'],
  ['null', 'null'],
  ['nothing', ''],
  ['broken JSON', '{"action":"approve"'],
  ['two values', '{"action":"approve"}{}'],
  ['a byte order mark', '\uFEFF{"action":"approve"}'],
] as [string, unknown][];
const FORMS = [
  '',
  'action=',
  'action=Approve',
  'action=approve&action=approve',
  'action=approve&action=deny',
  'action=approve&duration=',
  'action=approve&duration=8d',
  'action=approve&duration=1h&duration=1h',
  'action=approve&duration=1h+',
  'action=deny&duration=1h',
  'action=approve&token=x',
  'duration=1h',
  '{"action":"approve"}',
];

const FOREIGN: Record<string, string>[] = [
  { Origin: 'https://evil.example' },
  { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' },
  { Origin: 'null', 'Sec-Fetch-Site': 'cross-site' },
  { Origin: 'null', 'Sec-Fetch-Site': 'same-site' },
  { 'Sec-Fetch-Site': 'cross-site' },
  { 'Sec-Fetch-Site': 'same-site' },
];

function expectPage(reply: { status: number; headers: Headers }, status: number): void {
  expect(reply.status).toBe(status);
  expect(reply.headers.get('content-type')).toStartWith('text/html');
  expect(reply.headers.get('cache-control')).toBe('no-store');
  expect(reply.headers.get('referrer-policy')).toBe('no-referrer');
  expect(reply.headers.get('x-robots-tag')).toBe('noindex');
  const policy = reply.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain('unsafe');
}

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(`approval links on ${engine}`, () => {
    let gate: Gate;
    let key: string;
    let asked: Asked;
    beforeAll(async () => {
      gate = await openGate({ engine, env: { TOOLGATE_MAX_OPEN_APPROVALS_PER_KEY: '1000' } });
      key = await gate.key();
      asked = await gate.ask(key);
      await gate.quiet();
    });
    afterAll(() => gate.close());

    /** Whatever is done inside leaves the store as it was. */
    async function unchanged(work: () => Promise<void>): Promise<void> {
      const before = await fingerprint(gate.service.databaseUrl);
      await work();
      expect(await fingerprint(gate.service.databaseUrl)).toBe(before);
    }

    test('GET and HEAD show the question and change nothing', async () => {
      await unchanged(async () => {
        for (const [query, status] of Object.entries({
          '': 200,
          '?action=approve': 200,
          '?action=deny': 200,
        }))
          for (const method of ['GET', 'HEAD'])
            expectPage(await gate.service.request(method, `/v1/approve/${asked.token}${query}`), status);
      });
      expect(await gate.statusOf(asked.referenceId)).toBe('pending');
    });

    test('only a link that names an action submits itself', async () => {
      const bare = await gate.open(asked.token);
      expect(bare.text).not.toContain('.submit()');
      expect(bare.text.match(/<button/g)).toHaveLength(3);
      const decided = await gate.open(asked.token, '?action=approve');
      const nonce = /script-src 'nonce-([^']+)'/.exec(decided.headers.get('content-security-policy') ?? '');
      expect(decided.text).toContain(`<script nonce="${nonce?.[1]}">`);
      expect(decided.text).toContain('.submit()');
      expect(decided.text).toContain('<noscript>');
    });

    test('a bad action is a 400 page', async () => {
      await unchanged(async () => {
        for (const query of ['?action=', '?action=Approve', '?action=allow', '?action=approve&action=deny'])
          expectPage(await gate.open(asked.token, query), 400);
      });
    });

    test('an unknown link is a 404 page, whatever its form', async () => {
      for (const token of [mintToken('approval').token, 'x', `${asked.token}x`, asked.token.slice(1), key])
        for (const query of ['', '?action=approve']) expectPage(await gate.open(token, query), 404);
    });

    test('what is wrong in a body is a 400 and leaves the question open', async () => {
      await unchanged(async () => {
        for (const [name, body] of BODIES) {
          const { status, body: problem } = await gate.answer(asked.token, body);
          expect([name, status]).toEqual([name, 400]);
          expect(['invalid_input', 'invalid_json']).toContain(problem.code);
        }
        for (const form of FORMS) {
          const reply = await gate.answer(asked.token, form, FORM);
          expect([form, reply.status]).toEqual([form, 400]);
          expectPage(await gate.answer(asked.token, form, { ...FORM, ...PAGE }), 400);
        }
      });
      expect(await gate.statusOf(asked.referenceId)).toBe('pending');
    });

    test('another content type is a 415, too long a body a 413', async () => {
      await unchanged(async () => {
        for (const type of [
          'text/plain',
          'multipart/form-data; boundary=x',
          'application/json; charset=utf-16',
        ])
          expect(
            (await gate.answer(asked.token, '{"action":"approve"}', { 'Content-Type': type })).status,
          ).toBe(415);
        const long = JSON.stringify({ action: 'approve', duration: 'x'.repeat(70_000) });
        expect((await gate.answer(asked.token, long)).status).toBe(413);
      });
    });

    test('pages of others cannot answer', async () => {
      await unchanged(async () => {
        for (const headers of FOREIGN) {
          const { status, body } = await gate.answer(asked.token, { action: 'approve' }, headers);
          expect([headers, status, body.code]).toEqual([headers, 403, 'forbidden']);
        }
      });
    });

    test('the same link then answers, once', async () => {
      const reply = await gate.answer(asked.token, { action: 'approve' });
      expect(reply.status).toBe(200);
      expect(reply.headers.get('cache-control')).toBe('no-store');
      expect(reply.body).toEqual({
        referenceId: asked.referenceId,
        status: 'approved',
        grantExpiresAt: null,
        note: null,
        votes: { needed: 1, approved: [{ by: 'link', at: expect.any(String) }] },
      });
      await unchanged(async () => {
        for (const action of ['approve', 'deny']) {
          const again = await gate.answer(asked.token, { action });
          expect([again.status, again.body.code]).toEqual([410, 'gone']);
          expectPage(await gate.answer(asked.token, `action=${action}`, { ...FORM, ...PAGE }), 410);
          const page = await gate.open(asked.token, `?action=${action}`);
          expectPage(page, 410);
          expect(page.text).toContain('Already approved');
        }
      });
    });

    test('our own page, and programs, may answer', async () => {
      const own: Record<string, string>[] = [
        {},
        { Origin: 'null', 'Sec-Fetch-Site': 'same-origin' },
        // Chromium on plain HTTP, and browsers that know no Sec-Fetch-Site.
        { Origin: 'null' },
        { Origin: gate.service.url },
        { Origin: gate.service.url, 'Sec-Fetch-Site': 'same-origin' },
        { 'Sec-Fetch-Site': 'none' },
      ];
      for (const headers of own) {
        const { token } = await gate.ask(key);
        expect([headers, (await gate.answer(token, { action: 'deny' }, headers)).status]).toEqual([
          headers,
          200,
        ]);
      }
    });

    test('a form is answered as JSON, or as a page where one is wanted', async () => {
      const first = await gate.ask(key);
      const json = await gate.answer(first.token, 'action=deny', FORM);
      expect(json.body).toEqual({
        referenceId: first.referenceId,
        status: 'denied',
        grantExpiresAt: null,
        note: null,
        votes: { needed: 1, approved: [] },
      });
      const second = await gate.ask(key);
      const page = await gate.answer(second.token, 'action=approve&duration=90m', { ...FORM, ...PAGE });
      expectPage(page, 200);
      expect(page.text).toContain('<h1>Approved</h1>');
      expect(await gate.statusOf(second.referenceId)).toBe('approved');
    });

    test('a note is kept with the approval, whatever the answer; an empty one is none', async () => {
      const longest = '\u{1f600}'.repeat(500);
      const noted = async (body: unknown, headers = {}) => {
        const { token, referenceId } = await gate.ask(key, 'noted');
        const { body: said } = await gate.answer(token, body, headers);
        const { body: kept } = await gate.service.admin('GET', `/approvals/${referenceId}`);
        expect(kept.note).toBe(said.note);
        return kept.note;
      };
      expect(await noted({ action: 'deny', note: 'Ask finance <first>.' })).toBe('Ask finance <first>.');
      expect(await noted({ action: 'approve', note: longest })).toBe(longest);
      expect(await noted({ action: 'approve', note: '' })).toBeNull();
      expect(await noted('action=deny&note=not+today', FORM)).toBe('not today');
      expect(await noted('action=deny&note=', FORM)).toBeNull();
      expect(await noted('action=deny&note=not%0D%0Atoday', FORM)).toBe('not today');
      const { token, referenceId } = await gate.ask(key, 'noted');
      expectPage(await gate.answer(token, 'action=approve&note=go', { ...FORM, ...PAGE }), 200);
      const { approvals } = (await gate.service.admin('GET', '/approvals?limit=1')).body;
      expect(approvals[0]).toMatchObject({ referenceId, note: 'go' });
    });

    test('a duration opens a grant of that length', async () => {
      for (const [duration, minutes] of Object.entries({
        '1m': 1,
        '10080m': 10_080,
        '168h': 10_080,
        '7d': 10_080,
      })) {
        const { token } = await gate.ask(key, `for-${duration}`);
        const before = Date.now();
        const { status, body } = await gate.answer(token, { action: 'approve', duration });
        expect([duration, status]).toEqual([duration, 200]);
        const ends = Date.parse(body.grantExpiresAt);
        expect(ends).toBeWithin(before + minutes * 60_000, Date.now() + minutes * 60_000 + 1);
      }
    });

    test('an unknown link cannot be answered', async () => {
      const { status, body } = await gate.answer(mintToken('approval').token, { action: 'approve' });
      expect([status, body.code]).toEqual([404, 'not_found']);
    });

    test('a revoked key’s questions end with it, and that is told; those of other keys stay', async () => {
      const rules = [{ tool: '*', action: 'require_approval' as const }];
      const { key: dying, keyId } = await gate.service.newKey(rules);
      const { key: other } = await gate.service.newKey(rules);
      const [{ token, referenceId }, kept] = [await gate.ask(dying), await gate.ask(other)];
      await gate.service.admin('DELETE', `/keys/${keyId}`);
      expect((await gate.answer(token, { action: 'approve' })).status).toBe(410);
      const { body } = await gate.service.admin('GET', `/approvals/${referenceId}`);
      expect([body.status, body.resolvedBy, body.note]).toEqual(['timed_out', null, 'The key was revoked.']);
      const told = await gate.rows<{ reference: string }>(
        `SELECT reference_id AS reference FROM events WHERE type = 'approval.resolved' AND reference_id IN ('${referenceId}', '${kept.referenceId}')`,
      );
      expect(told.map(({ reference }) => reference)).toEqual([referenceId]);
      expect(await gate.statusOf(kept.referenceId)).toBe('pending');
    });

    test('where a sign-in is wanted, the link leads there and an anonymous answer changes nothing', async () => {
      const strict = await gate.key(undefined, { requireSignInToApprove: true });
      const { token, referenceId } = await gate.ask(strict);
      await gate.quiet();
      await unchanged(async () => {
        for (const query of ['', '?action=approve', '?action=deny']) {
          const page = await gate.open(token, query);
          expect(page.status).toBe(303);
          expect(page.headers.get('location')).toStartWith('/dashboard/sign-in');
          expect(page.headers.get('cache-control')).toBe('no-store');
        }
        const { status, body } = await gate.answer(token, { action: 'approve' });
        expect([status, body.code]).toEqual([401, 'sign_in_required']);
        expectPage(await gate.answer(token, 'action=approve', { ...FORM, ...PAGE }), 401);
      });
      const byAdmin = await gate.service.admin('POST', `/approvals/${referenceId}/resolve`, {
        action: 'deny',
      });
      expect(byAdmin.status).toBe(200);
    });
  });
}

test('with TOOLGATE_APPROVE_PAGE=confirm no link submits itself', async () => {
  const gate = await openGate({ env: { TOOLGATE_APPROVE_PAGE: 'confirm' } });
  try {
    const { token } = await gate.ask(await gate.key());
    for (const query of ['', '?action=approve', '?action=deny']) {
      const page = await gate.open(token, query);
      expectPage(page, 200);
      expect(page.text).not.toContain('.submit()');
      expect(page.text.replace(/<noscript>.*?<\/noscript>/gs, '')).toContain('<button');
    }
    expect((await gate.answer(token, { action: 'approve' })).status).toBe(200);
  } finally {
    await gate.close();
  }
});
