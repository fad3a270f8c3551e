// An approval's own page in a real browser: its course is seen as it happens, from the question to the
// answer of the tool, with links to everything that it is about; who may, ends what it opened.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { newPerson, type Person, send } from '../operators/people.ts';
import { DARK, expectUsable, hasBrowser, heading, launch, PHONE, visit } from '../support/browser.ts';
import { newDataDir, sql } from '../support/faults.ts';
import { connect, LegacyClient, RecordingUpstream } from '../support/mcp.ts';
import { Receiver } from '../support/receiver.ts';
import { startService, type TestService } from '../support/service.ts';
import { TasksClient } from '../support/tasks.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

/** A page is a client of the API, which is tested on both engines. */
const engine = (await enginesWhenChanged('src/store/**')).at(-1);
const ASK = [{ tool: '*', action: 'require_approval', reason: 'Ask first.' } as const];

describe.if(hasBrowser())('an approval’s own page', () => {
  /** What the tool answers to the call that runs while somebody looks. */
  const slow = Promise.withResolvers<{ content: unknown[] }>();
  let browser: Browser;
  let service: TestService;
  let receiver: Receiver;
  let upstream: RecordingUpstream;
  let key: { key: string; keyId: string; policyId: string; policyName: string };
  let approver: Person;
  let dataDir: string;
  beforeAll(async () => {
    receiver = await Receiver.start();
    upstream = new RecordingUpstream({
      onCall: ({ params }) =>
        params.arguments.n === 'slow' ? slow.promise : { content: [{ type: 'text', text: 'done' }] },
    });
    dataDir = newDataDir();
    const config = join(dataDir, 'toolgate.yaml');
    const to = (url: string) => `{ type: http, url: "${url}" }`;
    // Nobody listens at the second address.
    writeFileSync(
      config,
      `channels: { desk: ${to(receiver.url)}, pager: ${to('http://127.0.0.1:1/')}, on-call: ${to(receiver.url)} }`,
    );
    const env = { TOOLGATE_NOTIFY_URL: receiver.url, TOOLGATE_CONFIG: config };
    [browser, service] = await Promise.all([launch(), startService({ ...(engine && { engine }), env })]);
    key = await service.newKey(ASK, { name: 'release agent' });
    await connect(service, key.keyId, 'up', upstream.url);
    approver = await newPerson(service, 'approver');
  });
  afterAll(async () => {
    await service?.close();
    await receiver?.close();
    await upstream?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const resolve = (referenceId: string, body: unknown) =>
    service.admin('POST', `/approvals/${referenceId}/resolve`, body);
  const step = (page: Page, name: string) =>
    page.locator('.course > li').filter({ has: page.getByRole('heading', { name, exact: true }) });

  test('shows its course as it happens, from the question to the tool’s answer', async () => {
    const session = await service.json('POST', '/v1/sessions', key.key, { label: 'ticket 4711' });
    const client = await LegacyClient.open(service, session.body.token);
    const held = await client.call('up__echo', { n: 1 });
    const { referenceId } = held.result.structuredContent;
    await visit(browser, service, approver.cookie, async page => {
      await page.goto(`/dashboard/approvals/${referenceId}`);
      await heading(page, 'up__echo');
      await page.getByText('Says it again.').waitFor();
      await page.getByText('not asked in the last 30 days').waitFor();
      await step(page, 'Asked').getByText('by the MCP proxy').waitFor();
      await step(page, 'Told').getByText('http: sent').waitFor();
      await step(page, 'Answered').getByText('left').waitFor();
      for (const [link, address] of [
        ['audit entry', /\/audit\?entry=/],
        ['release agent', new RegExp(`/keys/${key.keyId}$`)],
        ['ticket 4711', /\/audit\?sessionId=/],
        [key.policyName, new RegExp(`/policies/${key.policyId}$`)],
      ] as const)
        expect(await page.getByRole('link', { name: link }).getAttribute('href')).toMatch(address);
      await page.getByText(', version 1, rule 0').waitFor();
      await expectUsable(page);
      await page.getByText('Live', { exact: true }).first().waitFor();
      await resolve(referenceId, { action: 'approve' });
      await step(page, 'Answered').getByText('approved by the admin token').waitFor();
      await step(page, 'Used').getByText('the agent can make the call until').waitFor();
      await page.getByRole('button', { name: 'Withdraw' }).waitFor();
      await client.call('up__echo', { n: 1 });
      await step(page, 'Used').getByText('spent: the call was allowed').waitFor();
      await step(page, 'Forwarded').getByText('the tool answered').waitFor();
      expect(await page.getByRole('button', { name: 'Withdraw' }).count()).toBe(0);
      await step(page, 'Used').getByRole('link', { name: 'audit entry' }).click();
      await page.getByRole('dialog', { name: 'Audit entry' }).getByText('ok, after').waitFor();
    });
  });

  test('what the call would do is read there and answered with a note, and a viewer sees neither', async () => {
    const rule = { tool: '*', action: 'require_approval', ask: 'Refund {amount} EUR?' } as const;
    const { key } = await service.newKey([{ ...rule, show: ['amount', 'customer.name', 'text'] }]);
    const text = `first line\n\u202Esecond <b>line</b>\n${'long'.repeat(100)}`;
    const args = { amount: 4711.25, customer: { name: 'Ada' }, text };
    const { body } = await service.check(key, 'payments', 'refund', { args });
    const address = `/dashboard/approvals/${body.referenceId}`;
    const viewer = await newPerson(service, 'viewer');
    await visit(browser, service, viewer.cookie, async page => {
      await page.goto(address);
      await page.getByText('Only people who may answer see what this call would do.').waitFor();
      await expectUsable(page);
      expect(await page.content()).not.toContain('4711.25');
      expect(await page.getByRole('button', { name: /approve|deny|withdraw/i }).count()).toBe(0);
    });
    for (const options of [PHONE, DARK])
      await visit(
        browser,
        service,
        approver.cookie,
        async page => {
          await page.goto(address);
          await page.getByText('Refund 4711.25 EUR?').waitFor();
          await expectUsable(page);
        },
        options,
      );
    await visit(browser, service, approver.cookie, async page => {
      await page.goto(address);
      const values = page.locator('.call-fields dd');
      await values.first().waitFor();
      expect(await page.locator('.call-question mark').allTextContents()).toEqual(['4711.25']);
      expect((await values.allTextContents()).slice(0, 2)).toEqual(['4711.25', 'Ada']);
      expect(await values.last().textContent()).toStartWith('first line\n\\u{202E}second <b>line</b>\n');
      await page.getByRole('button', { name: 'Add a note' }).click();
      await page.getByLabel('Note to the agent').fill('Ask the customer\nfirst.');
      await page.getByRole('button', { name: 'Deny' }).click();
      await step(page, 'Answered').getByText(`denied by ${approver.email}`).waitFor();
      await step(page, 'Answered').getByText('Ask the customer first.').waitFor();
      await page.getByText('was shown while it waited, and is not kept').waitFor();
      expect(await page.evaluate("document.activeElement.className === 'answering'")).toBe(true);
      await expectUsable(page);
      await page.goto('/dashboard/approvals?view=history');
      const row = page.getByRole('row').filter({ hasText: 'payments__refund' });
      await row.getByText(approver.email).waitFor();
      await row.getByText('Ask the customer first.').waitFor();
    });
  });

  test('a call is answered and its approval withdrawn there, and an unknown one is not found', async () => {
    const { body } = await service.check(key.key, 'prod', 'deploy');
    await visit(
      browser,
      service,
      approver.cookie,
      async page => {
        await page.goto(`/dashboard/approvals/${body.referenceId}`);
        await page.getByRole('button', { name: 'Add a note' }).waitFor();
        expect(await page.locator('.badge').first().textContent()).toBe('waiting');
        await expectUsable(page);
        await page.getByRole('button', { name: 'Approve prod__deploy' }).click();
        await step(page, 'Answered').getByText(`approved by ${approver.email}`).waitFor();
        await page.goto('/dashboard/approvals?view=history');
        await page.getByRole('link', { name: 'prod__deploy' }).click();
        await heading(page, 'prod__deploy');
        await expectUsable(page);
        await page.getByRole('button', { name: 'Withdraw' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click();
        await step(page, 'Used').getByText('withdrawn: it frees no call').waitFor();
        expect((await service.check(key.key, 'prod', 'deploy', body)).body.decision).not.toBe('allow');
        await page.goto(`/dashboard/approvals/${crypto.randomUUID()}`);
        await page.getByText('There is no approval with this referenceId.').waitFor();
        await expectUsable(page);
      },
      { ...PHONE, ...DARK },
    );
  });

  test('says who was told, who will be, and who has voted', async () => {
    const rule = { tool: '*', action: 'require_approval', notify: ['desk', 'pager'] } as const;
    const escalate = { after: '10m', notify: ['on-call'] };
    const approvers = { group: 'finance', count: 2 };
    const made = await service.newKey([{ ...rule, escalate, approvers }]);
    const [first, second] = [await newPerson(service, 'approver'), await newPerson(service, 'approver')];
    for (const { id } of [first, second])
      await service.admin('PATCH', `/operators/${id}`, { groups: ['finance'] });
    const { body } = await service.check(made.key, 'prod', 'wire');
    const address = `/dashboard/approvals/${body.referenceId}`;
    await visit(browser, service, approver.cookie, async page => {
      await page.goto(address);
      await page.getByText('Only operators of the group finance answer').waitFor();
      expect(await page.getByRole('button', { name: /approve|deny/i }).count()).toBe(0);
    });
    await visit(browser, service, first.cookie, async page => {
      await page.goto(address);
      const told = step(page, 'Told');
      await told.getByText('desk: sent').waitFor();
      await told.getByText('pager: not sent yet, next attempt').waitFor();
      await told.getByText(/on-call: will be told .* if nobody has answered by then/).waitFor();
      await step(page, 'Votes').getByText('0 of 2 of finance').waitFor();
      await page.getByRole('button', { name: 'Approve prod__wire' }).click();
      await step(page, 'Votes').getByText(`${first.email}: approves`).waitFor();
      await page.getByText('You have approved this call').waitFor();
      await expectUsable(page);
      await send(
        service,
        'POST',
        `/admin/v1/approvals/${body.referenceId}/resolve`,
        { cookie: second.cookie },
        { action: 'approve' },
      );
      await step(page, 'Votes').getByText('2 of 2 of finance').waitFor();
      await step(page, 'Answered').getByText(`approved by ${second.email}`).waitFor();
      await told.getByText('on-call: not sent, because the question had ended').waitFor();
    });
  });

  test('an approver sees what a grant is bound to and how often it was used, and revokes only their own', async () => {
    const rule = { tool: '*', action: 'require_approval', show: ['amount'] } as const;
    const made = await service.newKey([rule]);
    const session = await service.json('POST', '/v1/sessions', made.key, { label: 'nightly' });
    const call = (toolName: string, amount = 5) =>
      service.check(session.body.token, 'prod', toolName, { args: { amount } });
    const theirs = (await call('theirs')).body.referenceId;
    await resolve(theirs, { action: 'approve', duration: '1h' });
    const own = (await call('own')).body.referenceId;
    await visit(browser, service, approver.cookie, async page => {
      await page.goto(`/dashboard/approvals/${own}`);
      await page.getByRole('button', { name: 'Approve for a while' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('In this session only').check();
      await dialog.getByLabel('amount').check();
      await dialog.getByRole('button', { name: 'Approve' }).click();
      const grant = page.locator('.panel').filter({ hasText: 'Open grant' });
      await grant.getByText('one session, the same amount').waitFor();
      await grant.getByText('never').waitFor();
      expect((await call('own')).body.decision).toBe('allow');
      expect((await call('own', 6)).body.decision).toBe('pending');
      await grant.getByText('once').waitFor();
      await step(page, 'Used').getByText('opened a grant for').waitFor();
      await expectUsable(page);
      await page.goto('/dashboard/approvals?view=grants');
      const row = (tool: string) => page.getByRole('row').filter({ hasText: tool });
      await row('prod__theirs').getByText('the admin token').waitFor();
      await row('prod__theirs').getByText('all its calls').waitFor();
      await row('prod__own').getByText(approver.email).waitFor();
      await expectUsable(page);
      expect(await row('prod__theirs').getByRole('button', { name: 'Revoke' }).count()).toBe(0);
      await row('prod__own').getByRole('button', { name: 'Revoke' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
      await row('prod__own').waitFor({ state: 'detached' });
      expect((await call('own')).body.decision).toBe('pending');
      await page.goto(`/dashboard/approvals/${own}`);
      await page.getByText('The grant that this approval opened has ended.').waitFor();
    });
  });

  /** A call of a client that knows tasks; the id is that of its approval. */
  const begun = async (n: string): Promise<string> =>
    (await new TasksClient(service, key.key).call('up__echo', { n })).result.taskId;

  test('whoever approves the call of a task knows that it is made then, and sees it run and end', async () => {
    const taskId = await begun('slow');
    await visit(browser, service, approver.cookie, async page => {
      await page.goto('/dashboard/approvals');
      await page.getByText('Toolgate makes this call as soon as it is approved.').waitFor();
      await page.goto(`/dashboard/approvals/${taskId}`);
      await page.getByText('Toolgate makes this call as soon as it is approved.').waitFor();
      await page.getByRole('button', { name: 'Approve up__echo' }).click();
      await step(page, 'Forwarded').getByText('the tool works on it').waitFor();
      await expectUsable(page);
      await page.goto('/dashboard/approvals?view=history');
      const row = page.getByRole('row').filter({ hasText: 'up__echo' });
      await row.getByText('runs now').waitFor();
      await expectUsable(page);
      slow.resolve({ content: [] });
      await page.goto(`/dashboard/approvals/${taskId}`);
      await step(page, 'Forwarded').getByText('the tool answered, after').waitFor();
      await page.goto('/dashboard/approvals?view=history');
      await row.getByText('the tool answered').first().waitFor();
    });
  });

  /** As if its process had ended before the answer came. */
  async function lose(taskId: string): Promise<string> {
    await resolve(taskId, { action: 'approve' });
    await new TasksClient(service, key.key).ends(taskId);
    const { freed } = (await service.admin('GET', `/approvals/${taskId}`)).body;
    const lost = `'${freed.toolCallId}', '${key.keyId}', ${Date.now() - 9000}, ${Date.now()}`;
    await sql(
      service.databaseUrl,
      `UPDATE outcomes SET outcome = 'outcome_unknown' WHERE tool_call_id = '${freed.toolCallId}'`,
      `INSERT INTO executions (tool_call_id, key_id, at, unknown_at) VALUES (${lost})`,
    );
    return freed.toolCallId;
  }

  test('a call of which nobody knows whether it ran is settled by an approver, once, and not by a viewer', async () => {
    const taskId = await begun('lost');
    const toolCallId = await lose(taskId);
    const viewer = await newPerson(service, 'viewer');
    const panel = (page: Page) => page.locator('.panel').filter({ hasText: 'Not known whether they ran' });
    await visit(browser, service, viewer.cookie, async page => {
      await page.goto('/dashboard/approvals');
      await panel(page).getByText('Approvers and admins can.').waitFor();
      await panel(page).getByRole('row').filter({ hasText: 'release agent' }).waitFor();
      await page.goto(`/dashboard/approvals/${taskId}`);
      await step(page, 'Forwarded').getByText('It is not known whether this call ran').waitFor();
      expect(await page.getByRole('button', { name: /^It (ran|did not)/ }).count()).toBe(0);
    });
    const settle = (person: Person) =>
      send(service, 'POST', `/admin/v1/calls/${toolCallId}/settle`, { cookie: person.cookie }, { ran: true });
    expect((await settle(viewer)).status).toBe(403);
    for (const look of [PHONE, DARK])
      await visit(
        browser,
        service,
        approver.cookie,
        async page => {
          await page.goto('/dashboard/approvals?view=history');
          await panel(page).getByRole('button', { name: 'It did not run…' }).click();
          await page
            .getByRole('dialog')
            .getByText('its task stays failed, and the call is not run')
            .waitFor();
          await expectUsable(page);
        },
        look,
      );
    await visit(browser, service, approver.cookie, async page => {
      await page.goto('/dashboard/approvals');
      await panel(page).getByRole('button', { name: 'It ran…' }).click();
      const dialog = page.getByRole('dialog', { name: 'Say that this call ran' });
      await dialog.getByLabel('How you know').fill('It is in the ledger.');
      await dialog.getByRole('button', { name: 'It ran' }).click();
      await panel(page).waitFor({ state: 'detached' });
      await page.goto(`/dashboard/approvals/${taskId}`);
      await step(page, 'Forwarded').getByText(`It ran, says ${approver.email}`).waitFor();
      await step(page, 'Forwarded').getByText('It is in the ledger.').waitFor();
      expect(await page.getByRole('button', { name: /^It (ran|did not)/ }).count()).toBe(0);
      await page.goto(`/dashboard/audit?entry=${toolCallId}`);
      await page.getByRole('dialog').getByText('It is in the ledger.').waitFor();
      await expectUsable(page);
    });
    expect((await settle(approver)).status).toBe(409);
  });

  test('on a phone, history shows many rows on a screen', async () => {
    for (const toolName of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) {
      const { body } = await service.check(key.key, 'prod', toolName);
      await resolve(body.referenceId, { action: toolName < 'c' ? 'deny' : 'approve' });
    }
    await visit(
      browser,
      service,
      approver.cookie,
      async page => {
        await page.goto('/dashboard/approvals?view=history');
        await page.getByRole('row').filter({ hasText: 'prod__h' }).getByText('one call until').waitFor();
        await expectUsable(page);
        const whole = await page
          .locator('tbody tr')
          .evaluateAll(rows => rows.filter(row => row.getBoundingClientRect().bottom <= 844).length);
        expect(whole).toBeGreaterThan(4);
      },
      PHONE,
    );
  });
});
