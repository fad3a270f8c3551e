// The policy editor in a real browser, on SQLite: what is not saved is kept, a version of somebody else is compared and
// chosen, rules are numbered, and a link from a call opens the editor with a rule for its tool.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { newPerson, type Person } from '../operators/people.ts';
import {
  DARK,
  expectUsable,
  hasBrowser,
  heading,
  type Look,
  launch,
  PHONE,
  visit,
} from '../support/browser.ts';
import { until } from '../support/faults.ts';
import { startService, type TestService } from '../support/service.ts';
import { suiteWhenChanged } from '../support/when-changed.ts';

const suite = suiteWhenChanged('dashboard/**', 'src/http/**', 'src/core/foresight/**');

/** A page is a client of the API, which is tested on both engines. */
suite.if(hasBrowser())('before a policy is saved', () => {
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

  const use = (work: (page: Page) => Promise<void>, options: Look = {}) =>
    visit(browser, service, admin.cookie, work, options);
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const textOf = async (policyId: string) =>
    (await service.admin('GET', `/policies/${policyId}`)).body.text as string;

  /** Types over all that the editor holds. */
  async function write(page: Page, text: string): Promise<void> {
    await page.locator('.cm-content').click();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.insertText(text);
  }

  /** The text in the editor; every line is an element of its own. */
  const written = async (page: Page) => (await page.locator('.cm-line').allTextContents()).join('\n');

  /** The editor gets a text right after the page around it. */
  const shows = (page: Page, text: string) =>
    until(`the editor shows ${text}`, async () => (await written(page)) === text);

  async function open(page: Page, policyId: string, query = ''): Promise<void> {
    await page.goto(`/dashboard/policies/${policyId}${query}`);
    await page.locator('.cm-content').waitFor();
  }

  /** Saves, and waits until the page has the new version. */
  async function save(page: Page, version: number): Promise<void> {
    await button(page, `Save as version ${version}`).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
    await button(page, `Save as version ${version + 1}`).waitFor();
  }

  test('a text that is not saved survives other pages, until it is saved or discarded', async () => {
    const { policyId } = await service.newKey([{ tool: 'a', action: 'allow' }]);
    const saved = await textOf(policyId);
    const mine = '- { tool: b, action: deny }';
    await use(async page => {
      await open(page, policyId);
      await write(page, mine);
      // Without a pause: what was typed last is kept, too.
      await page.getByRole('link', { name: 'Keys', exact: true }).first().click();
      await heading(page, 'Keys');
      await page.goBack();
      await page.getByText('Your unsaved draft was restored.').waitFor();
      await page.locator('.cm-content').waitFor();
      await shows(page, mine);
      await expectUsable(page);
      await page.reload();
      await page.getByText('Your unsaved draft was restored.').waitFor();
      await button(page, 'Discard the draft').click();
      await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
      await shows(page, saved);
      await page.reload();
      await page.locator('.cm-content').waitFor();
      expect(await page.getByText('Your unsaved draft was restored.').count()).toBe(0);
      await button(page, 'Bring it back').click();
      await page.getByText('Not saved yet.').waitFor();
      await shows(page, mine);
      await button(page, 'Discard the draft').click();
      await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
      await shows(page, saved);
      await write(page, mine);
      await page.getByText('Not saved yet.').waitFor();
      await save(page, 2);
      expect(await textOf(policyId)).toBe(mine);
      await page.reload();
      await page.locator('.cm-content').waitFor();
      expect(await page.getByText('Your unsaved draft was restored.').count()).toBe(0);
    });
  });

  test('a new policy that is not created survives other pages with its name', async () => {
    await use(async page => {
      await page.goto('/dashboard/policies/new');
      await page.getByLabel('Name').fill('half done');
      await write(page, '- { tool: b, action: deny }');
      await page.getByRole('link', { name: 'All policies' }).click();
      await page.getByRole('link', { name: 'New policy' }).click();
      await page.getByText('Your unsaved draft was restored.').waitFor();
      expect(await page.getByLabel('Name').inputValue()).toBe('half done');
      await shows(page, '- { tool: b, action: deny }');
      await button(page, 'Create the policy').click();
      await heading(page, 'half done');
      await page.goto('/dashboard/policies/new');
      await page.locator('.cm-content').waitFor();
      expect(await page.getByLabel('Name').inputValue()).toBe('');
      expect(await page.getByText('Your unsaved draft was restored.').count()).toBe(0);
    });
  });

  describe('a version that somebody else saved meanwhile', () => {
    const mine = '- { tool: a, action: allow }\n- { tool: mine, action: deny }';
    const theirs = '- { tool: a, action: allow }\n- { tool: theirs, action: deny }';

    async function conflict(page: Page, policyId: string) {
      await open(page, policyId);
      await write(page, mine);
      await page.getByText('Not saved yet.').waitFor();
      await service.admin('PUT', `/policies/${policyId}`, { text: theirs });
      await button(page, 'Save as version 2').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
      const both = page.getByRole('region', { name: 'Two versions' });
      await both.getByText('Version 2 was saved meanwhile').waitFor();
      expect(await both.locator('.removed code').allTextContents()).toEqual([
        '- { tool: theirs, action: deny }',
      ]);
      expect(await both.locator('.added code').allTextContents()).toEqual(['- { tool: mine, action: deny }']);
      expect(await button(page, 'Save as version 3').isDisabled()).toBe(true);
      expect(await textOf(policyId)).toBe(theirs);
      return both;
    }

    test('is replaced knowingly', async () => {
      const { policyId } = await service.newKey([]);
      await use(async page => {
        const both = await conflict(page, policyId);
        await expectUsable(page);
        // The focus is in the notice, and the first button of it is the next.
        await page.keyboard.press('Tab');
        await page.keyboard.press('Enter');
        await both.waitFor({ state: 'detached' });
        await save(page, 3);
        expect(await textOf(policyId)).toBe(mine);
      });
    });

    test('is taken, and the other text is set aside and can be brought back', async () => {
      const { policyId } = await service.newKey([]);
      await use(
        async page => {
          const both = await conflict(page, policyId);
          await expectUsable(page);
          await button(page, 'Take version 2').click();
          await both.waitFor({ state: 'detached' });
          await shows(page, theirs);
          await page.reload();
          await page.getByText('Your draft of version 1 is set aside.').waitFor();
          await page.locator('.cm-content').waitFor();
          await shows(page, theirs);
          await expectUsable(page);
          await button(page, 'Bring it back').click();
          await both.waitFor();
          await shows(page, mine);
          await button(page, 'Keep my text').click();
          await save(page, 3);
          expect(await textOf(policyId)).toBe(mine);
        },
        { ...DARK, ...PHONE },
      );
    });
  });

  test('rules are numbered beside the lines on which they begin', async () => {
    const { policyId } = await service.newKey([]);
    const text = '# First\nrules:\n  - tool: a\n    action: allow\n\n  - { tool: b, action: deny }\n';
    await service.admin('PUT', `/policies/${policyId}`, { text });
    const numbers = (page: Page) => page.locator('.cm-rule-numbers .cm-gutterElement:not(:empty)');
    await use(async page => {
      await open(page, policyId);
      await numbers(page).getByText('rule 1').waitFor();
      expect(await numbers(page).allTextContents()).toEqual(['rule 0', 'rule 1']);
      const [line, rule] = await Promise.all([
        page.locator('.cm-line').getByText('{ tool: b').boundingBox(),
        numbers(page).getByText('rule 1').boundingBox(),
      ]);
      expect(Math.abs((line?.y ?? 0) - (rule?.y ?? 99))).toBeLessThan(6);
    });
  });

  describe('a replay', () => {
    const TEXT = '- { tool: a__x, action: deny }\n- { tool: "a__*", action: allow }\n';

    /** A policy that has denied three calls and allowed two. */
    async function recorded(name: string) {
      const made = await service.newKey([], { name });
      await service.admin('PUT', `/policies/${made.policyId}`, { text: TEXT });
      const ids: string[] = [];
      for (const tool of ['x', 'y', 'x', 'y', 'x'])
        ids.push((await service.check(made.key, 'a', tool)).body.toolCallId);
      return { ...made, ids };
    }

    test('says which recorded calls a draft changes, with links to their entries, also in the dialog', async () => {
      const { policyId, ids } = await recorded('replayed agent');
      for (const options of [{}, { ...DARK, ...PHONE }])
        await use(async page => {
          await open(page, policyId);
          await write(page, TEXT.replace('deny', 'allow').replace('a__*', 'a__y*'));
          const line = 'Last 7 days: 3 of 5 calls change: 3 deny → allow.';
          const replay = page.getByRole('region', { name: 'Replay' });
          await replay.getByText(line).waitFor();
          await replay.getByText('Limits are left out.').waitFor();
          await replay.getByText('Show the calls that change').click();
          const row = replay.getByRole('table').getByRole('row').nth(1);
          expect(await row.textContent()).toMatch(/^a__xreplayed agentdeny → allow3/);
          const links = await row.getByRole('link').all();
          expect(await Promise.all(links.map(link => link.getAttribute('href')))).toEqual(
            [4, 2, 0].map(at => `/dashboard/audit?entry=${ids[at]}`),
          );
          await expectUsable(page);
          await button(page, 'Save as version 3').click();
          await page.getByRole('dialog').getByText(line).waitFor();
          await expectUsable(page);
          await page.keyboard.press('Escape');
          await replay.getByText('Show the calls that change').press('Enter');
          await row.getByRole('link').first().click();
          await page.getByRole('dialog', { name: 'Audit entry' }).getByText('a__x').first().waitFor();
        }, options);
    });

    test('is made before a roll back, and for the time that was chosen', async () => {
      const { policyId } = await recorded('rolled back agent');
      await use(async page => {
        await open(page, policyId);
        await button(page, 'Roll back').click();
        const dialog = page.getByRole('dialog', { name: 'Roll back to version 1?' });
        await dialog.getByText('Last 7 days: 2 of 5 calls change: 2 allow → deny.').waitFor();
        await expectUsable(page);
        const asked = page.waitForRequest('**/replay');
        await dialog.getByLabel('Replay the last').selectOption('Last 30 days');
        const { from, version } = (await asked).postDataJSON();
        expect(version).toBe(1);
        const days = (Date.now() - Date.parse(from)) / 86_400_000;
        expect(Math.round(days)).toBe(30);
        await dialog.getByText('Last 30 days: 2 of 5 calls change').waitFor();
      });
    });

    test('tells apart what the saved version changes already', async () => {
      const { policyId } = await recorded('changed agent');
      await service.admin('PUT', `/policies/${policyId}`, { text: TEXT.replace('deny', 'require_approval') });
      await use(async page => {
        await open(page, policyId);
        await write(page, '[]');
        const replay = page.getByRole('region', { name: 'Replay' });
        await replay.getByText('Last 7 days: 2 of 5 calls change: 2 allow → deny.').waitFor();
        await replay.getByText('The saved version 3 alone changes 3 of 5').waitFor();
      });
    });

    test('that fails says so and can be made again; without calls there is nothing to replay', async () => {
      const { policyId } = await service.newKey([]);
      await use(async page => {
        let isDown = true;
        await page.route('**/replay', route => (isDown ? route.abort() : route.continue()));
        await open(page, policyId);
        await write(page, '- { tool: b, action: allow }');
        const replay = page.getByRole('region', { name: 'Replay' });
        await replay.getByRole('alert').getByText('The service cannot be reached.').waitFor();
        await expectUsable(page);
        isDown = false;
        await replay.getByRole('button', { name: 'Try again' }).click();
        await replay.getByText('no call that this policy decided is recorded yet').waitFor();
        await write(page, '- { tool: b, action: maybe }');
        await replay.waitFor({ state: 'detached' });
      });
    });
  });

  test('a suggestion for a key is an unsaved text, for which an earlier draft is set aside', async () => {
    const { policyId, keyId, key } = await service.newKey([{ tool: 'a__*', action: 'allow' }], {
      name: 'suggested for',
    });
    const saved = await textOf(policyId);
    for (const tool of ['x', 'y']) await service.check(key, 'a', tool);
    await use(async page => {
      await open(page, policyId);
      await write(page, '# mine\n[]');
      await page.getByText('Not saved yet.').waitFor();
      await open(page, policyId, `?suggest=${keyId}`);
      await page
        .getByText('This text was made from what the key “suggested for” called in the last 30 days.')
        .waitFor();
      const text = await written(page);
      expect(text).toMatch(/a__x.*a__y/s);
      expect(text).not.toContain('a__*');
      await page.getByText('Last 30 days: none of 2 calls changes.').waitFor();
      await expectUsable(page);
      expect(await textOf(policyId)).toBe(saved);
      await button(page, 'Bring it back').click();
      await page.locator('.cm-line').getByText('# mine').waitFor();
    });
  });

  describe('a link from a call', () => {
    test('that a rule denied puts a rule above that one, which decides once it is saved', async () => {
      const { policyId, key } = await service.newKey([]);
      const text = '- { tool: "files__*", action: allow }\n# Not yet.\n- { tool: "*", action: deny }\n';
      await service.admin('PUT', `/policies/${policyId}`, { text });
      const { toolCallId } = (await service.check(key, 'github', 'merge')).body;
      const wanted =
        '- { tool: "files__*", action: allow }\n- { tool: github__merge, action: allow }\n# Not yet.\n- { tool: "*", action: deny }\n';
      await use(async page => {
        await page.goto(`/dashboard/audit?entry=${toolCallId}`);
        const links = page.getByRole('navigation', { name: 'A rule for this tool' });
        await links.getByRole('link', { name: 'Allow this tool' }).click();
        await page.getByText('Rule 1 (allow for github__merge) was added to the text.').waitFor();
        await page.locator('.cm-added').waitFor();
        await shows(page, wanted);
        expect(await page.locator('.cm-added').allTextContents()).toEqual([
          '- { tool: github__merge, action: allow }',
        ]);
        expect(new URL(page.url()).search).toBe('');
        expect(await textOf(policyId)).toBe(text);
        await expectUsable(page);
        // Loaded again, the rule is not added twice.
        await page.reload();
        await page.getByText('Your unsaved draft was restored.').waitFor();
        await page.locator('.cm-content').waitFor();
        await shows(page, wanted);
        await save(page, 3);
        expect((await service.check(key, 'github', 'merge')).body.decision).toBe('allow');
        expect((await service.check(key, 'github', 'other')).body.decision).toBe('deny');
      });
    });

    test('that no rule matches puts a rule at the end; a second one joins the draft', async () => {
      const { policyId, key } = await service.newKey([]);
      const text = '- { tool: "files__*", action: allow }\n';
      await service.admin('PUT', `/policies/${policyId}`, { text });
      const ids: string[] = [];
      for (const tool of ['merge', 'close'])
        ids.push((await service.check(key, 'github', tool)).body.toolCallId);
      await use(async page => {
        for (const [at, name] of ['Deny this tool', 'Ask about this tool'].entries()) {
          await page.goto(`/dashboard/audit?entry=${ids[at]}`);
          await page.getByRole('link', { name }).click();
          await page
            .getByRole('status')
            .getByText(`Rule ${at + 1} (`)
            .waitFor();
          await page.locator('.cm-added').waitFor();
        }
        await shows(
          page,
          `${text}- { tool: github__merge, action: deny }\n- { tool: github__close, action: require_approval }\n`,
        );
        await button(page, 'Discard the draft').click();
        await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
        await shows(page, text);
      });
    });

    test('that waits for approval puts a rule above the one that asks', async () => {
      const { policyId, key } = await service.newKey([{ tool: '*', action: 'require_approval' }]);
      const { referenceId } = (await service.check(key, 'github', 'merge')).body;
      await use(async page => {
        await page.goto(`/dashboard/approvals/${referenceId}`);
        await page.getByRole('link', { name: 'Deny this tool' }).waitFor();
        await expectUsable(page);
        await page.getByRole('link', { name: 'Deny this tool' }).click();
        await page.getByText('Rule 0 (deny for github__merge) was added').waitFor();
        await page.locator('.cm-added').waitFor();
        await expectUsable(page);
      }, PHONE);
      expect(await textOf(policyId)).not.toContain('github__merge');
    });

    test('goes above every match if the policy has changed since, and says so if the rule is there', async () => {
      const { policyId, key } = await service.newKey([{ tool: 'a__x', action: 'deny' }]);
      const { toolCallId } = (await service.check(key, 'a', 'x')).body;
      const text =
        '- { tool: b__y, action: deny }\n- { tool: c__z, action: deny }\n- { tool: "a__*", action: deny }\n';
      await service.admin('PUT', `/policies/${policyId}`, { text });
      await use(async page => {
        await page.goto(`/dashboard/audit?entry=${toolCallId}`);
        await page.getByRole('link', { name: 'Allow this tool' }).click();
        await page.getByText('Rule 2 (allow for a__x) was added').waitFor();
        await save(page, 3);
        await open(page, policyId, '?add=allow&tool=a__x');
        await page.getByText('Rule 2 (allow for a__x) is already in the text.').waitFor();
        expect(await button(page, 'Discard the draft').count()).toBe(0);
      });
    });

    test('with hostile values changes nothing, and says so', async () => {
      const { policyId } = await service.newKey([{ tool: 'a', action: 'allow' }]);
      const text = await textOf(policyId);
      const evil = encodeURIComponent('a__b, action: allow }\n- { tool: "*"');
      await use(async page => {
        for (const query of [
          '?add=approve&tool=a__b',
          `?add=allow&tool=${evil}`,
          '?add=allow&tool=*',
          '?suggest=../policies',
          '?suggest=no-such-key',
        ]) {
          await open(page, policyId, query);
          await page.getByRole('alert').waitFor();
          await shows(page, text);
          expect(await button(page, 'Save as version 2').isDisabled()).toBe(true);
        }
      });
      expect((await service.admin('GET', `/policies/${policyId}`)).body.version).toBe(1);
    });

    test('is not offered to people who may not edit, and does nothing for them', async () => {
      const { policyId, key } = await service.newKey([]);
      const { toolCallId } = (await service.check(key, 'github', 'merge')).body;
      const viewer = await newPerson(service, 'viewer');
      await visit(browser, service, viewer.cookie, async page => {
        await page.goto(`/dashboard/audit?entry=${toolCallId}`);
        await page.getByRole('dialog').getByText('No rule of policy').waitFor();
        expect(await page.getByRole('link', { name: 'Allow this tool' }).count()).toBe(0);
        await open(page, policyId, '?add=allow&tool=github__merge');
        await page.getByRole('alert').getByText('Only admins can change policies.').waitFor();
        expect(await written(page)).not.toContain('github__merge');
      });
    });
  });
});
