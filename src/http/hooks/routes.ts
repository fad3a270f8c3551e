// Every door, a line each.

import type { Route } from '../route.ts';
import { arcadeRoute } from './arcade.ts';
import { litellmRoute } from './litellm.ts';
import { obotRoute } from './obot.ts';
import { toolhiveRoute } from './toolhive.ts';

export const hookRoutes: Route[] = [toolhiveRoute, litellmRoute, arcadeRoute, obotRoute];
