// The routes that agents and monitoring use. They are there from the start; all others are loaded when somebody first
// asks for one of them (server.ts), because they would take a third of every start.

import { checkRoutes } from './check.ts';
import { healthRoutes } from './health.ts';
import { hookRoutes } from './hooks/routes.ts';
import { mcpRoutes } from './mcp.ts';
import type { Route } from './route.ts';
import { sessionRoutes } from './sessions.ts';

export const firstRoutes: Route[] = [
  ...checkRoutes,
  ...sessionRoutes,
  ...mcpRoutes,
  ...hookRoutes,
  ...healthRoutes,
];
