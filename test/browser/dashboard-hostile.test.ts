// What agents, upstreams, receivers and browsers chose to call themselves is shown as text: markup, script and
// unseen characters in every stored field, on every page that shows it. And every page with the demo's data is
// accessible, light and dark, wide and narrow.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { run } from '../../src/cli/program.ts';
import { captured } from '../cli/captured.ts';
import { cookieOf, newPerson, OWN, PASSWORD, type Person, signIn } from '../operators/people.ts';
import { DARK, expectUsable, hasBrowser, launch, PHONE, visit } from '../support/browser.ts';
import { connect, RecordingUpstream } from '../support/mcp.ts';
import { startService, type TestService } from '../support/service.ts';
import { suiteWhenChanged } from '../support/when-changed.ts';

const suite = suiteWhenChanged('dashboard/**', 'src/http/**');

/** Each begins with its own number, to be found again. */
const hostile = (number: number): string =>
  `f${number} \u202E<img src=x onerror=pwned()><svg onload=pwned()>"'><script>pwned()</script>{{7*7}} javascript:pwned()`;
/** How it must look: what cannot be seen is written out. */
const shown = (number: number): string => hostile(number).replace('\u202E', '\\u{202E}');
/** As much of it as a name may have. */
const name = (number: number): string => hostile(number).slice(0, 110);
const begins = (number: number): string => shown(number).slice(0, 60);

/** Markup that came alive would have made an element of these. */
const ALIVE = 'img, svg[onload], script:not([src]), iframe, object, embed, [onerror], [onload]';

const withBrowser = hasBrowser();

async function opened(page: Page, path: string): Promise<void> {
  await page.goto(`/dashboard${path}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
}

suite.if(withBrowser)('hostile names', () => {
  let browser: Browser;
  let service: TestService;
  let admin: Person;
  let upstream: RecordingUpstream;
  let receiver: Bun.Server<undefined>;
  const ids = { policy: '', key: '', tool: '', webhook: '', approval: '', entry: '' };
  beforeAll(async () => {
    const env = { TOOLGATE_MAIL_FROM: shown(1) };
    receiver = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => new Response(hostile(2), { status: 500 }),
    });
    upstream = new RecordingUpstream({
      tools: [{ name: hostile(3), description: hostile(4), inputSchema: { type: 'object' } }],
    });
    [browser, service] = await Promise.all([launch(), startService({ env })]);
    admin = await newPerson(service, 'admin');
    const rules = [
      { tool: hostile(5), action: 'deny', reason: hostile(6) },
      { tool: '*', action: 'require_approval' },
    ];
    const policy = await service.admin('POST', '/policies', {
      name: hostile(7),
      description: hostile(8),
      rules,
    });
    const key = await service.admin('POST', '/keys', { name: hostile(9), policyId: policy.body.id });
    const hook = await service.admin('POST', '/webhooks', {
      url: `${receiver.url}?<img/onerror=pwned()>`,
    });
    Object.assign(ids, { policy: policy.body.id, key: key.body.id, webhook: hook.body.id });
    // A scope has no wildcards.
    const scopeTools = [`s__${name(10).replaceAll('*', '')}`];
    const session = await service.json('POST', '/v1/sessions', key.body.key, {
      label: hostile(11),
      scopeTools,
    });
    // A shadow that disagrees, so that the tools of its differences are shown.
    const strict = await service.admin('POST', '/policies', {
      name: hostile(15),
      rules: [{ tool: '*', action: 'deny', reason: hostile(16) }],
    });
    await service.admin('PATCH', `/keys/${key.body.id}`, { shadowPolicyId: strict.body.id });
    const checked = await service.check(session.body.token, 's', name(12));
    ids.entry = checked.body.toolCallId;
    const held = await service.check(key.body.key, name(13), 'x');
    ids.approval = held.body.referenceId;
    const tool = await connect(service, key.body.id, 'up', upstream.url);
    ids.tool = tool;
    const path = `/keys/${key.body.id}/connected-tools/${tool}/test`;
    await service.admin('POST', path);
    upstream.options.tools = [
      { name: hostile(3), description: hostile(14), inputSchema: { type: 'object' } },
    ];
    await service.admin('POST', path);
    const agent = await signIn(service, admin.email, PASSWORD, {
      headers: { ...OWN, 'User-Agent': 'x<img src=x onerror=pwned()>' },
    });
    admin.cookie = cookieOf(agent);
  });
  afterAll(async () => {
    await service?.close();
    await upstream?.stop();
    await receiver?.stop(true);
  });

  /** The page shows these texts, and nothing in them came alive. */
  function tells(path: () => string, texts: string[], then = async (_: Page) => {}): () => Promise<void> {
    return () =>
      visit(browser, service, admin.cookie, async page => {
        await page.addInitScript('window.pwned = () => { window.wasPwned = true; }');
        await opened(page, path());
        await then(page);
        for (const text of texts) await page.getByText(text).filter({ visible: true }).first().waitFor();
        // The drawings of the page itself are no markup of anybody's.
        expect(await page.locator(ALIVE).count()).toBe(0);
        expect(await page.evaluate('window.wasPwned')).toBeUndefined();
        expect(await page.content()).not.toContain('\u202E');
        expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      });
  }

  test(
    'policies',
    tells(() => '/policies', [shown(7), shown(8)]),
  );
  test(
    'one policy',
    tells(
      () => `/policies/${ids.policy}`,
      [shown(7), shown(9)],
      async page => {
        await page.locator('.cm-content').getByText('onerror=pwned()').first().waitFor();
        await page.getByLabel('Try a tool').fill(hostile(5));
        await page.locator('.tried').getByText(shown(6)).waitFor();
      },
    ),
  );
  test(
    'one approval',
    tells(() => `/approvals/${ids.approval}`, [shown(9), shown(7), begins(13)]),
  );
  test(
    'keys',
    tells(() => '/keys', [shown(9), shown(7)]),
  );
  test(
    'one key',
    tells(
      () => `/keys/${ids.key}`,
      [shown(9), shown(11), shown(3), 'One tool is no longer what was accepted'],
    ),
  );
  test(
    'the tools of a server',
    tells(
      () => `/keys/${ids.key}?tools=${ids.tool}`,
      [],
      async page => {
        const tool = page.locator('.looked');
        await tool.getByText('f3 U+202E<img').first().waitFor();
        await tool.getByText('f14 U+202E<img').first().waitFor();
        await tool.getByText('The whole definition').click();
        await tool.locator('pre .sign').first().waitFor();
      },
    ),
  );
  test(
    'a shadow that says otherwise',
    tells(() => `/keys/${ids.key}?view=shadow`, [shown(15), begins(13)]),
  );
  test(
    'what a shadow becomes',
    tells(
      () => `/keys/${ids.key}?view=shadow`,
      [],
      async page => {
        await page.getByRole('button', { name: 'Promote' }).click();
        await page.getByRole('dialog').getByText(shown(15)).first().waitFor();
      },
    ),
  );
  test(
    'a policy from the calls of a key',
    tells(
      () => `/keys/${ids.key}?view=suggest`,
      [],
      async page => {
        const suggested = page.getByLabel('The suggested policy');
        await suggested.waitFor();
        const text = await suggested.inputValue();
        expect(text).toContain('f13 ');
        expect(text).not.toContain('\u202E');
      },
    ),
  );
  test(
    'the same in the editor',
    tells(
      () => `/policies/${ids.policy}?suggest=${ids.key}`,
      ['This text was made from what the key'],
      async page => {
        await page.locator('.cm-content').getByText('f13 ').first().waitFor();
      },
    ),
  );
  test(
    'a link to the editor with a rule for a tool',
    tells(
      () => `/policies/${ids.policy}?add=allow&tool=${encodeURIComponent(`s__${hostile(17)}`)}&above=0`,
      [`for s__${shown(17)}`],
    ),
  );
  test(
    'links to the editor that ask for something else',
    tells(
      () => `/policies/${ids.policy}?add=${encodeURIComponent(hostile(18))}&tool=x`,
      ['unknown action'],
      async page => {
        await opened(page, `/policies/${ids.policy}?suggest=${encodeURIComponent(hostile(18))}`);
        await page.getByText('The link names no key').waitFor();
        await opened(page, `/policies/${ids.policy}?add=allow&tool=${encodeURIComponent(hostile(18))}`);
        await page.getByText('not a tool').waitFor();
        await opened(page, `/policies/${ids.policy}?add=${encodeURIComponent(hostile(18))}&tool=x`);
      },
    ),
  );
  test(
    'one entry',
    tells(() => `/audit?entry=${ids.entry}`, [begins(12), shown(9), shown(7), shown(11), shown(15)]),
  );
  test(
    'the filter by tool',
    tells(
      () => '/audit',
      [],
      async page => {
        await page.getByLabel('Tool', { exact: true }).fill('f13');
        await page.getByRole('option').getByText(begins(13)).click();
        await page.getByText(begins(13)).first().waitFor();
      },
    ),
  );
  test(
    'changes',
    tells(() => '/changes', [shown(7).slice(0, 40), shown(9).slice(0, 40), shown(15).slice(0, 40)]),
  );
  test(
    'notifications',
    tells(() => '/notifications', ['newest 100 messages']),
  );
  test('a page that does not exist', () =>
    visit(browser, service, admin.cookie, async page => {
      await page.addInitScript('window.pwned = () => { window.wasPwned = true; }');
      for (const path of ['/nowhere/', '/dashboard/nowhere/', '/dashboard/keys/']) {
        await page.goto(`${path}${encodeURIComponent(hostile(19))}?x=${encodeURIComponent(hostile(20))}`);
        await page.getByRole('heading').first().waitFor();
        expect(await page.locator(ALIVE).count()).toBe(0);
        expect(await page.evaluate('window.wasPwned')).toBeUndefined();
        expect(await page.content()).not.toContain('\u202E');
      }
    }));
  test(
    'webhooks',
    tells(() => '/webhooks', ['onerror=pwned()']),
  );
  test(
    'one webhook',
    tells(
      () => `/webhooks/${ids.webhook}`,
      ['onerror=pwned()'],
      async page => {
        await page
          .getByText(/^\d attempts?, the last/)
          .first()
          .click();
        await page.locator('.response').first().waitFor();
      },
    ),
  );
  test(
    'settings',
    tells(() => '/settings', ['onerror=pwned()']),
  );
  test(
    'account',
    tells(() => '/account', ['x<img src=x onerror=pwned()>']),
  );
  test(
    'audit',
    tells(() => '/audit', [begins(12), shown(9)]),
  );
  test(
    'approvals',
    tells(() => '/approvals', [begins(13), shown(9)]),
  );
  test(
    'overview',
    tells(() => '', [begins(13)]),
  );
});

suite.if(withBrowser)('the demo’s week', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'toolgate-demo-'));
  let browser: Browser;
  let service: TestService;
  let cookie: string;
  beforeAll(async () => {
    const env = {
      TOOLGATE_DATA_DIR: dataDir,
      TOOLGATE_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    };
    const io = captured(dataDir, env);
    await run(['demo', '--json'], io);
    const { email, password } = JSON.parse(io.out).signIn;
    [browser, service] = await Promise.all([launch(), startService({ dataDir })]);
    cookie = cookieOf(await signIn(service, email, password));
  });
  afterAll(async () => {
    await service?.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  test('every page is usable, dark and on a phone', async () => {
    const first = async (list: string) => (await service.admin('GET', `/${list}`)).body[list][0].id;
    const deeper = await Promise.all(
      ['policies', 'keys', 'webhooks'].map(async each => `/${each}/${await first(each)}`),
    );
    const pages = [
      '',
      '/approvals',
      '/audit',
      '/policies',
      '/keys',
      '/tool-servers',
      '/webhooks',
      '/changes',
      '/notifications',
      '/operators',
      '/settings',
      '/account',
    ];
    await visit(
      browser,
      service,
      cookie,
      async page => {
        for (const path of [...pages, ...deeper]) {
          await opened(page, path);
          await expectUsable(page).catch(error => {
            throw new Error(`${path}: ${error.message}`);
          });
        }
      },
      { ...DARK, ...PHONE },
    );
  });
});
