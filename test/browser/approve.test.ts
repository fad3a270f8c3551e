// An approval from end to end with a person's browser: the printed link opens, answers by itself or by a click,
// once; the agent's owner gets the event. pages.test.ts tests the pages on their own.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { ASK_ALL, fingerprint } from '../approvals/gate.ts';
import { newPerson, type Person } from '../operators/people.ts';
import { hasBrowser, launch, violationsOf } from '../support/browser.ts';
import { sql, until } from '../support/faults.ts';
import { Receiver, verifies } from '../support/receiver.ts';
import { startService, type TestService } from '../support/service.ts';

describe.if(hasBrowser())('a person with a browser', () => {
  let browser: Browser;
  let service: TestService;
  let target: Receiver;
  let secret: string;
  let key: string;

  beforeAll(async () => {
    browser = await launch();
    service = await startService();
    target = await Receiver.start();
    secret = (await service.admin('POST', '/webhooks', { url: target.url })).body.secret;
    key = (await service.newKey(ASK_ALL, { name: 'release agent' })).key;
  });
  afterAll(async () => {
    await service?.close();
    await target?.close();
  });

  /** A pending call and the link that was printed for it. */
  async function ask(
    toolName: string,
    token = key,
    more: Record<string, unknown> = {},
  ): Promise<{ referenceId: string; link: string; bare: string }> {
    const { body } = await service.check(token, 'prod', toolName, more);
    const printed = new RegExp(`Approval needed: prod__${toolName}\\n[^]*?(?:Approve|Review) +(http\\S+)`);
    await until('the link is printed', () => printed.test(service.output));
    const link = printed.exec(service.output)?.[1] ?? '';
    return { referenceId: body.referenceId, link, bare: link.replace(/\?.*/, '') };
  }

  const statusOf = async (referenceId: string) =>
    (
      await sql<{ status: string }>(
        service.databaseUrl,
        `SELECT status FROM approvals WHERE id = '${referenceId}'`,
      )
    )[0]?.status;

  async function visit(options: BrowserContextOptions, use: (page: Page) => Promise<void>): Promise<void> {
    const context = await browser.newContext(options);
    const refused: string[] = [];
    try {
      const page = await context.newPage();
      page.on('console', message => {
        if (/content security policy/i.test(message.text())) refused.push(message.text());
      });
      page.on('pageerror', error => refused.push(error.message));
      await use(page);
      expect(refused).toEqual([]);
    } finally {
      await context.close();
    }
  }

  const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor();

  test('opens the printed link: it answers by itself, and the webhook tells', async () => {
    const { referenceId, link } = await ask('release');
    await visit({}, async page => {
      const posted = page.waitForRequest(request => request.method() === 'POST');
      await page.goto(link, { waitUntil: 'commit' });
      await heading(page, 'Approved');
      const headers = await (await posted).allHeaders();
      expect([headers['origin'], headers['sec-fetch-site']]).toEqual(['null', 'same-origin']);
      expect(headers['referer']).toBeUndefined();
      expect(await violationsOf(page)).toEqual([]);
    });
    expect(await statusOf(referenceId)).toBe('approved');
    const resolved = () => target.of(referenceId).find(each => each.json.type === 'approval.resolved');
    await until('the webhook', () => resolved() !== undefined);
    const event = resolved();
    expect(event?.json.data).toMatchObject({
      status: 'approved',
      resolvedBy: 'link',
      grantExpiresAt: null,
    });
    expect(event && verifies(secret, event)).toBe(true);
    expect((await service.check(key, 'prod', 'release', { referenceId })).body.decision).toBe('allow');
  });

  test('denies by the other link', async () => {
    const { referenceId, link } = await ask('wipe');
    await visit({}, async page => {
      await page.goto(link.replace('=approve', '=deny'), { waitUntil: 'commit' });
      await heading(page, 'Denied');
    });
    expect(await statusOf(referenceId)).toBe('denied');
  });

  test('a scanner that only fetches the link changes nothing', async () => {
    const { referenceId, link } = await ask('scanned');
    await until('the notification is settled', async () => {
      const waiting = await sql(service.databaseUrl, `SELECT id FROM notifications WHERE status = 'pending'`);
      const due = await sql(service.databaseUrl, `SELECT id FROM deliveries WHERE status = 'pending'`);
      return waiting.length + due.length === 0;
    });
    const before = await fingerprint(service.databaseUrl);
    for (const method of ['GET', 'HEAD', 'GET']) {
      const reply = await fetch(link, { method, headers: { 'User-Agent': 'BarracudaCentral/1.0' } });
      expect(reply.status).toBe(200);
      await reply.text();
    }
    expect(await fingerprint(service.databaseUrl)).toBe(before);
    expect(await statusOf(referenceId)).toBe('pending');
  });

  test('without script nothing happens until the button is clicked', async () => {
    const { referenceId, link } = await ask('noscript');
    await visit({ javaScriptEnabled: false }, async page => {
      await page.goto(link, { waitUntil: 'networkidle' });
      expect(await statusOf(referenceId)).toBe('pending');
      await page.getByRole('button', { name: 'Approve this call' }).click();
      await heading(page, 'Approved');
    });
    expect(await statusOf(referenceId)).toBe('approved');
  });

  test('a link without an action asks, and can approve for a while', async () => {
    const { referenceId, bare } = await ask('lasting');
    await visit({}, async page => {
      await page.goto(bare, { waitUntil: 'networkidle' });
      expect(await violationsOf(page)).toEqual([]);
      expect(await statusOf(referenceId)).toBe('pending');
      await page.getByText('Approve for a while').click();
      await page.getByLabel('For how long').selectOption('8 hours');
      await page.getByRole('button', { name: 'Approve for this long' }).click();
      await heading(page, 'Approved');
      expect(await violationsOf(page)).toEqual([]);
    });
    const { grants } = (await service.admin('GET', '/grants')).body;
    expect(grants[0]).toMatchObject({ referenceId, toolName: 'lasting' });
    expect(Date.parse(grants[0].expiresAt) - Date.parse(grants[0].createdAt)).toBe(8 * 3_600_000);
    expect((await service.check(key, 'prod', 'lasting')).body.decision).toBe('allow');
  });

  test('without script, a link shows what the call would do and binds a grant to what was checked', async () => {
    const show = ['amount', 'customer.name'];
    const rule = { tool: '*', action: 'require_approval', ask: 'Refund {amount} EUR?', show } as const;
    const made = await service.newKey([rule]);
    const { body } = await service.json('POST', '/v1/sessions', made.key, { label: 'nightly' });
    const refund = (amount: number) => ({ args: { amount, customer: { name: 'Ada <b>' } } });
    const { referenceId, bare } = await ask('refund', body.token, refund(80));
    await visit({ javaScriptEnabled: false, viewport: { width: 390, height: 844 } }, async page => {
      await page.goto(bare);
      await page.getByText('Refund 80 EUR?').waitFor();
      expect(await page.locator('.values dd').allTextContents()).toEqual(['80', 'Ada <b>']);
      await page.getByText('not asked in the last 30 days').waitFor();
      await page.getByText('Approve for a while').click();
      expect(await page.getByLabel('In this session only').isChecked()).toBe(true);
      await page.getByLabel('customer.name').uncheck();
      await page.locator('#lasting').getByLabel('Note to the agent').fill('Go on.');
      await page.getByRole('button', { name: 'Approve for this long' }).click();
      await heading(page, 'Approved');
    });
    const { approvals } = (await service.admin('GET', '/approvals?limit=1')).body;
    expect(approvals[0]).toMatchObject({ referenceId, note: 'Go on.', status: 'approved' });
    const [grant] = (await service.admin('GET', '/grants')).body.grants;
    expect(grant).toMatchObject({ referenceId, only: 'session', same: ['amount'], openedBy: 'link' });
    const decided = async (token: string, amount: number) =>
      (await service.check(token, 'prod', 'refund', refund(amount))).body.decision;
    expect(await decided(body.token, 80)).toBe('allow');
    expect(await decided(body.token, 81)).toBe('pending');
    expect(await decided(made.key, 80)).toBe('pending');
  });

  test('a link that two of a group have to approve counts them, and says so', async () => {
    const approvers = { group: 'finance', count: 2 };
    const { key } = await service.newKey([{ tool: '*', action: 'require_approval', approvers }]);
    const people = [await newPerson(service, 'approver'), await newPerson(service, 'approver')];
    for (const { id } of people) await service.admin('PATCH', `/operators/${id}`, { groups: ['finance'] });
    const { referenceId, bare } = await ask('wire', key);
    const approve = (cookie: string, outcome: string, shown: string) =>
      visit({}, async page => {
        const [name = '', value = ''] = cookie.split('=');
        await page.context().addCookies([{ name, value, url: service.url }]);
        await page.goto(bare);
        await page.getByText(shown).waitFor();
        expect(await violationsOf(page)).toEqual([]);
        expect(await page.getByText('Approve for a while').count()).toBe(0);
        await page.getByRole('button', { name: 'Approve this call' }).click();
        await heading(page, outcome);
        expect(await violationsOf(page)).toEqual([]);
      });
    const [first, second] = people as [Person, Person];
    await approve(first.cookie, 'Your approval is counted', '2 more approvals are needed');
    expect(await statusOf(referenceId)).toBe('pending');
    await approve(second.cookie, 'Approved', `1 of 2 of finance (${first.email})`);
    expect(await statusOf(referenceId)).toBe('approved');
  });

  test('a used link says how it was answered, an unknown one that it is unknown', async () => {
    const { link, bare } = await ask('once');
    await visit({}, async page => {
      await page.goto(bare);
      await page.getByRole('button', { name: 'Deny this call' }).click();
      await heading(page, 'Denied');
      for (const address of [bare, link]) {
        expect((await page.goto(address))?.status()).toBe(410);
        await heading(page, 'Already denied');
        expect(await violationsOf(page)).toEqual([]);
      }
      expect((await page.goto(`${bare.slice(0, -1)}?action=approve`))?.status()).toBe(404);
      await heading(page, 'This link is not known');
      expect(await violationsOf(page)).toEqual([]);
      expect((await page.goto(`${bare}?action=perhaps`))?.status()).toBe(400);
      expect(await violationsOf(page)).toEqual([]);
    });
  });

  test('going back and reloading cannot answer twice', async () => {
    const { referenceId, link } = await ask('again');
    await visit({}, async page => {
      await page.goto(link, { waitUntil: 'commit' });
      await heading(page, 'Approved');
      const reply = await page.reload();
      expect(reply?.status()).toBe(410);
    });
    const told = await sql(
      service.databaseUrl,
      `SELECT id FROM events WHERE type = 'approval.resolved' AND reference_id = '${referenceId}'`,
    );
    expect(told).toHaveLength(1);
  });

  test('a confirming service waits for the click, script or not', async () => {
    const careful = await startService({ env: { TOOLGATE_APPROVE_PAGE: 'confirm' } });
    try {
      const made = await careful.newKey(ASK_ALL);
      await careful.check(made.key, 'prod', 'careful');
      const printed = /Approve +(http\S+)/;
      await until('the link is printed', () => printed.test(careful.output));
      await visit({}, async page => {
        await page.goto(printed.exec(careful.output)?.[1] ?? '', { waitUntil: 'networkidle' });
        const { approvals } = (await careful.admin('GET', '/approvals')).body;
        expect(approvals[0].status).toBe('pending');
        expect(await violationsOf(page)).toEqual([]);
        await page.getByRole('button', { name: 'Approve this call' }).click();
        await heading(page, 'Approved');
      });
    } finally {
      await careful.close();
    }
  });
});
