// Approvals that a passkey signs, in a real browser with its virtual authenticator: in the inbox, on the page behind the
// link, and what both say to somebody who has no passkey. What came of it is verified by the command line.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { run } from '../../src/cli/program.ts';
import { captured } from '../cli/captured.ts';
import { newPerson, type Person } from '../operators/people.ts';
import { expectUsable, hasBrowser, heading, launch, visit, withDevice } from '../support/browser.ts';
import { until } from '../support/faults.ts';
import { freePort } from '../support/port.ts';
import { ADMIN_TOKEN, startService, type TestService } from '../support/service.ts';

const RULES = [
  { tool: 'refund', action: 'require_approval', show: 'all', approvers: { count: 2, proof: 'passkey' } },
  { tool: 'pay', action: 'require_approval', show: 'all', approvers: { proof: 'passkey' } },
  { tool: '*', action: 'require_approval', show: 'all' },
] as const;

describe.if(hasBrowser())('approving with a passkey', () => {
  let browser: Browser;
  let service: TestService;
  let key: string;
  let ann: Person;
  let ben: Person;
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-proofs-'));
  beforeAll(async () => {
    const port = String(await freePort());
    const env = { TOOLGATE_PORT: port, TOOLGATE_PUBLIC_URL: `http://localhost:${port}` };
    [browser, service] = await Promise.all([launch(), startService({ env })]);
    key = (await service.newKey(RULES as never, { name: 'support agent' })).key;
    [ann, ben] = [await newPerson(service, 'approver'), await newPerson(service, 'approver')];
  });
  afterAll(async () => {
    await service?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A pending call and the link that was printed for it. */
  async function ask(toolName: string): Promise<{ referenceId: string; link: string }> {
    const { body } = await service.check(key, 'prod', toolName, { args: { amount: 700 } });
    const printed = new RegExp(`Approval needed: prod__${toolName}\\n[^]*?Review +(http\\S+)`);
    await until('the link is printed', () => printed.test(service.output));
    return { referenceId: body.referenceId, link: printed.exec(service.output)?.[1] ?? '' };
  }
  const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
  const approvalOf = async (referenceId: string) =>
    (await service.admin('GET', `/approvals/${referenceId}`)).body;

  async function addPasskey(page: Page): Promise<void> {
    await withDevice(page);
    await page.goto('/dashboard/account');
    await button(page, 'Add a passkey').click();
    await page.getByRole('dialog').getByLabel('Name').fill('Laptop');
    await button(page, 'Go on').click();
    await page
      .getByRole('row', { name: /Laptop/ })
      .getByText(/SHA256:/)
      .waitFor();
    await expectUsable(page);
  }

  test('in the inbox by the button only, behind the link too, and it verifies offline', async () => {
    const [refund, plain] = [await ask('refund'), await ask('look')];
    await visit(browser, service, ann.cookie, async page => {
      await addPasskey(page);
      await page.goto('/dashboard/approvals');
      const card = page.locator(`[data-id="${refund.referenceId}"]`);
      await card.getByText('signs that with their passkey').waitFor();
      await expectUsable(page);
      // Neither the key nor an answer to several approves it.
      await card.focus();
      await page.keyboard.press('a');
      await page.getByText('has to be approved with your passkey. Press its button.').waitFor();
      await button(page, /^Select all/).click();
      await button(page, /^Approve 2…/).click();
      await page.getByRole('dialog').getByText('1 of the selected calls has to be approved').waitFor();
      await expectUsable(page);
      await page.getByRole('dialog').getByRole('button', { name: 'Approve 1 call' }).click();
      await until('the plain one', async () => (await approvalOf(plain.referenceId)).status === 'approved');
      expect((await approvalOf(refund.referenceId)).votes.approved).toEqual([]);
      await card.getByRole('button', { name: /^Approve with passkey/ }).click();
      await card.getByText('You have approved this call').waitFor();
    });
    expect((await approvalOf(refund.referenceId)).votes.approved).toMatchObject([
      { by: `operator:${ann.email}` },
    ]);
    await visit(browser, service, ben.cookie, async page => {
      // Without a passkey, both pages say what to do.
      await page.goto('/dashboard/approvals');
      await button(page, /^Approve with passkey/)
        .first()
        .click();
      const passkeys = page.getByRole('link', { name: 'Your passkeys' });
      expect(await passkeys.getAttribute('href')).toBe('/dashboard/account');
      await page.goto(refund.link);
      await page.getByText('and you have none').waitFor();
      expect(await button(page, /Approve/).count()).toBe(0);
      await expectUsable(page);
      await addPasskey(page);
      await page.goto(refund.link);
      await button(page, 'Approve with passkey').waitFor();
      await expectUsable(page);
      await button(page, 'Approve with passkey').click();
      await heading(page, 'Approved');
    });
    const io = captured(folder, { TOOLGATE_BASE_URL: service.url, TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN });
    await run(['approvals', 'verify', refund.referenceId], io);
    expect([io.code, io.err]).toEqual([null, 'All signatures are good.\n']);
    expect(io.out).toContain('2 people had to approve, and 2 signed.');
    expect(io.out).not.toMatch(/^ {2}bad {3}/m);
  });

  test('a device without the passkey signs nothing, and a denial needs none', async () => {
    const { referenceId, link } = await ask('pay');
    await visit(browser, service, ann.cookie, async page => {
      await withDevice(page);
      await page.goto(`/dashboard/approvals/${referenceId}`);
      await button(page, /^Approve with passkey/).click();
      await page.getByRole('alert').getByText('No passkey was used').waitFor();
      await page.goto(link);
      await button(page, 'Approve with passkey').click();
      await page.getByRole('alert').getByText('No passkey was used, so nothing was decided').waitFor();
      expect((await approvalOf(referenceId)).status).toBe('pending');
      await button(page, 'Deny this call').click();
      await heading(page, 'Denied');
    });
  });
});
