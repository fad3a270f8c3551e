// The routes that agents and monitoring use. They are there from the start; all others are loaded when somebody first
// asks for one of them (server.ts), because they would take a third of every start.

import { checkRoutes } from './agent/check.ts';
import { mcpRoutes } from './agent/mcp.ts';
import { resultRoutes } from './agent/results.ts';
import { sessionRoutes } from './agent/sessions.ts';
import { toldRoutes } from './agent/told.ts';
import { healthRoutes } from './health.ts';
import { hookRoutes } from './hooks/routes.ts';
import type { Route } from './serving/route.ts';

export const firstRoutes: Route[] = [
  ...checkRoutes,
  ...toldRoutes,
  ...resultRoutes,
  ...sessionRoutes,
  ...mcpRoutes,
  ...hookRoutes,
  ...healthRoutes,
];
