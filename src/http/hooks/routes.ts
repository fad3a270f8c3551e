// The list of all doors.

import type { Route } from '../serving/route.ts';
import { agentRoutes } from './agents.ts';
import { arcadeRoute } from './arcade.ts';
import { authzenMetadata, authzenRoutes } from './authzen-routes.ts';
import { extAuthzRoutes } from './ext-authz.ts';
import { litellmRoute } from './litellm.ts';
import { obotRoute } from './obot.ts';
import { opaRoutes } from './opa.ts';
import { toolhiveRoute } from './toolhive.ts';

export const hookRoutes: Route[] = [
  ...agentRoutes,
  ...authzenRoutes,
  authzenMetadata,
  ...extAuthzRoutes,
  ...opaRoutes,
  toolhiveRoute,
  litellmRoute,
  arcadeRoute,
  obotRoute,
];
