// Every door, a line each.

import type { Route } from '../route.ts';
import { authzenMetadata, authzenRoutes } from './authzen-routes.ts';
import { opaRoutes } from './opa.ts';

export const hookRoutes: Route[] = [...authzenRoutes, authzenMetadata, ...opaRoutes];
