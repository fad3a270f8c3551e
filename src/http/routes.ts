// The list of all routes. The service loads it when somebody first asks for one that is not in first-routes.ts; the
// OpenAPI document and the tests go through all of it.

import { adminRoutes } from './admin/routes.ts';
import { checkRoutes } from './agent/check.ts';
import { connectRoutes } from './agent/connect.ts';
import { mcpRoutes } from './agent/mcp.ts';
import { resultRoutes } from './agent/results.ts';
import { sessionRoutes } from './agent/sessions.ts';
import { toldRoutes } from './agent/told.ts';
import { guideRoutes } from './docs/guides.ts';
import { referenceRoutes } from './docs/reference.ts';
import { healthRoutes } from './health.ts';
import { hookRoutes } from './hooks/routes.ts';
import { oauthRoutes } from './oauth/routes.ts';
import { approveRoutes } from './pages/approve.ts';
import { dashboardRoutes } from './pages/dashboard.ts';
import { serverPageRoutes } from './pages/server-sign-ins.ts';
import { setupPageRoutes } from './pages/setup.ts';
import { signInPageRoutes } from './pages/sign-in.ts';
import { signOnRoutes } from './pages/single-sign-on.ts';
import type { Route } from './serving/route.ts';
import { slackRoutes } from './slack.ts';

export const routes: Route[] = [
  ...checkRoutes,
  ...toldRoutes,
  ...resultRoutes,
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
