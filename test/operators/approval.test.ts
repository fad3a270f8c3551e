// Authenticated approval on both engines, over plain HTTP: from the link to the sign-in and back, by role, with
// the return path kept on the server. browser.test.ts tests the same with a browser.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import net from 'node:net';
import { ASK_ALL, type Asked, type Gate, openGate } from '../approvals/gate.ts';
import { sql, until } from '../support/faults.ts';
import { Receiver } from '../support/receiver.ts';
import type { Reply } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { cookieOf, newAddress, newPerson, PASSWORD, type Person } from './people.ts';

/** What a browser sends with our own form. */
const FORM = {
  'Content-Type': 'application/x-www-form-urlencoded',
  Accept: 'text/html',
  'Sec-Fetch-Site': 'same-origin',
};

for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/people/**')) {
  describe(engine, () => {
    let gate: Gate;
    let events: Receiver;
    let strict: string;
    const people = {} as Record<'admin' | 'approver' | 'viewer', Person>;
    beforeAll(async () => {
      gate = await openGate({ engine });
      events = await Receiver.start();
      await gate.service.admin('POST', '/webhooks', { url: events.url });
      strict = await gate.key(ASK_ALL, { requireSignInToApprove: true });
      for (const role of ['admin', 'approver', 'viewer'] as const)
        people[role] = await newPerson(gate.service, role);
    });
    afterAll(async () => {
      await gate.close();
      await events.close();
    });

    /** Opens the link with nobody signed in; answers the name of the way back. */
    async function redirected(asked: Asked, query = '?action=approve'): Promise<string> {
      const reply = await gate.open(asked.token, query);
      expect(reply.status).toBe(303);
      const { pathname, searchParams } = new URL(reply.headers.get('location') ?? '', gate.service.url);
      expect(pathname).toBe('/dashboard/sign-in');
      expect(reply.headers.get('location')).not.toContain(asked.token);
      return searchParams.get('continue') ?? '';
    }

    function submit(fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Reply> {
      return gate.service.request('POST', '/dashboard/sign-in', {
        headers: { ...FORM, 'X-Forwarded-For': newAddress(), ...headers },
        body: new URLSearchParams(fields).toString(),
      });
    }

    const resolvedBy = async ({ referenceId }: Asked) =>
      (
        await gate.rows<{ by: string }>(`SELECT resolved_by AS by FROM approvals WHERE id = '${referenceId}'`)
      )[0]?.by;

    test.each(['approve', 'deny'] as const)('sign-in leads back, and %s is the operator’s', async action => {
      const { email } = people.approver;
      const asked = await gate.ask(strict);
      const name = await redirected(asked, `?action=${action}`);
      const page = await gate.service.request('GET', `/dashboard/sign-in?continue=${name}`);
      expect(page.status).toBe(200);
      expect(page.text).toContain(`name="continue" value="${name}"`);
      expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");

      const back = await submit({ email, password: PASSWORD, continue: name });
      expect(back.status).toBe(303);
      expect(back.headers.get('location')).toBe(`/v1/approve/${asked.token}?action=${action}`);
      const cookie = cookieOf(back);
      const ask = await gate.open(asked.token, `?action=${action}`, { headers: { Cookie: cookie } });
      expect(ask.status).toBe(200);
      expect(ask.text).toContain('.submit()');
      expect(await gate.statusOf(asked.referenceId)).toBe('pending');

      const answer = await gate.answer(asked.token, `action=${action}`, { ...FORM, Cookie: cookie });
      expect(answer.status).toBe(200);
      expect(await resolvedBy(asked)).toBe(`operator:${email}`);
      const event = () =>
        events.arrivals.find(
          each => each.json?.type === 'approval.resolved' && each.json.data.referenceId === asked.referenceId,
        );
      await until('the event', () => event() !== undefined);
      expect(event()?.json.data.resolvedBy).toBe(`operator:${email}`);
      const [change] = (await gate.service.admin('GET', '/changes?limit=1')).body.changes;
      expect(change).toMatchObject({ actor: `operator:${email}`, action: `approval.${action}` });
    });

    test('a person who is already signed in sees the question at once', async () => {
      const asked = await gate.ask(strict);
      const page = await gate.open(asked.token, '', { headers: { Cookie: people.admin.cookie } });
      expect(page.status).toBe(200);
      expect(page.text).not.toContain('.submit()');
      const answer = await gate.answer(asked.token, { action: 'approve' }, { Cookie: people.admin.cookie });
      expect(answer.body.status).toBe('approved');
      expect(await resolvedBy(asked)).toBe(`operator:${people.admin.email}`);
    });

    test('a viewer is refused and nothing changes', async () => {
      const { email, cookie } = people.viewer;
      const asked = await gate.ask(strict);
      const back = await submit({ email, password: PASSWORD, continue: await redirected(asked) });
      expect(back.status).toBe(303);
      const shown = await gate.open(asked.token, '?action=approve', { headers: { Cookie: cookieOf(back) } });
      expect(shown.status).toBe(403);
      expect(shown.text).not.toContain('.submit()');
      const answer = await gate.answer(asked.token, { action: 'approve' }, { Cookie: cookie });
      expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
      expect(await gate.statusOf(asked.referenceId)).toBe('pending');
    });

    test('without a sign-in that holds, an answer is refused and changes nothing', async () => {
      const asked = await gate.ask(strict);
      const cookies = ['', 'toolgate_session=', `toolgate_session=${'A'.repeat(43)}`, 'toolgate_session=x'];
      for (const Cookie of cookies) {
        const answer = await gate.answer(asked.token, { action: 'approve' }, { Cookie });
        expect([answer.status, answer.body.code]).toEqual([401, 'sign_in_required']);
        expect((await gate.open(asked.token, '', { headers: { Cookie } })).status).toBe(303);
      }
      expect(await gate.statusOf(asked.referenceId)).toBe('pending');
    });

    test('a form of another site cannot use an operator’s cookie', async () => {
      const asked = await gate.ask(strict);
      for (const foreign of [
        { 'Sec-Fetch-Site': 'cross-site' },
        { 'Sec-Fetch-Site': 'same-site' },
        { Origin: 'https://evil.example' },
      ]) {
        const headers = { Cookie: people.approver.cookie, ...foreign };
        expect((await gate.answer(asked.token, { action: 'approve' }, headers)).status).toBe(403);
      }
      expect(await gate.statusOf(asked.referenceId)).toBe('pending');
    });

    test('if the key requires no sign-in, the link alone is enough to answer', async () => {
      const asked = await gate.ask(await gate.key());
      await gate.answer(asked.token, { action: 'approve' }, { Cookie: people.viewer.cookie });
      expect(await resolvedBy(asked)).toBe('link');
    });

    test('the way back works once, and nothing else is ever a target', async () => {
      const { email } = people.approver;
      const asked = await gate.ask(strict);
      const name = await redirected(asked);
      const location = async (next: string) =>
        (await submit({ email, password: PASSWORD, continue: next })).headers.get('location');
      expect(await location(name)).toStartWith('/v1/approve/');
      for (const next of [name, '', 'https://evil.example/', '//evil.example', '/\\evil', 'x'])
        expect(await location(next)).toBe('/dashboard');
    });

    test.each(['/dashboard/..\\/evil.example', '/dashboard/%2e%2e\\/evil.example'])(
      'the way back to %p does not lead to another site',
      async path => {
        const away = new URL(await locationOf(gate.service.url, path), gate.service.url);
        const { email } = people.approver;
        const next = away.searchParams.get('continue') ?? '';
        const back = await submit({ email, password: PASSWORD, continue: next });
        expect([away.pathname, back.headers.get('location')]).toEqual(['/dashboard/sign-in', '/dashboard']);
      },
    );

    test('a wrong password keeps the way back, and is said in place', async () => {
      const { email } = people.approver;
      const name = await redirected(await gate.ask(strict));
      const wrong = await submit({ email, password: '"><script>alert(1)</script>', continue: name });
      expect(wrong.status).toBe(401);
      expect(wrong.headers.get('set-cookie')).toBeNull();
      expect(wrong.text).toContain('role="alert"');
      expect(wrong.text).toContain(`value="${email}"`);
      expect(wrong.text).toContain(`value="${name}"`);
      expect(wrong.text).not.toContain('alert(1)');
      const right = await submit({ email, password: PASSWORD, continue: name });
      expect(right.headers.get('location')).toStartWith('/v1/approve/');
    });

    test('the form is throttled, and only our own page may send it', async () => {
      const { email } = people.viewer;
      const ip = { 'X-Forwarded-For': newAddress() };
      const fields = { email, password: 'wrong', continue: '' };
      for (let n = 0; n < 5; n++) expect((await submit(fields, ip)).status).toBe(401);
      const closed = await submit({ ...fields, password: PASSWORD }, ip);
      expect(closed.status).toBe(429);
      expect(Number(closed.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(closed.text).toContain('role="alert"');
      for (const foreign of [{ 'Sec-Fetch-Site': 'cross-site' }, { 'Sec-Fetch-Site': '', Origin: 'null' }]) {
        const reply = await submit({ email, password: PASSWORD, continue: '' }, foreign);
        expect([reply.status, reply.headers.get('set-cookie')]).toEqual([403, null]);
      }
    });

    test('the return path is encrypted at rest, and HEAD leaves no trace', async () => {
      const asked = await gate.ask(strict);
      await gate.quiet();
      const name = await redirected(asked);
      const rows = await sql(gate.service.databaseUrl, 'SELECT * FROM return_targets');
      expect(rows.length).toBeGreaterThan(0);
      for (const secret of [asked.token, name, '/v1/approve'])
        expect(JSON.stringify(rows)).not.toContain(secret);
      const head = await gate.service.request('HEAD', `/v1/approve/${asked.token}?action=approve`);
      expect([head.status, head.headers.get('location')]).toEqual([303, '/dashboard/sign-in']);
      expect(await sql(gate.service.databaseUrl, 'SELECT * FROM return_targets')).toHaveLength(rows.length);
    });
  });
}

/** Where a request for this very path is redirected to; other clients would tidy the path up. */
function locationOf(url: string, path: string): Promise<string> {
  const { hostname, port, host } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = net.connect(Number(port), hostname, () =>
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
    );
    socket.on('error', reject);
    socket.on('data', data => {
      socket.destroy();
      resolve(/^location: (.*)$/im.exec(data.toString())?.[1]?.trim() ?? '');
    });
  });
}
