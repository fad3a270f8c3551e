// Single sign-on with a real browser: from an approval's link through the provider's own pages to the decision.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { hasBrowser, launch, violationsOf } from '../support/browser.ts';
import { until } from '../support/faults.ts';
import { openSignOns, type SignOns } from './sign-on.ts';

test.if(hasBrowser())('a link is decided after signing in with the provider', async () => {
  const door = await openSignOns();
  const context = await (await launch()).newContext();
  try {
    const page = await context.newPage();
    const refused: string[] = [];
    page.on('console', message => {
      const own = page.url().startsWith(door.service.url);
      if (own && /content security policy/i.test(message.text())) refused.push(message.text());
    });
    await decide(door, page);
    expect(refused).toEqual([]);
    expect(await page.evaluate('document.cookie')).toBe('');
  } finally {
    await context.close();
    await door.close();
  }
});

async function decide(door: SignOns, page: Page): Promise<void> {
  const { login, email } = door.person({ groups: ['on-call'] });
  const rules = [{ tool: '*', action: 'require_approval' as const }];
  const { key } = await door.service.newKey(rules, { requireSignInToApprove: true });
  const { referenceId } = (await door.service.check(key, 'prod', 'deploy')).body;
  const link = () => /http:\S+\/v1\/approve\/\w+\?action=approve/.exec(door.service.output)?.[0];
  await until('the link is shown', () => link() !== undefined);
  await page.goto(link() ?? '');
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole('link', { name: 'Sign in with 127.0.0.1' }).click();
  await page.locator('input[name=login]').fill(login);
  await page.locator('input[name=password]').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { name: 'Approved', exact: true }).waitFor();
  const { approvals } = (await door.service.admin('GET', '/approvals')).body;
  const decided = approvals.find((each: { referenceId: string }) => each.referenceId === referenceId);
  expect(decided).toMatchObject({ status: 'approved', resolvedBy: `operator:${email}` });
}
