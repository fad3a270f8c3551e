// The pages of the service in a real browser: they can be used with and without script, by anybody, in light
// and dark, on a phone and a wide screen; they show hostile names as text, and speak to nobody else.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { visible, visibleLines } from '../../src/core/text/visible.ts';
import { docsPage } from '../../src/http/docs/docs.ts';
import { guidePage } from '../../src/http/docs/guide-pages.ts';
import { openapi } from '../../src/http/docs/openapi.ts';
import {
  type ApprovalAction,
  askPage,
  badRequestPage,
  gonePage,
  passkeyNeededPage,
  resolvedPage,
  signInNeededPage,
  tooManyPage,
  unknownPage,
  votedPage,
} from '../../src/http/pages/approve-page.ts';
import type { ApprovalFacts, Insight } from '../../src/http/pages/approve-parts.ts';
import type { Passkey } from '../../src/http/pages/approve-passkey.ts';
import { routes } from '../../src/http/routes.ts';
import { card, html, page, trusted } from '../../src/http/serving/page.ts';
import { hasBrowser, launch, violationsOf } from '../support/browser.ts';
import { until } from '../support/faults.ts';
import { whenChanged } from '../support/when-changed.ts';

const NOW = Date.UTC(2026, 4, 14, 9, 30);
const TOKEN = 'tg_apr_example';
const FACTS: ApprovalFacts = {
  serverName: 'github',
  toolName: 'delete_repository',
  keyName: 'release agent',
  sessionLabel: 'release 2.14',
  personEmail: 'ann@example.com',
  reason: 'Rule 3 of policy "prod" requires approval for github__delete_repository. Deletions are final.',
  createdAt: NOW - 18 * 60_000,
  expiresAt: NOW + 42 * 60_000,
  approvers: null,
};
const NOTHING_KNOWN: Insight = {
  shown: {},
  approvedBy: [],
  context: {
    toolDescription: null,
    drifted: false,
    earlier: { asked: 0, approved: 0, denied: 0, timedOut: 0, lastBy: null, lastAt: null },
    recentCalls: [],
    marks: [],
  },
  runs: null,
};
const ask = (
  action: ApprovalAction | null,
  submitsItself: boolean,
  facts = FACTS,
  insight = NOTHING_KNOWN,
  now = NOW,
  passkey: Passkey = 'not needed',
) => {
  const about = { token: TOKEN, referenceId: 'r', inSession: true, insight };
  return askPage(facts, { ...about, action, submitsItself, now, passkey });
};

/** Everything that the page can show, with as many fields as there are and values of any length. */
const insightOf = (text: string, size = 2): Insight => ({
  shown: {
    details: {
      question: `Refund ${text}?`,
      inserted: [{ from: 7, to: 7 + text.length }],
      fields: Array.from({ length: size }, (_, at) => ({ path: `items[${at}].${text}`, value: text })),
      omitted: 3,
      complete: false,
      digest: 'digest',
    },
  },
  approvedBy: [`operator:${text}`],
  context: {
    toolDescription: text,
    drifted: true,
    earlier: { asked: 14, approved: 12, denied: 1, timedOut: 1, lastBy: `operator:${text}`, lastAt: NOW },
    recentCalls: [{ at: NOW, serverName: text, toolName: text, decision: 'allow' }],
    marks: [{ name: 'untrusted', since: NOW, serverName: text, toolName: text, toolCallId: 'c' }],
  },
  runs: 'Toolgate makes this call as soon as it is approved.',
});
const BY_TWO = {
  ...FACTS,
  approvers: { group: 'finance', needed: 2, approved: 1 },
};

const HOSTILE = [
  '<script>window.hit=1</script>',
  '<img src=x onerror="window.hit=1">',
  '"><svg onload=window.hit=1>',
  "' autofocus onfocus='window.hit=1",
  '</dd></dl><form action="https://evil.example"><button>Approve this call</button></form>',
  '</title></style></noscript><iframe src="https://evil.example"></iframe>',
  '<a href="javascript:window.hit=1">x</a>',
  '&lt;b&gt; &#60;i&#62; {{hit}} `hit`',
  '<style>*{display:none}</style><link rel=stylesheet href=https://evil.example/x.css>',
  '<meta http-equiv=refresh content="0;url=https://evil.example">',
];
const hostileFacts = (text: string): ApprovalFacts => ({
  ...FACTS,
  serverName: text,
  toolName: text,
  keyName: text,
  sessionLabel: text,
  personEmail: text,
  reason: text,
  approvers: { group: text, needed: 1, approved: 1 },
});

/** So many routes show every kind of element that the reference has. */
const PART = 8;

const PAGES: Record<string, () => Response> = {
  'api-reference': () => docsPage(openapi(routes, '0.1.0')),
  guide: () => guidePage('conditions') as Response,
  'api-reference-part': () => docsPage(openapi(routes.slice(0, PART), '0.1.0')),
  ask: () => ask(null, true),
  'ask-informed': () => ask(null, true, FACTS, insightOf('80.00 EUR')),
  'ask-much': () => ask(null, true, FACTS, insightOf('x'.repeat(500), 16)),
  'ask-two': () => ask(null, true, BY_TWO, { ...NOTHING_KNOWN, approvedBy: ['operator:bob@example.com'] }),
  'ask-gone': () => ask(null, true, FACTS, { ...NOTHING_KNOWN, shown: { detailsGone: true } }),
  'ask-passkey': () => ask('approve', true, FACTS, NOTHING_KNOWN, NOW, 'ready'),
  'ask-no-passkey': () => ask(null, true, FACTS, NOTHING_KNOWN, NOW, 'missing'),
  voted: () => votedPage(BY_TWO),
  confirm: () => ask('approve', false),
  approved: () => resolvedPage(FACTS, 'approved', null),
  granted: () => resolvedPage(FACTS, 'approved', NOW + 3_600_000),
  'gone-approved': () => gonePage(FACTS, 'approved', NOW),
  'gone-lapsed': () => gonePage(FACTS, 'timed_out'),
  'gone-withdrawn': () => gonePage(FACTS, 'withdrawn', NOW),
  'too-many': () => tooManyPage(41),
  'sign-in-needed': () => signInNeededPage(),
};
/** Set like one of the pages above, or not to be looked at in peace. */
const OTHERS: Record<string, () => Response> = {
  'confirm-deny': () => ask('deny', false),
  denied: () => resolvedPage(FACTS, 'denied', null),
  'gone-bare': () => gonePage(null, 'timed_out'),
  unknown: () => unknownPage(),
  'bad-request': () => badRequestPage('The action must be "approve" or "deny".'),
  'ask-no-name': () => ask('approve', true, FACTS, NOTHING_KNOWN, NOW, 'impossible here'),
  'passkey-needed': () => passkeyNeededPage('This call has to be approved with a passkey.', 403),
  'submits-approve': () => ask('approve', true),
  'submits-deny': () => ask('deny', true),
  'breaks-policy': () =>
    page({ title: 'x', body: card('x', html`${trusted('<p onclick="1" style="color:red">x</p>')}`) }),
};
for (const [index, text] of HOSTILE.entries())
  OTHERS[`hostile-${index}`] = () => ask(null, true, hostileFacts(text), insightOf(text));

// A few of them: the reference has one per response, all set alike, and axe looks at every word.
const UNFOLD = "[...document.querySelectorAll('details')].slice(0, 8).forEach(each => { each.open = true })";

interface Post {
  path: string;
  type: string;
  body: string;
}
const posts: Post[] = [];

async function serve(request: Request): Promise<Response> {
  const path = new URL(request.url).pathname;
  if (request.method === 'POST') {
    posts.push({ path, type: request.headers.get('content-type') ?? '', body: await request.text() });
    return resolvedPage(FACTS, 'approved', null);
  }
  const made = PAGES[path.slice(1)] ?? OTHERS[path.slice(1)];
  return made?.() ?? new Response('nothing here', { status: 404 });
}

let server: ReturnType<typeof Bun.serve>;
let browser: Browser;

interface Watched {
  page: Page;
  /** What the browser refused to load or run. */
  refused: string[];
  /** Requests to anywhere but this server. */
  strays: string[];
}

async function visit<Result>(
  options: BrowserContextOptions,
  use: (watched: Watched) => Promise<Result>,
): Promise<Result> {
  const context = await browser.newContext({ baseURL: server.url.href, ...options });
  try {
    const watched: Watched = { page: await context.newPage(), refused: [], strays: [] };
    watched.page.on('console', message => {
      if (/content security policy/i.test(message.text())) watched.refused.push(message.text());
    });
    watched.page.on('pageerror', error => watched.refused.push(error.message));
    context.on('request', request => {
      const url = new URL(request.url());
      if (url.protocol !== 'data:' && url.origin !== server.url.origin) watched.strays.push(request.url());
    });
    return await use(watched);
  } finally {
    await context.close();
  }
}

const field = (post: Post | undefined) => Object.fromEntries(new URLSearchParams(post?.body));

describe('headers and text, without a browser', () => {
  test('every page forbids storing, referring, indexing, sniffing, framing and inline code', () => {
    for (const made of [...Object.values(PAGES), ...Object.values(OTHERS)]) {
      const { headers } = made();
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('x-robots-tag')).toBe('noindex');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      const policy = headers.get('content-security-policy') ?? '';
      for (const part of [
        "default-src 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
      ])
        expect(policy.split('; ')).toContain(part);
      expect(policy).not.toContain('unsafe');
    }
  });

  test('the nonce is another one each time, and script is allowed only where there is one', () => {
    const policies = [1, 2, 3].map(() => ask('approve', true).headers.get('content-security-policy') ?? '');
    expect(new Set(policies).size).toBe(3);
    expect(policies[0]).toContain("script-src 'nonce-");
    expect(unknownPage().headers.get('content-security-policy')).not.toContain('script-src');
  });

  test('each page has its status, and the limit says when to come back', () => {
    const statuses = Object.entries({ ...PAGES, ...OTHERS }).map(([name, made]) => [name, made().status]);
    expect(Object.fromEntries(statuses)).toMatchObject({
      ask: 200,
      approved: 200,
      denied: 200,
      'gone-approved': 410,
      'gone-lapsed': 410,
      'gone-bare': 410,
      unknown: 404,
      'bad-request': 400,
      'too-many': 429,
      'sign-in-needed': 401,
    });
    expect(tooManyPage(40.2).headers.get('retry-after')).toBe('41');
  });

  test('what cannot be seen is written out, and what can is left alone', () => {
    expect(visible('a\u202Eb\u2066c\u200Ed\u061Ce')).toBe('a\\u{202E}b\\u{2066}c\\u{200E}d\\u{061C}e');
    expect(visible('\u200B\u200D\u2060\uFEFF\u00AD\u{E0041}')).toBe(
      '\\u{200B}\\u{200D}\\u{2060}\\u{FEFF}\\u{00AD}\\u{E0041}',
    );
    expect(visible('\u0000\n\u0085\u2028\u00A0\u3164\uFE0F\uD800')).toBe(
      '\\u{0000}\\u{000A}\\u{0085}\\u{2028}\\u{00A0}\\u{3164}\\u{FE0F}\\u{D800}',
    );
    const plain = 'create_issue für 東京 עברית <b> 😀 a  b';
    expect(visible(plain)).toBe(plain);
  });

  test('a value keeps its first line breaks, and the rest are written out', () => {
    expect(visibleLines('one\n\n  two\u202E\r\nthree')).toBe('one\n\n  two\\u{202E}\\u{000D}\nthree');
    const tall = visibleLines(`${'\n'.repeat(500)}end`);
    expect(tall.split('\n')).toHaveLength(21);
    expect(tall).toEndWith(`${'\\u{000A}'.repeat(480)}end`);
  });

  test('a page that submits itself has its button for browsers without script only', async () => {
    const text = await ask('approve', true).text();
    expect(text).toContain('Approve this call</button>');
    expect(text.replace(/<noscript>.*?<\/noscript>/gs, '')).not.toContain('<button');
  });

  test('how long is left is said in words, and never as more than there is', async () => {
    const left = async (ms: number) => {
      const made = ask(null, false, { ...FACTS, expiresAt: NOW + ms });
      return /\(([^()]*) left\)/.exec(await made.text())?.[1];
    };
    expect(await left(59_999)).toBe('less than a minute');
    expect(await left(60_000)).toBe('1 minute');
    expect(await left(3_599_999)).toBe('59 minutes');
    expect(await left(3_660_000)).toBe('1 hour 1 minute');
    expect(await left(2 * 86_400_000 + 3 * 3_600_000 + 60_000)).toBe('2 days 3 hours');
  });

  test('the reference names every route, once', async () => {
    const text = await PAGES['api-reference']?.().text();
    const documented = [...(text ?? '').matchAll(/<article id="([^"]+)"/g)].map(found => found[1]);
    expect(documented).toHaveLength(routes.filter(({ unlisted }) => unlisted !== true).length);
    expect(new Set(documented).size).toBe(documented.length);
  });
});

/** How a page is looked at; axe looks at it once in each scheme, and once at each width. */
const LOOKS = [
  { colorScheme: 'light', width: 1440, examined: true },
  { colorScheme: 'light', width: 390, examined: false },
  { colorScheme: 'dark', width: 390, examined: true },
  { colorScheme: 'dark', width: 1440, examined: false },
] as const;

/** The whole reference is so long that its colours alone take twenty seconds: axe looks at a part of it. */
const isExamined = (name: string): boolean => name !== 'api-reference';

/** Each element by its name, classes and parent. */
const KINDS = `[...new Set([...document.querySelectorAll('*')].map(each =>
  [each, each.parentElement].map(one => one?.tagName + '.' + one?.className).join(' in ')))].sort()`;

describe.if(hasBrowser())('in a browser', () => {
  beforeAll(async () => {
    server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: serve });
    browser = await launch();
  });
  afterAll(() => server.stop(true));

  test('every page is accessible, fits and stays at home: light and dark, wide and narrow', async () => {
    await visit({}, async ({ page, refused, strays }) => {
      for (const name of Object.keys(PAGES)) {
        await page.goto(name);
        await page.evaluate(UNFOLD);
        for (const { colorScheme, width, examined } of LOOKS) {
          await page.emulateMedia({ colorScheme });
          await page.setViewportSize({ width, height: 844 });
          const found = examined && isExamined(name) ? await violationsOf(page) : [];
          const wider = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
          expect([name, colorScheme, width, found, wider]).toEqual([name, colorScheme, width, [], 0]);
        }
      }
      expect(refused).toEqual([]);
      expect(strays).toEqual([]);
    });
  });

  whenChanged('src/http/**')(
    'the whole reference is accessible but for its colours, which are seen on a part of it',
    async () => {
      await visit({}, async ({ page }) => {
        await page.goto('api-reference');
        await page.evaluate(UNFOLD);
        expect(await violationsOf(page, 'structure')).toEqual([]);
      });
    },
  );

  test('what is seen of the part is seen of the whole reference', async () => {
    await visit({}, async ({ page }) => {
      await page.goto('api-reference');
      const whole = await page.evaluate(KINDS);
      await page.goto('api-reference-part');
      expect(await page.evaluate(KINDS)).toEqual(whole);
    });
  });

  test('the watch for refused code sees it', async () => {
    await visit({}, async ({ page, refused }) => {
      await page.goto('breaks-policy');
      await until('it is told', () => refused.length > 0);
    });
  });

  for (const action of ['approve', 'deny'] as const) {
    test(`a link to ${action} submits itself, exactly once`, async () => {
      posts.length = 0;
      await visit({}, async ({ page, refused, strays }) => {
        await page.goto(`submits-${action}`, { waitUntil: 'commit' });
        await page.waitForURL(`**/v1/approve/${TOKEN}`);
        await page.getByRole('heading', { name: 'Approved' }).waitFor();
        await page.waitForLoadState('networkidle');
        expect(posts.map(field)).toEqual([{ action }]);
        expect(refused).toEqual([]);
        expect(strays).toEqual([]);
      });
    });

    test(`without script a link to ${action} waits for its button`, async () => {
      posts.length = 0;
      await visit({ javaScriptEnabled: false }, async ({ page }) => {
        await page.goto(`submits-${action}`, { waitUntil: 'networkidle' });
        expect(posts).toEqual([]);
        await page
          .getByRole('button', { name: `${action === 'approve' ? 'Approve' : 'Deny'} this call` })
          .click();
        await page.waitForURL(`**/v1/approve/${TOKEN}`);
        expect(posts.map(field)).toEqual([{ action, note: '' }]);
      });
    });
  }

  test('a page that asks for confirmation waits, shows one button and leads to the other choice', async () => {
    posts.length = 0;
    await visit({}, async ({ page }) => {
      await page.goto('confirm', { waitUntil: 'networkidle' });
      expect(posts).toEqual([]);
      expect(await page.getByRole('button').allTextContents()).toEqual(['Approve this call']);
      const other = page.getByRole('link', { name: 'Deny it instead' });
      expect(await other.getAttribute('href')).toBe(`/v1/approve/${TOKEN}?action=deny`);
      await page.getByRole('button').click();
      await page.waitForURL(`**/v1/approve/${TOKEN}`);
      expect(posts.map(field)).toEqual([{ action: 'approve', note: '' }]);
    });
  });

  for (const javaScriptEnabled of [true, false])
    test(`each button posts just what it says (script ${javaScriptEnabled ? 'on' : 'off'})`, async () => {
      await visit({ javaScriptEnabled }, async ({ page }) => {
        for (const [button, sent] of [
          ['Approve this call', { action: 'approve' }],
          ['Deny this call', { action: 'deny' }],
          ['Approve for this long', { action: 'approve', duration: '8h', only: 'session' }],
        ] as const) {
          posts.length = 0;
          await page.goto('ask', { waitUntil: 'networkidle' });
          expect(posts).toEqual([]);
          await page.getByText('Approve for a while').click();
          await page.getByLabel('For how long').selectOption('8 hours');
          await page.getByRole('button', { name: button }).click();
          await page.waitForURL(`**/v1/approve/${TOKEN}`);
          expect(posts.map(field)).toEqual([{ ...sent, note: '' }]);
          expect(posts[0]?.type).toBe('application/x-www-form-urlencoded');
        }
      });
    });

  test('hostile names appear as text and do nothing', async () => {
    await visit({}, async ({ page, refused, strays }) => {
      for (const [index, text] of HOSTILE.entries()) {
        await page.goto(`hostile-${index}`, { waitUntil: 'networkidle' });
        const shown = await page.locator('.facts dd').allTextContents();
        expect(shown.slice(0, 9)).toEqual([
          ...[text, text, `${text}__${text}`, text, text, text, text],
          `1 of 1 of ${text} (${text})`,
          text,
        ]);
        expect(await page.locator('.question').textContent()).toBe(`Refund ${text}?`);
        expect(await page.locator('.question mark').allTextContents()).toEqual([text]);
        expect(await page.locator('.values').locator('dt, dd').allTextContents()).toEqual([
          ...[`items[0].${text}`, text],
          ...[`items[1].${text}`, text],
        ]);
        const same = page.locator('input[name=same]');
        expect(await same.evaluateAll(boxes => boxes.map(box => box.getAttribute('value')))).toEqual([
          `items[0].${text}`,
          `items[1].${text}`,
        ]);
        expect(await page.evaluate('window.hit')).toBeUndefined();
        expect(await page.locator('form').count()).toBe(2);
        expect(await page.locator('iframe, img, script:not([nonce]), dd a, meta[http-equiv]').count()).toBe(
          0,
        );
      }
      expect(refused).toEqual([]);
      expect(strays).toEqual([]);
    });
  });

  test('times are in the reader’s zone with script, and in UTC without', async () => {
    for (const [javaScriptEnabled, asked] of [
      [true, /May 14, 2026.*06:12 PM GMT\+9/],
      [false, /14 May 2026, 09:12 UTC/],
    ] as const)
      await visit({ javaScriptEnabled, timezoneId: 'Asia/Tokyo', locale: 'en-US' }, async ({ page }) => {
        await page.goto('ask');
        expect(await page.locator('time').first().textContent()).toMatch(asked);
      });
  });

  test('a note, the session and the same values go with what is approved for a while', async () => {
    posts.length = 0;
    await visit({ javaScriptEnabled: false }, async ({ page }) => {
      await page.goto('ask-informed');
      await page.getByText('Approve for a while').click();
      expect(await page.getByLabel('In this session only').isChecked()).toBe(true);
      const lasting = page.locator('#lasting');
      const same = await lasting.locator('input[name=same]').all();
      expect(await Promise.all(same.map(each => each.isChecked()))).not.toContain(false);
      for (const each of same.slice(1)) await each.uncheck();
      await lasting.getByLabel('Note to the agent').fill('Only small ones.');
      await page.getByRole('button', { name: 'Approve for this long' }).click();
      await page.waitForURL(`**/v1/approve/${TOKEN}`);
      expect([...new URLSearchParams(posts[0]?.body)]).toEqual([
        ['action', 'approve'],
        ['seen', 'incomplete'],
        ['duration', '15m'],
        ['only', 'session'],
        ['same', 'items[0].80.00 EUR'],
        ['note', 'Only small ones.'],
      ]);
    });
  });

  test('where several have to approve, nothing is offered for a while', async () => {
    await visit({}, async ({ page }) => {
      await page.goto('ask-two');
      expect(await page.getByRole('button').allTextContents()).toEqual([
        'Approve this call',
        'Deny this call',
      ]);
      await page.getByText('1 of 2 of finance (bob@example.com)').waitFor();
      await page.getByText('Yours is the last approval that is needed').waitFor();
    });
  });

  test('a name in a right-to-left script does not change places with the server', async () => {
    OTHERS['rtl'] = () => ask(null, true, { ...FACTS, serverName: 'אבג', toolName: 'דהו' });
    await visit({}, async ({ page }) => {
      await page.goto('rtl');
      const parts = page.locator('dd bdi[dir=ltr] > bdi');
      const [first, second] = [await parts.nth(0).boundingBox(), await parts.nth(1).boundingBox()];
      expect(first?.x).toBeLessThan(second?.x ?? 0);
    });
  });
});
