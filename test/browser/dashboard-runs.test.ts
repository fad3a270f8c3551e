// Runs in a real browser: what a run has read, from the question that it asks to its own page, where an admin clears its
// marks, and to the entries of the audit log. What a session was made with.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import type { Rule } from '../../src/core/policy/policy.ts';
import { newPerson, type Person } from '../operators/people.ts';
import { DARK, expectUsable, hasBrowser, heading, launch, PHONE, visit } from '../support/browser.ts';
import { until } from '../support/faults.ts';
import { Receiver } from '../support/receiver.ts';
import { startService, type TestService } from '../support/service.ts';

const RULES: Rule[] = [
  { tool: 'search', action: 'allow', marks: 'untrusted' },
  { tool: 'send', action: 'allow', when: '!("untrusted" in marks) || known(args.to)' },
  { tool: 'send', action: 'require_approval', show: ['to', 'subject'] },
];
/** `This run has read: untrusted (mail__search, 10:02 AM)`, in the reader's own way of writing the time. */
const HAS_READ = /This run has read: untrusted \(mail__search, \d\d?:\d\d(\s[AP]M)?\)/;
const UNNAMED = 'not named by the person';

describe.if(hasBrowser())('runs', () => {
  let browser: Browser;
  let service: TestService;
  let receiver: Receiver;
  let admin: Person;
  let approver: Person;
  let agent: { key: string; keyId: string };
  let marking: string;
  let asked: { referenceId: string; toolCallId: string };
  let session: { id: string; token: string };
  beforeAll(async () => {
    receiver = await Receiver.start();
    const env = { TOOLGATE_NOTIFY_URL: receiver.url };
    [browser, service] = await Promise.all([launch(), startService({ engine: 'sqlite', env })]);
    [admin, approver] = [await newPerson(service, 'admin'), await newPerson(service, 'approver')];
    agent = await service.newKey(RULES, { name: 'mail agent' });
    const attributes = { customer: 'c_17\u202e', limits: { eur: 5 } };
    const made = { label: 'ticket 4711', attributes };
    session = (await service.json('POST', '/v1/sessions', agent.key, made)).body;
    marking = (await service.check(session.token, 'mail', 'search')).body.toolCallId;
    await service.json('POST', '/v1/told', session.token, { text: 'The subject is Invoice.' });
    asked = await ask('eve@x.org');
    await service.check(agent.key, 'mail', 'send', { args: { to: 'ann@x.org' } });
  });
  afterAll(async () => {
    await service?.close();
    await receiver?.close();
  });

  const ask = async (to: string) =>
    (await service.check(session.token, 'mail', 'send', { args: { to, subject: 'Invoice' } })).body;
  const field = (page: Page, path: string) =>
    page.locator('.call-fields > div, .values > div').filter({ has: page.locator('dt', { hasText: path }) });
  const saysIt = async (page: Page) => {
    await page.getByText(HAS_READ).waitFor();
    expect(await field(page, 'to').innerText()).toContain(UNNAMED);
    expect(await field(page, 'subject').innerText()).not.toContain(UNNAMED);
  };

  test('the inbox and the page of an approval say what the run has read, and lead to it', async () => {
    for (const options of [{}, PHONE, DARK])
      await visit(
        browser,
        service,
        approver.cookie,
        async page => {
          await page.goto('/dashboard/approvals');
          await saysIt(page);
          await expectUsable(page);
          await page.goto(`/dashboard/approvals/${asked.referenceId}`);
          await saysIt(page);
          await expectUsable(page);
          expect(await page.getByRole('link', { name: 'mail__search' }).first().getAttribute('href')).toBe(
            `/dashboard/audit?entry=${marking}`,
          );
          await page.getByRole('link', { name: 'its run' }).click();
          await heading(page, 'Session ticket 4711');
          // Only an admin clears marks.
          expect(await page.getByRole('button', { name: 'Clear the marks' }).count()).toBe(0);
        },
        options,
      );
  });

  test('the page behind the link says the same', async () => {
    const found = () => receiver.arrivals.find(each => each.json?.referenceId === asked.referenceId);
    await until('the link arrived', () => found() !== undefined);
    const link = new URL(found()?.json?.reviewUrl).pathname;
    for (const options of [{}, PHONE])
      await visit(
        browser,
        service,
        approver.cookie,
        async page => {
          await page.goto(link);
          await saysIt(page);
          await expectUsable(page);
        },
        options,
      );
  });

  test('runs are listed with their marks, and by them', async () => {
    for (const options of [{}, PHONE])
      await visit(
        browser,
        service,
        approver.cookie,
        async page => {
          await page.goto('/dashboard/runs');
          const rows = page.getByRole('region', { name: 'Runs' }).locator('tbody tr');
          await page.getByText('The key itself').waitFor();
          expect(await rows.count()).toBe(2);
          await expectUsable(page);
          await page.getByLabel('Marks').selectOption('With marks');
          await page.getByText('The key itself').waitFor({ state: 'detached' });
          expect(await rows.innerText()).toMatch(/Session ticket 4711[\s\S]*mail agent[\s\S]*untrusted/);
          await page.reload();
          await page.getByText('Session ticket 4711').waitFor();
          expect(await rows.count()).toBe(1);
          await page.getByLabel('Marks').selectOption('Without marks');
          await page.getByText('The key itself').waitFor();
          expect(await rows.count()).toBe(1);
        },
        options,
      );
  });

  test('an entry shows the marks that its run had, and the log is searched by them', async () => {
    await visit(browser, service, approver.cookie, async page => {
      await page.goto(`/dashboard/audit?entry=${asked.toolCallId}`);
      const entry = page.getByRole('dialog', { name: 'Audit entry' });
      await entry.getByText('had the marks').waitFor();
      await expectUsable(page);
      await entry.getByRole('link', { name: 'untrusted' }).click();
      await page.waitForURL(/mark=untrusted/);
      const tools = page.getByRole('region', { name: 'Entries' }).locator('.tool');
      await until(
        'the marked call is listed',
        async () => (await tools.allTextContents()).join() === 'mail__send',
      );
      expect(await page.getByLabel('Mark of its run').inputValue()).toBe('untrusted');
      await ask('ben@x.org');
      await until('so is a new one', async () => (await tools.count()) === 2);
      await service.check(agent.key, 'mail', 'send', { args: { to: 'ann@x.org' } });
      await page.goto(`/dashboard/audit?entry=${marking}`);
      await entry.getByText('had no marks').waitFor();
      await entry.getByRole('link', { name: 'open the run' }).click();
      await heading(page, 'Session ticket 4711');
    });
  });

  test('a session shows its attributes', async () => {
    await visit(browser, service, approver.cookie, async page => {
      await page.goto(`/dashboard/keys/${agent.keyId}`);
      const shown = page.getByLabel('Attributes');
      await shown.waitFor();
      expect((await shown.innerText()).replace(/\s+/g, ' ')).toBe('customer c_17\\u{202E} limits {"eur":5}');
      await expectUsable(page);
    });
  });

  test('an admin clears the marks, after having been asked', async () => {
    const { runId } = (await service.admin('GET', '/runs?marked=true')).body.runs[0];
    await visit(browser, service, admin.cookie, async page => {
      await page.goto(`/dashboard/runs/${runId}`);
      await heading(page, 'Session ticket 4711');
      await page.getByRole('link', { name: 'mail__search' }).waitFor();
      await expectUsable(page);
      await page.getByRole('button', { name: 'Clear the marks' }).click();
      const dialog = page.getByRole('dialog', { name: 'Clear the marks of this run?' });
      await expectUsable(page);
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      expect((await service.admin('GET', `/runs/${runId}`)).body.marks).toHaveLength(1);
      await page.getByRole('button', { name: 'Clear the marks' }).click();
      await dialog.getByRole('button', { name: 'Clear them' }).click();
      await page.getByText('Nothing that is marked').waitFor();
      expect(await page.getByRole('button', { name: 'Clear the marks' }).count()).toBe(0);
      expect((await service.admin('GET', `/runs/${runId}`)).body.marks).toEqual([]);
      await page.goto('/dashboard/changes');
      await page.getByText('Run cleared').first().waitFor();
      await page.goto(`/dashboard/runs/${crypto.randomUUID()}`);
      await page.getByText('There is no run with this id, or it has ended').waitFor();
    });
    expect(
      (await service.check(session.token, 'mail', 'send', { args: { to: 'eve@x.org' } })).body.decision,
    ).toBe('allow');
  });

  test('no mark is cut off on a phone, however long its name is', async () => {
    const longest = ['read-the-web-pages-of-strangers', 'x'.repeat(32)];
    const { key, keyId } = await service.newKey([{ tool: 'look', action: 'allow', marks: longest }]);
    await service.check(key, 'web', 'look');
    const [{ runId }] = (await service.admin('GET', `/runs?keyId=${keyId}`)).body.runs;
    await visit(
      browser,
      service,
      approver.cookie,
      async page => {
        for (const path of [`/dashboard/runs?keyId=${keyId}`, `/dashboard/runs/${runId}`]) {
          await page.goto(path);
          for (const name of longest) {
            const badge = page.locator('.badge', { hasText: name });
            await badge.waitFor();
            const [box, panel] = [
              await badge.boundingBox(),
              await page.locator('.panel').first().boundingBox(),
            ];
            const right = (each: typeof box) => (each === null ? 0 : each.x + each.width);
            expect(right(box)).toBeLessThanOrEqual(right(panel));
          }
        }
      },
      PHONE,
    );
  });
});
