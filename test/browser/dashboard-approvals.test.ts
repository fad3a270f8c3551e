// The inbox in a real browser: what waits is answered there, once, under the operator's name;
// what happens elsewhere is seen at once; who may only look has nothing to press.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { newPerson, OWN, type Person, send } from '../operators/people.ts';
import { DARK, expectUsable, hasBrowser, heading, launch, PHONE, visit } from '../support/browser.ts';
import { until } from '../support/faults.ts';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

/** A page is a client of the API, which is tested on both engines. */
const engineNames = (await enginesWhenChanged('src/store/**')).slice(-1);
const ASK = [{ tool: '*', action: 'require_approval', reason: 'Ask first.' } as const];

describe.if(hasBrowser()).each(engineNames)('the inbox on %s', engine => {
  let browser: Browser;
  let service: TestService;
  let key: string;
  let admin: Person;
  let approver: Person;
  beforeAll(async () => {
    [browser, service] = await Promise.all([launch(), startService({ engine })]);
    key = (await service.newKey(ASK, { name: 'release agent' })).key;
    admin = await newPerson(service, 'admin');
    approver = await newPerson(service, 'approver');
  });
  afterAll(async () => {
    await service?.close();
  });

  /** A pending call to a tool whose name nothing else has. */
  async function hold(): Promise<{ tool: string; toolName: string; referenceId: string }> {
    const toolName = `deploy_${crypto.randomUUID().slice(0, 8)}`;
    const { body } = await service.check(key, 'prod', toolName);
    return { tool: `prod__${toolName}`, toolName, referenceId: body.referenceId };
  }

  async function approvalOf(referenceId: string) {
    const { body } = await service.admin('GET', '/approvals?limit=1000');
    return body.approvals.find((each: { referenceId: string }) => each.referenceId === referenceId);
  }

  const question = (page: Page, tool: string) => page.getByRole('listitem').filter({ hasText: tool });
  const said = (page: Page, text: string) => page.getByRole('status').filter({ hasText: text }).waitFor();

  test('a call is approved and another denied, under the name of who did', async () => {
    const [yes, no] = [await hold(), await hold()];
    await visit(browser, service, approver.cookie, async page => {
      await page.goto('/dashboard/approvals');
      await question(page, yes.tool).getByText('release agent').waitFor();
      await question(page, yes.tool).getByText('left').waitFor();
      await expectUsable(page);
      await question(page, yes.tool)
        .getByRole('button', { name: `Approve ${yes.tool}` })
        .click();
      await said(page, `Approved: ${yes.tool}`);
      await question(page, no.tool).getByRole('button', { name: 'Deny' }).click();
      await said(page, `Denied: ${no.tool}`);
      await question(page, no.tool).getByText('Denied by you').waitFor();
      await page.getByRole('link', { name: 'History' }).click();
      await page.getByRole('row').filter({ hasText: yes.toolName }).getByText('approved').waitFor();
      await page.getByRole('row').filter({ hasText: no.toolName }).getByText('denied').waitFor();
      await expectUsable(page);
      const approved = page.getByRole('row').filter({ hasText: yes.toolName });
      await approved.getByText('one call until').waitFor();
      await approved.getByRole('button', { name: 'Withdraw' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click();
      await said(page, `Withdrawn: ${yes.tool}`);
      await approved.getByText('withdrawn').waitFor();
      expect(await page.getByRole('button', { name: 'Withdraw' }).count()).toBe(0);
      await page.getByLabel('Outcome').selectOption('denied');
      await page.getByRole('row').filter({ hasText: yes.toolName }).waitFor({ state: 'detached' });
      await page.waitForURL(
        url => url.href === `${service.url}/dashboard/approvals?view=history&status=denied`,
      );
    });
    const by = `operator:${approver.email}`;
    expect(await approvalOf(yes.referenceId)).toMatchObject({ status: 'approved', resolvedBy: by });
    expect((await approvalOf(yes.referenceId)).withdrawnAt).not.toBeNull();
    expect(await approvalOf(no.referenceId)).toMatchObject({ status: 'denied', resolvedBy: by });
  });

  test('on a phone, until when an approval can be used and the button to withdraw it stand beside their name', async () => {
    const held = await hold();
    await service.admin('POST', `/approvals/${held.referenceId}/resolve`, { action: 'approve' });
    await visit(
      browser,
      service,
      approver.cookie,
      async page => {
        await page.goto('/dashboard/approvals?view=history');
        const use = page.getByRole('row').filter({ hasText: held.toolName }).locator('td[data-head="Use"]');
        await use.getByRole('button', { name: 'Withdraw' }).waitFor();
        // The name of the column is one cell of the grid; all the rest has to be the other.
        const parts = use.evaluate(cell => [...cell.childNodes].map(each => each.nodeName));
        expect(await parts).toEqual(['DIV']);
        await expectUsable(page);
      },
      PHONE,
    );
  });

  test('an approval for a while opens a grant, which an admin revokes after being asked', async () => {
    const held = await hold();
    await visit(browser, service, admin.cookie, async page => {
      await page.goto('/dashboard/approvals');
      await question(page, held.tool).getByRole('button', { name: 'Approve for a while…' }).click();
      const dialog = page.getByRole('dialog', { name: 'Approve for a while' });
      await dialog.getByLabel('For how long').selectOption('4 hours');
      await expectUsable(page);
      await dialog.getByRole('button', { name: 'Approve' }).click();
      await said(page, `Approved: ${held.tool}`);
      expect((await service.check(key, 'prod', held.toolName)).body.decision).toBe('allow');
      await page.getByRole('link', { name: 'Grants' }).click();
      const row = page.getByRole('row').filter({ hasText: held.toolName });
      await row.getByText(/^3 h 5\d min left$/).waitFor();
      await row.getByRole('button', { name: 'Revoke' }).click();
      const asked = page.getByRole('dialog', { name: 'Revoke this grant?' });
      await asked.getByRole('button', { name: 'Cancel' }).click();
      expect((await service.check(key, 'prod', held.toolName)).body.decision).toBe('allow');
      await row.getByRole('button', { name: 'Revoke' }).click();
      await expectUsable(page);
      await asked.getByRole('button', { name: 'Revoke' }).click();
      await row.waitFor({ state: 'detached' });
    });
    expect((await service.check(key, 'prod', held.toolName)).body.decision).toBe('pending');
  });

  /** What is asked from now on is new to the page. */
  const listed = async (page: Page) => {
    await page.getByRole('list', { name: 'Waiting for an answer' }).waitFor({ state: 'attached' });
    await page.locator('main .loading').waitFor({ state: 'detached' });
  };
  const showNew = (page: Page) => page.getByRole('button', { name: /^Show \d+ new$/ }).click();

  test('calls that begin to wait are announced, and those answered elsewhere say so, without a reload', async () => {
    await visit(browser, service, approver.cookie, async page => {
      await page.goto('/dashboard/approvals');
      await page.getByText('Live', { exact: true }).first().waitFor();
      await listed(page);
      const held = await hold();
      await showNew(page);
      await question(page, held.tool).waitFor();
      await service.admin('POST', `/approvals/${held.referenceId}/resolve`, { action: 'deny' });
      await question(page, held.tool).getByText('Denied by the admin token').waitFor();
      const session = await service.json('POST', '/v1/sessions', key, { label: `run on ${engine}` });
      await service.check(session.body.token, 'prod', 'deploy_by_session');
      await showNew(page);
      await question(page, 'deploy_by_session').getByText(`session run on ${engine}`).waitFor();
      await question(page, held.tool).waitFor({ state: 'detached' });
    });
  });

  test('without the stream, Refresh shows the current state', async () => {
    await visit(browser, service, approver.cookie, async page => {
      await page.route('**/admin/v1/events', route => route.abort());
      await page.goto('/dashboard/approvals');
      await page.getByText('Not live').first().waitFor();
      await listed(page);
      const late = await hold();
      await page.getByRole('button', { name: 'Refresh' }).first().click();
      await showNew(page);
      const card = question(page, late.tool);
      await card
        .getByRole('button', { name: `Approve ${late.tool}` })
        .and(page.locator(':enabled'))
        .waitFor();
      await service.admin('POST', `/approvals/${late.referenceId}/resolve`, { action: 'approve' });
      // The page does not know yet; the service does.
      await card.getByRole('button', { name: 'Deny' }).click();
      await page.getByRole('status').filter({ hasText: 'answered' }).waitFor();
      await card.getByText('Approved by the admin token').waitFor();
      expect((await approvalOf(late.referenceId)).status).toBe('approved');
      await hold();
      await page.evaluate("window.dispatchEvent(new Event('focus'))");
      await showNew(page);
    });
  });

  test('of two hidden tabs one keeps the stream; the other lets go of it, and reads anew when it is looked at', async () => {
    await hold();
    await visit(browser, service, approver.cookie, async page => {
      const other = await page.context().newPage();
      const hide = (which: Page, hidden: boolean) =>
        which.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
          document.dispatchEvent(new Event('visibilitychange'))`);
      for (const each of [page, other]) {
        await each.goto('/dashboard/approvals');
        await each.getByText('Live', { exact: true }).first().waitFor();
        await listed(each);
      }
      const before = await page.title();
      await hide(page, true);
      await until('a tab has the lock', () =>
        page.evaluate('navigator.locks.query().then(({ held }) => held.length === 1)'),
      );
      await hide(other, true);
      await other.getByText('Not live').first().waitFor();
      const held = await hold();
      const count = Number(/\((\d+)\)/.exec(before)?.[1] ?? 0) + 1;
      await until('the title', async () => (await page.title()) === `(${count}) Approvals · Toolgate`);
      expect(await page.locator('link[rel=icon]').getAttribute('href')).toContain('circle');
      expect(await other.title()).toBe(before);
      // The next hidden tab takes over as soon as the first is shown.
      await hide(page, false);
      await other.getByText('Live', { exact: true }).first().waitFor();
      await until('the other title', async () => (await other.title()) === `(${count}) Approvals · Toolgate`);
      await showNew(page);
      await question(page, held.tool).waitFor();
    });
  });

  test('a viewer sees it all and can answer nothing, by page or by hand', async () => {
    const held = await hold();
    const viewer = await newPerson(service, 'viewer');
    await visit(
      browser,
      service,
      viewer.cookie,
      async page => {
        await page.goto('/dashboard/approvals');
        await question(page, held.tool).waitFor();
        await page.getByText('Your role lets you look').waitFor();
        await expectUsable(page);
        expect(await page.getByRole('button', { name: /approve|deny/i }).count()).toBe(0);
        await page.goto('/dashboard/approvals?view=grants');
        await heading(page, 'Approvals');
        expect(await page.getByRole('button', { name: 'Revoke' }).count()).toBe(0);
      },
      { ...PHONE, ...DARK },
    );
    const path = `/admin/v1/approvals/${held.referenceId}/resolve`;
    const reply = await send(
      service,
      'POST',
      path,
      { cookie: viewer.cookie, headers: OWN },
      { action: 'approve' },
    );
    expect(reply.status).toBe(403);
    expect((await approvalOf(held.referenceId)).status).toBe('pending');
  });
});

describe.if(hasBrowser())('an inbox that nobody answers', () => {
  test('says at the moment the question lapses that it did, and when empty what to expect', async () => {
    const [browser, service] = await Promise.all([
      launch(),
      startService({ env: { TOOLGATE_APPROVAL_TIMEOUT: '12s' } }),
    ]);
    try {
      const { cookie } = await newPerson(service, 'approver');
      await visit(browser, service, cookie, async page => {
        await page.goto('/dashboard/approvals');
        await page.getByText('Nothing waits for an answer').waitFor();
        await expectUsable(page);
        const { key } = await service.newKey(ASK);
        await service.check(key, 'prod', 'deploy');
        await page.getByRole('heading', { name: 'prod__deploy' }).waitFor();
        await page.getByText('Lapsed: nobody answered in time').waitFor();
        expect(await page.getByRole('button', { name: /approve|deny/i }).count()).toBe(0);
        await page.getByRole('button', { name: 'Clear answered' }).click();
        await page.getByText('Nothing waits for an answer').waitFor();
        await page.goto('/dashboard/approvals?view=history');
        await page.getByText('timed out', { exact: true }).waitFor();
      });
    } finally {
      await service.close();
    }
  });
});
