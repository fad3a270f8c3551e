// A new policy from a pack, in a real browser: its text goes into the editor, is not saved by itself, can be undone and
// changed, and becomes a policy with its comments.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { PACKS } from '../../src/core/policy-file/packs.ts';
import { newPerson, type Person } from '../operators/people.ts';
import { DARK, expectUsable, hasBrowser, heading, launch, PHONE, visit } from '../support/browser.ts';
import { startService, type TestService } from '../support/service.ts';

const SLACK = PACKS.find(pack => pack.name === 'slack');

describe.if(hasBrowser())('packs', () => {
  let browser: Browser;
  let service: TestService;
  let admin: Person;
  beforeAll(async () => {
    [browser, service] = await Promise.all([launch(), startService()]);
    admin = await newPerson(service, 'admin');
  });
  afterAll(async () => {
    await service?.close();
  });

  const choice = (page: Page) => page.getByLabel('Start from a pack');
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const policyNames = async (): Promise<string[]> =>
    (await service.admin('GET', '/policies')).body.policies.map((each: { name: string }) => each.name);

  test.each([
    ['wide', {}],
    ['on a phone, in the dark', { ...PHONE, ...DARK }],
  ])('a pack is looked at and taken, %s', async (_, options) => {
    await visit(
      browser,
      service,
      admin.cookie,
      async page => {
        await page.goto('/dashboard/policies/new');
        await heading(page, 'New policy');
        expect(await button(page, 'Use its text').isDisabled()).toBe(true);
        await choice(page).selectOption('github');
        await page.getByText('Repositories are not deleted').waitFor();
        // Looking at a pack changes nothing.
        expect(await page.getByLabel('Name').inputValue()).toBe('');
        await expectUsable(page);
        await button(page, 'Use its text').click();
        await page.getByText('The text below says it; change it there.').first().waitFor();
        expect(await page.getByLabel('Name').inputValue()).toBe('github');
        await page.getByText('No problems found.').waitFor();
        await expectUsable(page);
        expect(await policyNames()).not.toContain('github');
      },
      options,
    );
  });

  test('a pack for a folder asks for it, and the folder of its example is not saved', async () => {
    await visit(browser, service, admin.cookie, async page => {
      await page.goto('/dashboard/policies/new');
      await choice(page).selectOption('coding');
      await button(page, 'Use its text').click();
      await page.getByRole('alert').getByText('The folder must be an absolute path').waitFor();
      await page.getByLabel('Folder of the project').fill('/home/ann/app');
      await button(page, 'Use its text').click();
      const editor = page.locator('.cm-content');
      await editor.getByText('/home/ann/app').first().waitFor();
      await expectUsable(page);
      await editor.click();
      await page.keyboard.press('ControlOrMeta+a');
      await page.keyboard.insertText(PACKS.find(pack => pack.name === 'coding')?.text ?? '');
      await page.getByText('The text below says it; change it there.').first().waitFor();
      await button(page, 'Create the policy').click();
      await page.getByRole('alert').getByText('stands for your own folder').waitFor();
    });
    expect(await policyNames()).not.toContain('coding');
  });

  test('a new key for a coding agent gets a policy for its folder', async () => {
    await visit(browser, service, admin.cookie, async page => {
      await page.goto('/dashboard/keys?new');
      const dialog = page.getByRole('dialog', { name: 'New key' });
      await dialog.getByLabel('Name').fill('claude');
      await dialog.getByLabel('Policy').selectOption('coding');
      await dialog.getByLabel('Folder of the project').fill('~/my app');
      await button(page, 'Create the key').click();
      await dialog.getByRole('alert').getByText('The folder must be an absolute path').waitFor();
      await expectUsable(page);
      await dialog.getByLabel('Folder of the project').fill('/home/ann/my app');
      await button(page, 'Create the key').click();
      await button(page, 'I have stored it').click();
      await page.getByRole('link', { name: 'coding my app' }).waitFor();
    });
    const { policies } = (await service.admin('GET', '/policies')).body;
    const { id } = policies.find((each: { name: string }) => each.name === 'coding my app');
    const { text } = (await service.admin('GET', `/policies/${id}`)).body;
    expect(text).toContain('"/home/ann/my app"');
    expect(text).not.toContain('/srv/project');
  });

  test('undo brings back what was written before; the policy that is created has the text of the pack', async () => {
    await visit(browser, service, admin.cookie, async page => {
      await page.goto('/dashboard/policies/new');
      await heading(page, 'New policy');
      const editor = page.locator('.cm-content');
      await editor.click();
      await page.keyboard.press('ControlOrMeta+a');
      await page.keyboard.insertText('- { tool: "mine__*", action: allow }\n');
      await choice(page).selectOption('slack');
      await button(page, 'Use its text').click();
      await editor.getByText('Slack, for agents').waitFor();
      await editor.click();
      await page.keyboard.press('ControlOrMeta+z');
      await editor.getByText('mine__*').waitFor();
      await button(page, 'Use its text').click();
      await editor.getByText('Slack, for agents').waitFor();
      await page.getByLabel('Try a tool').fill('slack__users_search');
      await page.locator('.tried').getByText('allows slack__users_search').waitFor();
      await button(page, 'Create the policy').click();
      await heading(page, 'slack');
    });
    const { policies } = (await service.admin('GET', '/policies')).body;
    const { id } = policies.find((each: { name: string }) => each.name === 'slack');
    expect((await service.admin('GET', `/policies/${id}`)).body.text).toBe(SLACK?.text as string);
  });
});
