// The shell: the navigation, the page at this address, the signed-in operator, and announcements. The navigation is a
// column on wide screens and a menu on narrow ones.

import { useEffect, useRef } from 'preact/hooks';
import { LocationProvider, Route, Router, useLocation } from 'preact-iso';
import { announcement } from './announce.ts';
import { Boundary } from './components/boundary.tsx';
import { Page } from './components/page.tsx';
import { Empty } from './components/states.tsx';
import type { Tone } from './components/text.tsx';
import { badThings } from './health.ts';
import { isLive, refresh } from './live.ts';
import { PAGES, type PageEntry } from './pages.ts';
import { pending } from './pending.ts';
import { mayAdminister, me, seesOwnOnly } from './session.ts';
import { type Theme, theme } from './theme.ts';

/** The addresses of the dashboard itself; the server renders the sign-in and similar pages. */
const OWN = /^\/dashboard(?!\/(sign-in|sign-out|setup|join)\b)/;

export function App() {
  return (
    <LocationProvider scope={OWN}>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <Side />
      <main id="main" tabIndex={-1}>
        <Boundary>
          <Router onRouteChange={toTop}>
            {pagesFor(seesOwnOnly.value).map(({ path, component }) => (
              <Route
                key={path}
                path={path === '' ? '/dashboard' : `/dashboard${path}/:id?`}
                component={component}
              />
            ))}
            <Route default component={Unknown} />
          </Router>
        </Boundary>
      </main>
      <p class="announcement" role="status" aria-live="polite">
        {announcement.value}
      </p>
    </LocationProvider>
  );
}

/** After following a link, the focus is at the beginning of the new page, also for screen readers. */
function toTop(): void {
  document.querySelector('main')?.focus({ preventScroll: true });
}

/** People of the role `user` have no overview, and begin at their connections. */
function pagesFor(ownOnly: boolean): Pick<PageEntry, 'path' | 'component'>[] {
  return ownOnly ? [{ path: '', component: ToConnections }, ...PAGES.filter(page => page.own)] : PAGES;
}

function ToConnections() {
  const { route } = useLocation();
  useEffect(() => route('/dashboard/connections', true), []);
  return null;
}

function Unknown() {
  return (
    <Page title="Not found">
      <Empty title="There is no such page">
        <a href="/dashboard">Go to the start page</a>
      </Empty>
    </Page>
  );
}

function Side() {
  const { path } = useLocation();
  const menu = useRef<HTMLDetailsElement>(null);
  // A new address closes the menu.
  useEffect(() => menu.current?.removeAttribute('open'), [path]);
  return (
    <header class="side">
      <div class="side-inner">
        <a class="brand" href="/dashboard">
          <svg viewBox="0 0 24 24" width="26" height="26" aria-hidden="true">
            <rect class="mark" width="24" height="24" rx="6" />
            <path class="gate" d="M7 18V9a5 5 0 0 1 10 0v9M12 18v-5" />
          </svg>
          Toolgate
        </a>
        <div class="unfolded">
          <Contents path={path} />
        </div>
        <details class="folded" ref={menu}>
          <summary>Menu{pending.value?.length ? ` (${pending.value.length})` : ''}</summary>
          <Contents path={path} />
        </details>
      </div>
    </header>
  );
}

function Contents({ path }: { path: string }) {
  return (
    <>
      <nav aria-label="Pages">
        <ul>
          {PAGES.filter(isListed).map(page => (
            <li key={page.path}>
              <PageLink page={page} current={isCurrent(page, path)} />
            </li>
          ))}
        </ul>
      </nav>
      <div class="foot">
        {!seesOwnOnly.value && <Liveness />}
        <ThemeChoice />
        <Account />
      </div>
    </>
  );
}

function isListed({ own, admin }: PageEntry): boolean {
  return (own ?? false) === seesOwnOnly.value && (!admin || mayAdminister.value);
}

function isCurrent({ path: own }: PageEntry, path: string): boolean {
  const whole = `/dashboard${own}`;
  return path === whole || (own !== '' && path.startsWith(`${whole}/`));
}

function PageLink({ page, current }: { page: PageEntry; current: boolean }) {
  return (
    <a href={`/dashboard${page.path}`} aria-current={current ? 'page' : undefined}>
      <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
        <path d={page.icon} />
      </svg>
      {page.name}
      {page.path === '/approvals' && <Count of={pending.value?.length} word="waiting" tone="pending" />}
      {page.path === '/health' && <Count of={badThings.value} word="bad" tone="deny" />}
    </a>
  );
}

interface CountProps {
  of: number | null | undefined;
  word: string;
  tone: Tone;
}

function Count({ of: count, word, tone }: CountProps) {
  if (!count) return null;
  return (
    <span class={`count ${tone}`}>
      {count}
      <span class="unseen"> {word}</span>
    </span>
  );
}

function Liveness() {
  if (isLive.value) return <p class="liveness on">Live</p>;
  return (
    <p class="liveness">
      Not live
      <button type="button" class="link" onClick={refresh}>
        Refresh
      </button>
    </p>
  );
}

const NEXT: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };

function ThemeChoice() {
  const change = () => {
    theme.value = NEXT[theme.value];
  };
  return (
    <button type="button" class="link" onClick={change}>
      Colours: {theme.value}
    </button>
  );
}

function Account() {
  return (
    <div class="account">
      <p class="who" title={me.value.email ?? ''}>
        <a href="/dashboard/account">{me.value.email}</a>
      </p>
      <p class="soft">{me.value.role}</p>
      <form method="post" action="/dashboard/sign-out">
        <button type="submit" class="link">
          Sign out
        </button>
      </form>
    </div>
  );
}
