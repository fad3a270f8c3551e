// From a figure to its entries, and from an entry to what it is about, in a real browser: the chart's columns by
// pointer and by keyboard; the policy, the session and the answer of an entry.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import type { Rule } from '../../src/core/policy/policy.ts';
import { newPerson, type Person } from '../operators/people.ts';
import { DARK, expectUsable, hasBrowser, heading, launch, PHONE, visit } from '../support/browser.ts';
import { until } from '../support/faults.ts';
import { startService, type TestService } from '../support/service.ts';

const RULES: Rule[] = [
  { tool: 'ask', action: 'require_approval' },
  { tool: 'no', action: 'deny' },
  { tool: '*', action: 'allow' },
];

describe.if(hasBrowser())('figures and entries', () => {
  let browser: Browser;
  let service: TestService;
  let viewer: Person;
  let approver: Person;
  let agent: { key: string; keyId: string; policyId: string };
  let asked: { toolCallId: string; referenceId: string };
  beforeAll(async () => {
    [browser, service] = await Promise.all([launch(), startService({ engine: 'sqlite' })]);
    viewer = await newPerson(service, 'viewer');
    approver = await newPerson(service, 'approver');
    agent = await service.newKey(RULES, { name: 'agent' });
    const session = (await service.json('POST', '/v1/sessions', agent.key, { label: 'nightly run' })).body;
    asked = (await service.check(session.token, 's', 'ask')).body;
    for (const tool of ['a', 'b', 'c', 'no']) await service.check(agent.key, 's', tool);
    const answer = { action: 'approve', note: 'Go ahead.' };
    const path = `/admin/v1/approvals/${asked.referenceId}/resolve`;
    const headers = { cookie: approver.cookie, origin: service.url, 'content-type': 'application/json' };
    const body = JSON.stringify(answer);
    const response = await fetch(service.url + path, { method: 'POST', headers, body });
    expect(response.status).toBe(200);
  });
  afterAll(() => service?.close());

  const chart = (page: Page) => page.getByRole('group', { name: /^Verdicts over time/ });
  const lists = async (page: Page, ...names: string[]) => {
    await heading(page, 'Audit');
    await until(`${names} are listed`, async () => {
      const listed = await page.getByRole('region', { name: 'Entries' }).locator('.tool').allTextContents();
      return listed.sort().join() === names.join();
    });
  };

  test('a part of a column leads to the verdicts of its decision and time', async () => {
    await visit(browser, service, viewer.cookie, async page => {
      await page.goto('/dashboard');
      await chart(page)
        .getByRole('link', { name: /^1 denied, / })
        .click();
      await heading(page, 'Audit');
      const query = new URL(page.url()).searchParams;
      expect(query.get('decision')).toBe('deny');
      expect(Date.parse(query.get('from') ?? '')).toBeLessThan(Date.now());
      await lists(page, 's__no');
      await page.goBack();
      await chart(page)
        .getByRole('link', { name: /^5 verdicts, / })
        .click({ position: { x: 2, y: 2 } });
      await lists(page, 's__a', 's__ask', 's__b', 's__c', 's__no');
    });
  });

  test('with the keyboard the chart is one stop, in which the arrows move', async () => {
    await visit(browser, service, viewer.cookie, async page => {
      await page.goto('/dashboard');
      await chart(page).waitFor();
      expect(await chart(page).locator('a[tabindex="0"]').count()).toBe(1);
      await chart(page).locator('a[tabindex="0"]').focus();
      const focused = () => page.evaluate("document.activeElement?.getAttribute('aria-label') ?? ''");
      expect(await focused()).toMatch(/^5 verdicts/);
      await page.locator('.legend').getByText('Allowed 3').waitFor();
      for (const [key, label] of [
        ['ArrowUp', /^3 allowed/],
        ['ArrowUp', /^1 waited/],
        ['ArrowUp', /^1 denied/],
        ['ArrowUp', /^1 denied/],
        ['ArrowDown', /^1 waited/],
        ['ArrowLeft', /^5 verdicts/],
        ['ArrowUp', /^3 allowed/],
      ] as const) {
        await page.keyboard.press(key);
        expect(await focused()).toMatch(label);
      }
      await expectUsable(page);
      await page.keyboard.press('Enter');
      await page.waitForURL(url => url.searchParams.get('decision') === 'allow');
      await lists(page, 's__a', 's__b', 's__c');
    });
  });

  for (const [where, options] of [
    ['on a wide screen', {}],
    ['on a phone in the dark', { ...PHONE, ...DARK }],
  ] as const) {
    test(`an entry names its policy and session, and says who answered, ${where}`, async () => {
      await visit(
        browser,
        service,
        viewer.cookie,
        async page => {
          await page.goto(`/dashboard/audit?entry=${asked.toolCallId}`);
          const dialog = page.getByRole('dialog', { name: 'Audit entry' });
          await dialog.getByText('nightly run').waitFor();
          await dialog.getByText('approved', { exact: true }).waitFor();
          await dialog.getByText(approver.email).waitFor();
          await dialog.getByText('Go ahead.').waitFor();
          await expectUsable(page);
          const policy = (await service.admin('GET', `/policies/${agent.policyId}`)).body.name;
          await dialog.getByRole('link', { name: policy, exact: true }).click();
          await heading(page, policy);
          await page.goBack();
          await dialog.getByRole('link', { name: 'open', exact: true }).click();
          await page.waitForURL(`**/dashboard/approvals/${asked.referenceId}`);
        },
        options,
      );
    });
  }

  test('the version of an entry that is not current leads to what has changed since', async () => {
    const { keyId, key, policyId } = await service.newKey(RULES);
    const { toolCallId } = (await service.check(key, 's', 'a')).body;
    expect(keyId).not.toBe(agent.keyId);
    const changed = { name: 'renamed', rules: RULES.slice(1), version: 1 };
    expect((await service.admin('PUT', `/policies/${policyId}`, changed)).status).toBe(200);
    await visit(browser, service, viewer.cookie, async page => {
      await page.goto(`/dashboard/audit?entry=${toolCallId}`);
      await page.getByRole('link', { name: 'version 1' }).click();
      await page.getByRole('dialog', { name: 'From version 1 to version 2' }).waitFor();
    });
  });
});
