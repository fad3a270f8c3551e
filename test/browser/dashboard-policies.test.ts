// Policies and keys in a real browser: rules written with a mistake and mended, calls tried, a key made
// and used, versions compared and rolled back, limits reset, a key revoked; Connected Tools with what changed.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { newPerson, type Person } from '../operators/people.ts';
import { DARK, expectUsable, hasBrowser, heading, launch, PHONE, visit } from '../support/browser.ts';
import { RecordingUpstream } from '../support/mcp.ts';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

const POLICY = `# Tried by hand.
name: tried
limits:
  pays: { sum: args.amount, atMost: 100, each: day }
rules:
  - { tool: a__pay, action: allow, when: ['args.amount < 50'], limit: pays, during: mon-fri }
  - { tool: a__pay, action: require_approval, show: all, ask: 'Pay {amount}?' }
`;

/** A page is a client of the API, which is tested on both engines. */
const engineNames = (await enginesWhenChanged('src/store/**')).slice(-1);

describe.if(hasBrowser()).each(engineNames)('policies and keys on %s', engine => {
  let browser: Browser;
  let service: TestService;
  let admin: Person;
  beforeAll(async () => {
    [browser, service] = await Promise.all([launch(), startService({ engine })]);
    admin = await newPerson(service, 'admin');
  });
  afterAll(async () => {
    await service?.close();
  });

  const use = (work: (page: Page) => Promise<void>, options = {}) =>
    visit(browser, service, admin.cookie, work, options);
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

  /** Types over all that the editor holds. */
  async function write(page: Page, text: string): Promise<void> {
    await page.locator('.cm-content').click();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.insertText(text);
  }

  async function tryTool(page: Page, tool: string): Promise<string> {
    await page.getByLabel('Try a tool').fill(tool);
    return (await page.locator('.tried').textContent()) ?? '';
  }

  test('a policy is written, a mistake is shown where it is and mended, and the new key is checked by it', async () => {
    await use(async page => {
      await page.goto('/dashboard/policies');
      await page.getByRole('link', { name: 'New policy' }).click();
      await heading(page, 'New policy');
      await page.getByLabel('Name').fill('made by hand');
      await write(page, '- { tool: "mail__*", action: allow }\n- { tool: "files__*", action: maybe }\n');
      const problem = page.getByRole('list', { name: 'Problems' }).getByRole('listitem');
      expect(await problem.textContent()).toContain(
        'Line 2, column 31 error: "action" must be one of allow, deny, require_approval',
      );
      await page.locator('.cm-lintRange-error').first().waitFor();
      expect(await tryTool(page, 'mail__send')).toBe('Fix the errors first.');
      expect(await button(page, 'Create the policy').isDisabled()).toBe(true);
      await expectUsable(page);
      await write(page, '- { tool: "mail__*", action: allow }\n- { tool: "files__*", action: deny }\n');
      await page.getByText('No problems found.').waitFor();
      expect(await tryTool(page, 'files__read')).toContain(
        'Rule 1 of policy "made by hand" denies files__read.',
      );
      expect(await tryTool(page, 'other__tool')).toContain('No rule of policy');
      expect(await tryTool(page, 'evil__mail__send')).toContain('No rule of policy');
      await button(page, 'Create the policy').click();
      await heading(page, 'made by hand');
    });
    await use(async page => {
      await page.goto('/dashboard/keys?new');
      const dialog = page.getByRole('dialog', { name: 'New key' });
      await dialog.getByLabel('Name').fill('hand-made');
      await dialog.getByLabel('Policy').selectOption('made by hand');
      await expectUsable(page);
      await button(page, 'Create the key').click();
      const once = page.getByRole('dialog', { name: 'Your new key' });
      const key = (await once.locator('.secret code').textContent()) ?? '';
      expect(key).toStartWith('tg_key_');
      await once.getByText('Waiting for the first call…').waitFor();
      for (const name of ['Codex', 'Goose', 'Claude Code']) {
        await once.getByRole('tab', { name }).click();
        await once.getByText('Or by hand').click();
        await once.getByText(key).last().waitFor();
        await expectUsable(page);
      }
      await once.getByRole('tab', { name: 'Claude Code' }).press('ArrowRight');
      expect(await once.getByRole('tabpanel').getAttribute('aria-labelledby')).toEndWith('codex');
      expect((await service.check(key, 'mail', 'send')).body.decision).toBe('allow');
      await once.getByText('The first call arrived: mail__send').waitFor();
      expect((await service.check(key, 'files', 'read')).body.decision).toBe('deny');
      await button(page, 'I have stored it').click();
      await heading(page, 'hand-made');
      expect(await page.content()).not.toContain(key);
      await button(page, 'Change').click();
      const change = page.getByRole('dialog', { name: 'Change the key' });
      await change.getByLabel('Name').fill('hand-mended');
      await change.getByLabel('Approval links go by').selectOption('Channels of this key');
      await change.getByLabel('E-mail to').fill('a@example.com, b@example.com');
      await change.getByLabel('prompts').check();
      await change.getByLabel('A call that waits is a task').uncheck();
      await change.getByLabel('Approve at the client').check();
      await expectUsable(page);
      await change.getByRole('button', { name: 'Save' }).click();
      await heading(page, 'hand-mended');
      await page.getByText('to a@example.com, b@example.com').waitFor();
      await page.getByText('no tasks; the person there is sent to the approval').waitFor();
      await button(page, 'Change').click();
      await change.getByLabel('Approval links go by').selectOption('Channels by name');
      await change.getByLabel('default').check();
      await expectUsable(page);
      await change.getByRole('button', { name: 'Save' }).click();
      await page.getByText('by default').waitFor();
      await button(page, 'Revoke').click();
      expect((await service.check(key, 'mail', 'send')).status).toBe(200);
      await page
        .getByRole('dialog', { name: 'Revoke this key?' })
        .getByRole('button', { name: 'Revoke' })
        .click();
      await page.getByText('revoked', { exact: true }).waitFor();
      expect((await service.check(key, 'mail', 'send')).status).toBe(401);
    });
  });

  test('a change is a new version; versions are compared and rolled back; who uses it is shown', async () => {
    const { policyId, policyName, key } = await service.newKey([{ tool: 'a', action: 'allow' }], {
      name: 'its user',
    });
    await use(async page => {
      await page.goto(`/dashboard/policies/${policyId}`);
      await heading(page, policyName);
      await page.getByRole('link', { name: 'its user' }).waitFor();
      const text = '# why\n- { tool: a, action: deny, reason: "not today" } # until Monday\n';
      await write(page, text);
      const save = button(page, 'Save as version 2');
      await page.getByText('Not saved yet.').waitFor();
      // What is typed right before the click is saved too.
      await page.keyboard.insertText('# the end');
      await save.click({ force: true });
      const last = page.getByRole('dialog', { name: 'Save as version 2?' });
      await expectUsable(page);
      await last.getByRole('button', { name: 'Save', exact: true }).click();
      await button(page, 'Save as version 3').waitFor();
      await page
        .getByRole('table', { name: 'Versions' })
        .getByRole('cell', { name: '2', exact: true })
        .waitFor();
      expect((await service.check(key, 's', 'a')).body).toMatchObject({
        decision: 'deny',
        reason: 'not today',
      });
      expect((await service.admin('GET', `/policies/${policyId}`)).body.text).toBe(`${text}# the end`);
      expect(await page.locator('.cm-content').textContent()).toContain('# until Monday');
      await page.getByRole('link', { name: 'Compare' }).click();
      const dialog = page.getByRole('dialog', { name: 'From version 1 to version 2' });
      await dialog.locator('.removed').getByText('{ tool: "a", action: allow }').waitFor();
      await dialog.locator('.added').getByText('not today').waitFor();
      await expectUsable(page);
      await page.keyboard.press('Escape');
      await button(page, 'Roll back').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
      await button(page, 'Save as version 4').waitFor();
      expect((await service.check(key, 's', 'a')).body.decision).toBe('allow');
    });
  });

  test('a typo in a condition is underlined; conditions are completed and tried with arguments', async () => {
    await use(async page => {
      await page.goto('/dashboard/policies/new');
      const typo = "- { tool: a__pay, action: allow, when: 'arg.amount < 50' }\n";
      await write(page, typo);
      await page.getByText(/^Line 1, column 41 error: .*unknown variable "arg"/).waitFor();
      expect(await page.locator('.cm-lintRange-error').textContent()).toBe('arg.amount');
      await write(page, POLICY);
      await page.getByText('No problems found.').waitFor();
      expect(await page.getByLabel('Name').inputValue()).toBe('tried');
      expect(await page.locator('.cm-condition-name').first().textContent()).toBe('args');
      const sentence = page.locator('.tried');
      await page.getByText('Key, session, person, time, limits and what the run has met').click();
      await page.getByLabel('Time').fill('2026-06-03T12:00');
      await page.getByLabel('Try a tool').fill('a__pay');
      await sentence.getByText('Depends on arguments.').waitFor();
      await page.getByLabel('Arguments').fill('{ "amount": 60');
      await sentence.getByText('The arguments cannot be read. Not valid JSON').waitFor();
      await page.getByLabel('Arguments').fill('{ "amount": 60 }');
      await sentence.getByText('Rule 1 of policy "tried" requires approval for a__pay.').waitFor();
      const steps = page.getByRole('list', { name: 'Rules that match the tool' }).locator('> li');
      expect(await steps.first().textContent()).toMatch(/a__pay → allow.*false.*args.amount is 60/);
      expect(await steps.last().textContent()).toContain('decides');
      const seen = page.getByRole('region', { name: 'What approvers see' });
      expect(await seen.textContent()).toBe('Approvers see:Pay 60?amount60');
      await page.getByLabel('Arguments').fill('{ "amount": 40 }');
      await sentence.getByText('Rule 0 of policy "tried" allows a__pay.').waitFor();
      await page.getByLabel('Used of pays').fill('80');
      await sentence.getByText('its limit "pays" is used up (100 each day per key)').waitFor();
      await page.getByLabel('Time').fill('2026-06-06T12:00');
      await sentence.getByText('Rule 0 did not apply: it is outside its hours.').waitFor();
      await expectUsable(page);
      await write(page, '- { tool: a, action: allow, when: ');
      for (const [typed, offered] of [
        ['a', /^args$/],
        ['rgs.to.cont', /^contains\(part\)/],
      ] as const) {
        await page.keyboard.type(typed);
        await page.locator('.cm-tooltip-autocomplete li').getByText(offered).first().waitFor();
      }
      await expectUsable(page);
      await page.keyboard.press('Enter');
      await page.locator('.cm-content').getByText('when: args.to.contains()').waitFor();
    });
  });

  test('a result is tried: what is hidden stands out, a withheld one says why, and errors are where they are', async () => {
    const policy = (results: string) =>
      `name: guarded\nrules:\n  - { tool: mail__*, action: deny }\n  - { tool: crm__*, action: allow, when: '!("private" in marks)' }\nresults:\n${results}`;
    const entries = `  - { tool: crm__*, hide: [email, { pattern: 'KD-[0-9]+', as: customer }], marks: private }
  - { tool: crm__payroll, withhold: true, reason: Ask a person for the payroll. }
  - { tool: crm__log, atMost: 40B }
`;
    for (const look of [{}, { ...PHONE, ...DARK }])
      await use(async page => {
        await page.goto('/dashboard/policies/new');
        await write(page, policy('  - { tool: crm__*, hide: emial }\n'));
        await page.getByText(/^Line 6, column 27 error: .*Did you mean "email"/).waitFor();
        expect(await page.locator('.cm-lintRange-error').textContent()).toBe('emial');
        await write(page, policy(entries));
        await page.getByText('No problems found.').waitFor();
        await page.getByLabel('Try a tool').fill('crm__get');
        await page
          .getByLabel('Result')
          .fill('KD-17 writes to ann@example.com\nand <b>[hidden: iban]</b>\u202e');
        const gets = page.getByRole('region', { name: 'What the agent gets' });
        await gets.getByText('hidden: 1 customer, 1 email').waitFor();
        expect(await gets.locator('pre').textContent()).toBe(
          '[hidden: customer] writes to [hidden: email]\nand <b>[hidden: iban]</b>\\u{202E}',
        );
        expect(await gets.locator('mark').allTextContents()).toEqual([
          '[hidden: customer]',
          '[hidden: email]',
        ]);
        await gets.getByText('The run is marked: private.').waitFor();
        await expectUsable(page);
        await page.getByLabel('Try a tool').fill('crm__log');
        await gets.getByText('hidden: 1 customer, 1 email; cut').waitFor();
        await page.getByLabel('Result').fill('{"structuredContent":{"KD-17":1}}');
        await gets.getByText('withheld').waitFor();
        await page.getByLabel('Try a tool').fill('crm__payroll');
        await gets.getByText('Ask a person for the payroll.').waitFor();
        await expectUsable(page);
        await page.getByLabel('Try a tool').fill('mail__get');
        await page.getByText('The call is denied, so it brings no result back.').waitFor();
      }, look);
  });

  test('what is used of a limit is listed by the names of keys, and reset', async () => {
    const { policyId, policyName, key } = await service.newKey([], { name: 'spender' });
    await service.admin('PUT', `/policies/${policyId}`, {
      rules: [{ tool: '*', action: 'allow', limit: 'pays' }],
      limits: { pays: { calls: 1, within: '1h' } },
    });
    const decision = async () => (await service.check(key, 'a', 'pay')).body.decision;
    expect([await decision(), await decision()]).toEqual(['allow', 'deny']);
    await use(async page => {
      await page.goto(`/dashboard/policies/${policyId}`);
      await heading(page, policyName);
      await page.getByRole('definition').getByText('at most 1 call within 1h per key').waitFor();
      const row = page.getByRole('table', { name: 'What is used of the limits' }).getByRole('row').nth(1);
      await row.getByText('spender').waitFor();
      expect(await row.textContent()).toMatch(/^paysspender1 of 1/);
      await row.getByRole('button', { name: 'Reset' }).click();
      await expectUsable(page);
      expect(await decision()).toBe('deny');
      await page.getByRole('dialog').getByRole('button', { name: 'Reset' }).click();
      await page.getByText('Nothing is used').waitFor();
      expect(await decision()).toBe('allow');
    });
  });

  test('a version that somebody else saved meanwhile is not replaced unseen', async () => {
    const rules = [{ tool: 'a', action: 'allow' as const }];
    const { policyId, policyName } = await service.newKey(rules);
    await use(async page => {
      await page.goto(`/dashboard/policies/${policyId}`);
      await heading(page, policyName);
      await write(page, '[]');
      await page.getByText('Not saved yet').waitFor();
      await service.admin('PUT', `/policies/${policyId}`, { rules: [...rules, ...rules] });
      await button(page, 'Save as version 2').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByRole('region', { name: 'Two versions' }).waitFor();
      expect((await service.admin('GET', `/policies/${policyId}`)).body.rules).toHaveLength(2);
    });
  });

  test('a policy is renamed in its text too; one in use is not deleted, and the page says why', async () => {
    const { policyId, policyName } = await service.newKey([]);
    const text = `# mine\nname: ${policyName} # its name\nrules: []\n`;
    await service.admin('PUT', `/policies/${policyId}`, { text });
    await use(async page => {
      await page.goto(`/dashboard/policies/${policyId}`);
      await heading(page, policyName);
      await button(page, 'Rename').click();
      const renaming = page.getByRole('dialog', { name: 'Rename the policy' });
      await renaming.getByLabel('Name').fill(`not ${policyName}`);
      await renaming.getByLabel('Description').fill('Described.');
      await renaming.getByRole('button', { name: 'Save' }).click();
      await heading(page, `not ${policyName}`);
      expect((await service.admin('GET', `/policies/${policyId}`)).body).toMatchObject({
        description: 'Described.',
        text: text.replace(policyName, `"not ${policyName}"`),
      });
      await button(page, 'Delete').click();
      const dialog = page.getByRole('dialog', { name: 'Delete this policy?' });
      await dialog.getByRole('button', { name: 'Delete' }).click();
      await dialog.getByRole('alert').getByText('Keys use this policy').waitFor();
    });
  });

  test('an MCP server is connected and tested; a tool that changed is shown and accepted', async () => {
    const tool = (description: string) => ({ name: 'look', description, inputSchema: { type: 'object' } });
    const upstream = new RecordingUpstream({ tools: [tool('Looks.')] });
    const { keyId } = await service.newKey([], { name: 'proxied' });
    await use(async page => {
      await page.goto(`/dashboard/keys/${keyId}`);
      await button(page, 'Add an MCP server').click();
      const dialog = page.getByRole('dialog', { name: 'Add an MCP server' });
      await dialog.getByLabel('Name').fill('eyes');
      await dialog.getByLabel('Address').fill(upstream.url);
      await expectUsable(page);
      await dialog.getByRole('button', { name: 'Add' }).click();
      await page.locator('.server').getByText('Connected: 1 tool').waitFor();
      const accept = async () => {
        await button(page, 'Accept').click();
        await page.getByRole('dialog').getByRole('button', { name: 'Accept' }).click();
        await page.getByRole('dialog').waitFor({ state: 'detached' });
      };
      await page.getByRole('link', { name: 'Look at its tools' }).click();
      await accept();
      await page.getByText('This definition was accepted by').waitFor();
      await page.getByRole('link', { name: 'Back to the key' }).click();
      upstream.options.tools = [tool('Looks, and tells.')];
      await button(page, 'Test').click();
      await page.getByText('One tool is no longer what was accepted').waitFor();
      await page.getByRole('link', { name: 'See what changed' }).click();
      await page.locator('.diff .added').getByText('Looks, and tells.').waitFor();
      await expectUsable(page);
      // It changes once more while the person reads: what they saw is not what would be accepted.
      upstream.options.tools = [tool('Looks, and tells everybody.')];
      const path = `/keys/${keyId}/connected-tools`;
      const { connectedTools } = (await service.admin('GET', path)).body;
      await service.admin('POST', `${path}/${connectedTools[0].id}/test`);
      await accept();
      await page.getByText('Nothing was accepted').waitFor();
      await page.locator('.diff .added').getByText('Looks, and tells everybody.').waitFor();
      await accept();
      await page.getByText('nothing has to be done').waitFor();
      await page.getByRole('link', { name: 'Back to the key' }).click();
      await upstream.stop();
      await button(page, 'Remove').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
      await page.getByText('No MCP server is connected').waitFor();
    });
  });

  test('dark, on a phone, the editor fits and is accessible', async () => {
    const { policyId, policyName } = await service.newKey([
      { tool: `${'long_'.repeat(30)}*`, action: 'deny', reason: 'a '.repeat(200) },
    ]);
    await use(
      async page => {
        await page.goto(`/dashboard/policies/${policyId}`);
        await heading(page, policyName);
        await page.locator('.cm-content').waitFor();
        await expectUsable(page);
      },
      { ...DARK, ...PHONE },
    );
  });
});
