// Operators with a real browser: an invitation accepted, a wrong password said in place, and an approval that
// wants a sign-in decided from its link; with and without script, and accessible.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { ASK_ALL, type Gate, openGate } from '../approvals/gate.ts';
import { hasBrowser, launch, violationsOf } from '../support/browser.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { newPerson, PASSWORD } from './people.ts';

/** A page is a client of the API, which is tested on both engines. */
const engineNames = (await enginesWhenChanged('src/store/**')).slice(-1);

describe.if(hasBrowser())('with a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });

  async function visit(script: boolean, use: (page: Page) => Promise<void>): Promise<void> {
    const context = await browser.newContext({ javaScriptEnabled: script });
    const refused: string[] = [];
    try {
      const page = await context.newPage();
      page.on('console', message => {
        if (/content security policy/i.test(message.text())) refused.push(message.text());
      });
      await use(page);
      expect(refused).toEqual([]);
    } finally {
      await context.close();
    }
  }

  const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor();

  async function fillIn(page: Page, email: string, password: string): Promise<void> {
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  for (const engine of engineNames) {
    describe(engine, () => {
      let gate: Gate;
      let strict: string;
      beforeAll(async () => {
        gate = await openGate({ engine });
        strict = await gate.key(ASK_ALL, { requireSignInToApprove: true });
      });
      afterAll(() => gate.close());

      test('a link is decided after signing in, under the operator’s name', async () => {
        const { email } = await newPerson(gate.service, 'approver');
        const { referenceId, approveUrl } = await gate.ask(strict);
        await visit(true, async page => {
          await page.goto(approveUrl);
          await heading(page, 'Sign in');
          expect(await violationsOf(page)).toEqual([]);
          await fillIn(page, email, 'not the password');
          await page.getByRole('alert').waitFor();
          expect(await page.getByLabel('E-mail').inputValue()).toBe(email);
          expect(await violationsOf(page)).toEqual([]);
          expect(await gate.statusOf(referenceId)).toBe('pending');
          await fillIn(page, email, PASSWORD);
          await heading(page, 'Approved');
          expect(await page.evaluate('document.cookie')).toBe('');
        });
        const [row] = await gate.rows<{ by: string }>(
          `SELECT resolved_by AS by FROM approvals WHERE id = '${referenceId}'`,
        );
        expect(row?.by).toBe(`operator:${email}`);
      });

      test('without script the same takes one more click', async () => {
        const { email } = await newPerson(gate.service, 'admin');
        const { referenceId, approveUrl } = await gate.ask(strict);
        await visit(false, async page => {
          await page.goto(approveUrl.replace('action=approve', 'action=deny'));
          await fillIn(page, email, PASSWORD);
          await heading(page, 'Deny this tool call?');
          expect(await gate.statusOf(referenceId)).toBe('pending');
          await page.getByRole('button').click();
          await heading(page, 'Denied');
        });
        expect(await gate.statusOf(referenceId)).toBe('denied');
      });

      test('a viewer who follows the link is told so, and nothing is decided', async () => {
        const { email } = await newPerson(gate.service, 'viewer');
        const { referenceId, approveUrl } = await gate.ask(strict);
        await visit(true, async page => {
          await page.goto(approveUrl);
          await fillIn(page, email, PASSWORD);
          await heading(page, 'This request cannot be used');
        });
        expect(await gate.statusOf(referenceId)).toBe('pending');
      });

      test('an invitation is accepted on its page', async () => {
        const email = `o'brien-${crypto.randomUUID().slice(0, 8)}@example.com`;
        const body = { email, role: 'approver' };
        const { inviteUrl } = (await gate.service.admin('POST', '/operators', body)).body;
        await visit(false, async page => {
          await page.goto(inviteUrl);
          await heading(page, 'Choose your password');
          expect(await page.locator('main').innerText()).toContain(email);
          await page.getByLabel('Password').fill('correct horse battery staple');
          await page.getByRole('button').click();
          expect(await page.getByRole('alert').textContent()).toContain('well known');
          await page.getByLabel('Password').fill(PASSWORD);
          await page.getByRole('button').click();
          await page.waitForURL('**/dashboard');
          expect(await (await page.request.get(`${gate.service.url}/admin/v1/me`)).json()).toMatchObject({
            email,
          });
          await page.goto(inviteUrl);
          await heading(page, 'This invitation does not work');
        });
      });

      test('a form of another origin is not taken', async () => {
        const { email } = await newPerson(gate.service, 'admin');
        const action = `${gate.service.url}/dashboard/sign-in`;
        const evil = Bun.serve({
          port: 0,
          hostname: '127.0.0.1',
          fetch: () =>
            new Response(
              `<form method="post" action="${action}"><input name="email" value="${email}">
<input name="password" value="${PASSWORD}"><input name="continue" value=""><button>Win</button></form>`,
              { headers: { 'Content-Type': 'text/html' } },
            ),
        });
        try {
          await visit(true, async page => {
            await page.goto(evil.url.href);
            await page.getByRole('button').click();
            await heading(page, 'This request cannot be used');
            expect(await page.context().cookies()).toEqual([]);
          });
        } finally {
          await evil.stop(true);
        }
      });
    });
  }
});
