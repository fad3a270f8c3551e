// The pages of the dashboard, in the order of the navigation. Each is loaded when it is first shown.

import type { FunctionComponent } from 'preact';
import { lazy } from 'preact-iso';

export interface PageEntry {
  /** Below /dashboard; the empty one is the home. `<path>/:id` is the same page: `useRoute().params['id']`. */
  path: string;
  name: string;
  /** Of a drawing of 20 by 20. */
  icon: string;
  component: FunctionComponent;
}

export const PAGES: PageEntry[] = [
  {
    path: '',
    name: 'Overview',
    icon: 'M3 16V9M8 16V4M13 16v-5M18 16V7',
    component: lazy(() => import('./pages/overview.tsx')),
  },
  {
    path: '/approvals',
    name: 'Approvals',
    icon: 'M3 11l2.5-7h9L17 11v5H3zM3 11h4l1 2h4l1-2h4',
    component: lazy(() => import('./pages/approvals.tsx')),
  },
  {
    path: '/audit',
    name: 'Audit',
    icon: 'M5 3h7l3 3v11H5zM8 9h4M8 12.5h4',
    component: lazy(() => import('./pages/audit.tsx')),
  },
];
