// The links between the pages about oneself. People of the role `user` have them in the navigation instead.

import { useLocation } from 'preact-iso';
import { seesOwnOnly } from '../../session.ts';

const TABS = [
  ['/account', 'Account'],
  ['/connections', 'My connections'],
  ['/calls', 'My calls'],
  ['/my-approvals', 'My approvals'],
] as const;

export function MineTabs() {
  const { path } = useLocation();
  if (seesOwnOnly.value) return null;
  return (
    <nav class="tabs" aria-label="Yours">
      {TABS.map(([own, name]) => (
        <a
          key={own}
          href={`/dashboard${own}`}
          aria-current={path === `/dashboard${own}` ? 'page' : undefined}
        >
          {name}
        </a>
      ))}
    </nav>
  );
}
