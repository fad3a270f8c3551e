// The list of all routes. The service loads it when somebody first asks for one that is not in first-routes.ts; the
// OpenAPI document and the tests go through all of it.

import { adminRoutes } from './admin/routes.ts';
import { approveRoutes } from './approve.ts';
import { checkRoutes } from './check.ts';
import { connectRoutes } from './connect.ts';
import { dashboardRoutes } from './dashboard.ts';
import { guideRoutes } from './guides.ts';
import { healthRoutes } from './health.ts';
import { hookRoutes } from './hooks/routes.ts';
import { mcpRoutes } from './mcp.ts';
import { oauthRoutes } from './oauth/routes.ts';
import { referenceRoutes } from './reference.ts';
import type { Route } from './route.ts';
import { serverPageRoutes } from './server-sign-ins.ts';
import { sessionRoutes } from './sessions.ts';
import { setupPageRoutes } from './setup.ts';
import { signInPageRoutes } from './sign-in.ts';
import { signOnRoutes } from './single-sign-on.ts';
import { slackRoutes } from './slack.ts';

export const routes: Route[] = [
  ...checkRoutes,
  ...sessionRoutes,
  ...approveRoutes,
  ...slackRoutes,
  ...mcpRoutes,
  ...adminRoutes,
  ...setupPageRoutes,
  ...signInPageRoutes,
  ...dashboardRoutes,
  ...signOnRoutes,
  ...serverPageRoutes,
  ...oauthRoutes,
  ...hookRoutes,
  ...healthRoutes,
  ...guideRoutes,
  ...connectRoutes,
  ...referenceRoutes(() => routes),
];
