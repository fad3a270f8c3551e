// The pages of the dashboard, in the order of the navigation. Each is loaded when it is first shown.

import type { FunctionComponent } from 'preact';
import { lazy } from './lazy.ts';

export interface PageEntry {
  /**
   * The path below /dashboard; the empty one is the home page. `<path>/:id` is the same page:
   * `useRoute().params['id']`.
   */
  path: string;
  name: string;
  /** The SVG path of an icon of 20 by 20. */
  icon: string;
  component: FunctionComponent;
  /**
   * The page is about the signed-in person. People of the role `user` have only such pages; the others reach them by
   * their e-mail address.
   */
  own?: true;
  /** Only admins find it in the navigation. */
  admin?: true;
}

const page = (load: () => Promise<{ default: FunctionComponent }>): FunctionComponent =>
  lazy(() => load().then(loaded => loaded.default));

export const PAGES: PageEntry[] = [
  {
    path: '',
    name: 'Overview',
    icon: 'M3 16V9M8 16V4M13 16v-5M18 16V7',
    component: page(() => import('./pages/overview.tsx')),
  },
  {
    path: '/approvals',
    name: 'Approvals',
    icon: 'M3 11l2.5-7h9L17 11v5H3zM3 11h4l1 2h4l1-2h4',
    component: page(() => import('./pages/approvals.tsx')),
  },
  {
    path: '/audit',
    name: 'Audit',
    icon: 'M5 3h7l3 3v11H5zM8 9h4M8 12.5h4',
    component: page(() => import('./pages/audit.tsx')),
  },
  {
    path: '/runs',
    name: 'Runs',
    icon: 'M4 5h4a3 3 0 0 1 3 3v4a3 3 0 0 0 3 3h2M13.5 12.5L16 15l-2.5 2.5M4 15h2',
    component: page(() => import('./pages/runs.tsx')),
  },
  {
    path: '/policies',
    name: 'Policies',
    icon: 'M10 2.5l6 2.2v4.8c0 3.6-2.4 6.2-6 8-3.6-1.8-6-4.4-6-8V4.7zM7.5 9.8l2 2 3.2-3.6',
    component: page(() => import('./pages/policies.tsx')),
  },
  {
    path: '/keys',
    name: 'Keys',
    icon: 'M7 8.5a3.5 3.5 0 1 0 .01 0M9.6 9.8L17 2.5M13.5 6l2.5 2.5',
    component: page(() => import('./pages/keys.tsx')),
  },
  {
    path: '/tool-servers',
    name: 'Tool servers',
    icon: 'M3 4h14v5H3zM3 11.5h14v5H3zM6 6.5h1M6 14h1M10 6.5h4M10 14h4',
    component: page(() => import('./pages/tool-servers.tsx')),
  },
  {
    path: '/webhooks',
    name: 'Webhooks',
    icon: 'M3 10h11M10.5 6l4 4-4 4M17.5 4v12',
    component: page(() => import('./pages/webhooks.tsx')),
  },
  {
    path: '/notifications',
    name: 'Notifications',
    icon: 'M5 13.5V9a5 5 0 0 1 10 0v4.5l1.5 1.5h-13zM8.5 17.5h3',
    component: page(() => import('./pages/notifications.tsx')),
  },
  {
    path: '/shipping',
    name: 'Shipping',
    icon: 'M2.5 6h9v8h-9zM11.5 9h3.5l2.5 2.5V14h-6zM6 16.5a1.5 1.5 0 1 0-.01 0M14.5 16.5a1.5 1.5 0 1 0-.01 0',
    component: page(() => import('./pages/shipping.tsx')),
  },
  {
    path: '/operators',
    name: 'Operators',
    icon: 'M7.5 9a3 3 0 1 0-.01 0M2.5 17c0-3.2 2.2-5 5-5s5 1.8 5 5M13 3.4a3 3 0 0 1 0 5.2M14.5 12.3c1.9.6 3 2.3 3 4.7',
    component: page(() => import('./pages/operators.tsx')),
  },
  {
    path: '/changes',
    name: 'Changes',
    icon: 'M4 10a6 6 0 1 1 2 4.5M4 10l-2-2M4 10l2-2M10 7v3.5l2.5 1.5',
    component: page(() => import('./pages/changes.tsx')),
  },
  {
    path: '/health',
    name: 'Health',
    icon: 'M2 10h4l2-5 4 10 2-5h4',
    component: page(() => import('./pages/health.tsx')),
    admin: true,
  },
  {
    path: '/settings',
    name: 'Settings',
    icon: 'M3 6h8M15 6h2M3 14h2M9 14h8M13 4v4M7 12v4',
    component: page(() => import('./pages/settings.tsx')),
  },
  {
    path: '/connections',
    name: 'My connections',
    icon: 'M7 3v4M13 3v4M5 7h10v3a5 5 0 0 1-10 0zM10 15v3',
    component: page(() => import('./pages/connections.tsx')),
    own: true,
  },
  {
    path: '/calls',
    name: 'My calls',
    icon: 'M5 3h7l3 3v11H5zM8 9h4M8 12.5h4',
    component: page(() => import('./pages/calls.tsx')),
    own: true,
  },
  {
    path: '/my-approvals',
    name: 'My approvals',
    icon: 'M3 11l2.5-7h9L17 11v5H3zM3 11h4l1 2h4l1-2h4',
    component: page(() => import('./pages/my-approvals.tsx')),
    own: true,
  },
  {
    path: '/account',
    name: 'Account',
    icon: 'M10 9.5a3.5 3.5 0 1 0-.01 0M3.5 17.5c0-3.6 2.9-5.5 6.5-5.5s6.5 1.9 6.5 5.5',
    component: page(() => import('./pages/account.tsx')),
    own: true,
  },
];
