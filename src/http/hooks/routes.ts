// Every door, a line each.

import type { Route } from '../route.ts';

export const hookRoutes: Route[] = [];
