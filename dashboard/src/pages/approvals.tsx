// The inbox: calls that wait for a person, how earlier ones ended, and the open grants. The address says which of the
// three is shown, or which approval.

import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import { Page } from '../components/page.tsx';
import { lazy } from '../lazy.ts';
import { useGet } from '../load.ts';
import { pending } from '../pending.ts';
import type { UnknownCall } from '../resources.ts';
import { NotifyChoice } from './approvals/notify-choice.tsx';
import { Waiting } from './approvals/waiting.tsx';

const Grants = lazy(() => import('./approvals/grants.tsx').then(({ Grants }) => Grants));
const History = lazy(() => import('./approvals/history.tsx').then(({ History }) => History));
const UnknownCalls = lazy(() => import('./approvals/unknown.tsx').then(({ UnknownCalls }) => UnknownCalls));
const OneApproval = lazy(() => import('./approvals/one.tsx').then(({ OneApproval }) => OneApproval));

const VIEWS: Record<string, () => ComponentChildren> = {
  waiting: () => <Waiting />,
  history: () => <History />,
  grants: () => <Grants />,
};

export default function Approvals() {
  const id = useRoute().params['id'];
  return id === undefined ? <Lists /> : <OneApproval key={id} id={id} />;
}

function Lists() {
  const { query } = useLocation();
  const view = query['view'] ?? 'waiting';
  return (
    <Page
      title="Approvals"
      lead="Tool calls that wait until a person answers."
      actions={view === 'waiting' && <NotifyChoice />}
    >
      <nav class="tabs" aria-label="Approvals">
        <Tab view="waiting" current={view} name="Waiting" count={pending.value?.length} />
        <Tab view="history" current={view} name="History" />
        <Tab view="grants" current={view} name="Grants" />
      </nav>
      {view !== 'grants' && <Unknown />}
      {(VIEWS[view] ?? VIEWS['waiting'])?.()}
    </Page>
  );
}

/** No live event tells of a call of which it is not known whether it ran. */
const AGAIN_MS = 15_000;

/** What shows them is loaded when there are any, which is rare. */
function Unknown() {
  const { data, reload } = useGet<{ calls: UnknownCall[] }>('/calls', { outcome: 'unknown' });
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  return data?.calls[0] && <UnknownCalls calls={data.calls} reload={reload} />;
}

interface TabProps {
  view: string;
  current: string;
  name: string;
  count?: number | undefined;
}

function Tab({ view, current, name, count }: TabProps) {
  const query = view === 'waiting' ? '' : `?view=${view}`;
  return (
    <a href={`/dashboard/approvals${query}`} aria-current={view === current ? 'page' : undefined}>
      {name}
      {count !== undefined && count > 0 && <span class="count">{count}</span>}
    </a>
  );
}
