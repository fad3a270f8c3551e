// The administration, one line per noun.

import type { Route } from '../route.ts';
import { approvalAdminRoutes } from './approvals.ts';
import { auditRoutes } from './audit.ts';
import { changeRoutes } from './changes.ts';
import { keyRoutes } from './keys.ts';
import { policyRoutes } from './policies.ts';
import { sessionAdminRoutes } from './sessions.ts';
import { setupRoutes } from './setup.ts';
import { statsRoutes } from './stats.ts';

export const adminRoutes: Route[] = [
  ...policyRoutes,
  ...keyRoutes,
  ...sessionAdminRoutes,
  ...approvalAdminRoutes,
  ...auditRoutes,
  ...statsRoutes,
  ...changeRoutes,
  ...setupRoutes,
];
