// npm run screenshots: takes pictures of the dashboard with the demo's week, light and dark, wide and narrow, with the
// system's Chromium (or TOOLGATE_TEST_CHROMIUM). With `--all <folder>`, it takes every page in every size, for a
// review.

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { CHROMIUM } from '../test/support/chromium.ts';
import { connectClients, type Post } from './screenshots-people.ts';
import { addNotes, declareNotes } from './screenshots-servers.ts';

const ROOT = join(import.meta.dir, '..');
const START_MS = 15_000;

type Scheme = 'light' | 'dark';
const WIDTHS = { wide: 1440, phone: 390 } as const;
type Width = keyof typeof WIDTHS;

interface Shot {
  page: string;
  width: Width;
  scheme: Scheme;
}

/** The pictures in the README and the docs. */
const KEPT: Shot[] = [
  { page: 'overview', width: 'wide', scheme: 'light' },
  { page: 'overview', width: 'wide', scheme: 'dark' },
  { page: 'approvals', width: 'wide', scheme: 'light' },
  { page: 'approvals', width: 'wide', scheme: 'dark' },
  { page: 'approvals', width: 'phone', scheme: 'dark' },
  { page: 'policy', width: 'wide', scheme: 'light' },
  { page: 'tool-server', width: 'wide', scheme: 'light' },
];

/** This policy is typed into the editor, because the demo's policies have no conditions: its calls have no arguments. */
const POLICY = `# Small refunds need nobody, up to 500 a day.
name: support-desk
limits:
  refunds: { sum: args.amount, unit: 0.01, atMost: 500, each: day, zone: Europe/Berlin }
rules:
  - { tool: "tickets__*", action: allow, during: mon-fri 08:00-18:00 Europe/Berlin }
  - { tool: "orders__get_*", action: allow }
  - tool: payments__refund
    action: allow
    when: [ 'args.amount > 0 && args.amount <= 50', 'args.currency == "EUR"' ]
    limit: refunds
  - { tool: payments__refund, action: require_approval, ask: "Refund {amount} {currency}?" }
`;

const PAGES: Record<string, (page: Page) => Promise<void>> = {
  overview: page => open(page, ''),
  approvals: async page => {
    await open(page, '/approvals');
    await page.locator('.question').first().locator('.not-yet').waitFor({ state: 'detached' });
    await page.locator('.questions:not([data-moved])').waitFor();
  },
  approval: async page => {
    await open(page, '/approvals');
    await page.getByRole('link', { name: 'whole question' }).first().click();
    await page.waitForURL('**/approvals/*');
    await page.locator('.loading').first().waitFor({ state: 'detached' });
  },
  history: page => open(page, '/approvals?view=history'),
  grants: page => open(page, '/approvals?view=grants'),
  audit: page => open(page, '/audit'),
  search: async page => {
    await open(page, '/audit');
    await page.getByRole('combobox', { name: 'Tool' }).fill('merge');
    await page.getByRole('listbox').waitFor();
    await page.keyboard.press('ArrowDown');
  },
  entry: async page => {
    await open(page, '/audit?decision=pending');
    await page.locator('tbody a').first().click();
    await page.getByRole('dialog').getByText('Evaluated in').waitFor();
  },
  runs: page => open(page, '/runs'),
  changes: page => open(page, '/changes'),
  notifications: page => open(page, '/notifications'),
  policies: page => open(page, '/policies'),
  policy: async page => {
    await openRow(page, '/policies', 'support-desk');
    await page.locator('.cm-content').click();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.insertText(POLICY);
    await page.getByLabel('Try a tool').fill('payments__refund');
    await page.getByLabel('Arguments').fill('{ "amount": 60, "currency": "EUR" }');
    await page.getByText('args.amount is 60').first().waitFor();
    await page.locator('.replay-line').waitFor();
  },
  keys: page => open(page, '/keys'),
  key: page => openRow(page, '/keys', 'coding agent'),
  shadow: page => openView(page, 'Shadow'),
  suggest: async page => {
    await openView(page, 'Suggest a policy');
    await page.getByLabel('The suggested policy').waitFor();
  },
  servers: page => openRow(page, '/keys', 'support agent'),
  'add-server': async page => {
    await openRow(page, '/keys', 'support agent');
    await page.getByRole('button', { name: 'Add an MCP server' }).click();
    await page.getByLabel('Sign-in').selectOption('key');
    await page.getByText('An app of your own, and scopes').click();
  },
  'edit-server': async page => {
    await openRow(page, '/keys', 'support agent');
    await page.getByRole('button', { name: 'Edit', exact: true }).last().click();
  },
  'tool-servers': page => open(page, '/tool-servers'),
  'add-tool-server': async page => {
    await open(page, '/tool-servers?new');
    await page.getByRole('option', { name: 'Files of one folder' }).waitFor({ state: 'attached' });
    await page.getByLabel('Begin with').selectOption('filesystem');
  },
  'tool-server': async page => {
    await openRow(page, '/tool-servers', 'notes');
    await page.locator('.sign').first().waitFor();
    await page.evaluate("document.querySelectorAll('.panel')[1].scrollIntoView()");
  },
  connections: page => open(page, '/connections'),
  webhooks: page => open(page, '/webhooks'),
  webhook: page => openRow(page, '/webhooks', 'https://agents.example.com/hooks/toolgate'),
  operators: page => open(page, '/operators'),
  settings: page => open(page, '/settings'),
  account: page => open(page, '/account'),
  'my-connections': page => openOwn(page, '/connections'),
  'my-calls': page => openOwn(page, '/calls'),
  'my-approvals': page => openOwn(page, '/my-approvals'),
};

async function open(page: Page, path: string): Promise<void> {
  await page.goto(`/dashboard${path}`);
  await page.locator('h1').waitFor();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
  await page.locator('.liveness.on').first().waitFor({ state: 'attached' });
}

/** The pages about oneself are taken as somebody of the role `user`, who has no live stream. */
const OWN_PAGES = ['my-connections', 'my-calls', 'my-approvals'];

async function openOwn(page: Page, path: string): Promise<void> {
  await page.goto(`/dashboard${path}`);
  await page.locator('h1').waitFor();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
}

async function openRow(page: Page, path: string, name: string): Promise<void> {
  await open(page, path);
  await page.getByRole('link', { name, exact: true }).click();
  await page.waitForURL(`**${path}/*`);
  await page.locator('.loading').first().waitFor({ state: 'detached' });
}

async function openView(page: Page, name: string): Promise<void> {
  await openRow(page, '/keys', 'coding agent');
  await page.getByRole('link', { name, exact: true }).click();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
}

async function take(
  browser: Browser,
  url: string,
  cookie: string,
  shot: Shot,
  folder: string,
): Promise<void> {
  const context = await browser.newContext({
    baseURL: url,
    colorScheme: shot.scheme,
    viewport: { width: WIDTHS[shot.width], height: shot.width === 'wide' ? 900 : 844 },
    reducedMotion: 'reduce',
  });
  const [name = '', value = ''] = cookie.split('=');
  await context.addCookies([{ name, value, url }]);
  const page = await context.newPage();
  page.on('console', message => {
    if (message.type() === 'error') console.error(`${shot.page}: ${message.text()}`);
  });
  await PAGES[shot.page]?.(page);
  const path = join(folder, `${shot.page}-${shot.width}-${shot.scheme}.png`);
  await page.screenshot({ path, fullPage: folder !== DOCS });
  await context.close();
}

const DOCS = join(ROOT, 'docs/screenshots');

function shots(all: boolean): Shot[] {
  if (!all) return KEPT;
  const schemes: Scheme[] = ['light', 'dark'];
  const widths = Object.keys(WIDTHS) as Width[];
  return Object.keys(PAGES).flatMap(page =>
    widths.flatMap(width => schemes.map(scheme => ({ page, width, scheme }))),
  );
}

function command(...args: string[]): string[] {
  return [process.execPath, join(ROOT, 'src/cli/main.ts'), ...args];
}

async function serve(env: Record<string, string>): Promise<{ child: Bun.Subprocess; url: string }> {
  const child = Bun.spawn(command('serve'), { env, stdout: 'pipe', stderr: 'ignore' });
  const decoder = new TextDecoder();
  let text = '';
  const end = Date.now() + START_MS;
  for await (const chunk of child.stdout) {
    text += decoder.decode(chunk, { stream: true });
    const url = /serves on (http:\S+)/.exec(text)?.[1];
    if (url !== undefined) return { child, url };
    if (Date.now() > end) break;
  }
  child.kill();
  throw new Error(`the service did not start:\n${text}`);
}

async function signIn(url: string, email: string, password: string): Promise<string> {
  const response = await fetch(`${url}/admin/v1/sign-in`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  return (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}

/** Rules that show approvers what they approve. */
const SHOWING = `name: refunds
rules:
  - tool: payments__refund
    action: require_approval
    show: [customer.name, order, reason]
    ask: "Refund {amount} {currency} to {customer.name}?"
  - { tool: "crm__*", action: require_approval, show: all }
`;

const HELD = [
  ['crm', 'merge_contacts', { keep: 'C-1042', merge: ['C-2210', 'C-2211'], reason: 'same e-mail address' }],
  [
    'payments',
    'refund',
    {
      amount: 240,
      currency: 'EUR',
      customer: { name: 'Nadia Berger' },
      order: 'A-10381',
      reason: 'Arrived broken; photo attached',
    },
  ],
] as const;

/** Servers that want OAuth, to which nobody has signed in. */
const SERVERS = [
  { name: 'crm', url: 'http://127.0.0.1:9001/mcp', transport: 'http', auth: 'oauth', oauth: { as: 'key' } },
  {
    name: 'payments',
    url: 'http://127.0.0.1:9002/mcp',
    transport: 'http',
    headers: { 'X-Region': 'eu' },
    auth: 'oauth',
    oauth: { as: 'person', clientId: 'toolgate-desk', clientSecret: 'not a real one', scopes: ['refunds'] },
  },
];

/** Makes calls that wait for a person. The questions of the demo's week have no details, because they are only stored. */
async function holdCalls(post: Post, admin: string, email: string): Promise<void> {
  const { id: policyId } = await post('/admin/v1/policies', admin, { text: SHOWING });
  const openTo = [`person:${email}`];
  const { key = '', id } = await post('/admin/v1/keys', admin, { name: 'support agent', policyId, openTo });
  for (const server of SERVERS) await post(`/admin/v1/keys/${id}/connected-tools`, admin, server);
  for (const [serverName, toolName, given] of HELD)
    await post('/v1/check', key, { serverName, toolName, args: given });
  await addNotes(post, admin, id ?? '');
}

function poster(url: string): Post {
  return async (path, token, body) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as Record<string, string>;
  };
}

/** The service has to know its own address before it starts. */
function freePort(): number {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
  const { port } = server;
  server.stop(true);
  return port ?? 0;
}

async function main(args: readonly string[]): Promise<void> {
  if (CHROMIUM === undefined)
    throw new Error('there is no Chromium here; name one in TOOLGATE_TEST_CHROMIUM');
  const all = args[0] === '--all';
  const folder = all ? (args[1] ?? '') : DOCS;
  const only = args.slice(2);
  if (folder === '') throw new Error('--all needs a folder');
  mkdirSync(folder, { recursive: true });
  const dataDir = mkdtempSync(join(tmpdir(), 'toolgate-screenshots-'));
  const port = String(freePort());
  const env = {
    PATH: process.env['PATH'] ?? '',
    TOOLGATE_DATA_DIR: dataDir,
    TOOLGATE_PORT: port,
    TOOLGATE_PUBLIC_URL: `http://127.0.0.1:${port}`,
    TOOLGATE_OAUTH: 'on',
  };
  const filled = Bun.spawnSync(command('demo', '--json'), { env, stderr: 'inherit' });
  const { signIn: made } = JSON.parse(filled.stdout.toString());
  const { child, url } = await serve({ ...env, TOOLGATE_CONFIG: declareNotes(dataDir) });
  const admin = readFileSync(join(dataDir, 'admin.token'), 'utf8').trim();
  const post = poster(url);
  await holdCalls(post, admin, made.email);
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu'],
  });
  try {
    const cookie = await signIn(url, made.email, made.password);
    const own = all ? await connectClients(url, post, admin) : '';
    for (const shot of shots(all)) {
      if (only.length > 0 && !only.includes(shot.page)) continue;
      await take(browser, url, OWN_PAGES.includes(shot.page) ? own : cookie, shot, folder);
      console.log(`${shot.page}, ${shot.width}, ${shot.scheme}`);
    }
  } finally {
    await browser.close();
    child.kill();
    await child.exited;
    rmSync(dataDir, { recursive: true, force: true });
  }
}

await main(process.argv.slice(2));
