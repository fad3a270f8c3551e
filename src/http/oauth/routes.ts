// All routes of the authorization server.

import type { Route } from '../serving/route.ts';
import { authorizeRoutes } from './authorize.ts';
import { metadataRoutes } from './metadata.ts';
import { registerRoutes } from './register.ts';
import { revokeRoutes } from './revoke.ts';
import { tokenRoutes } from './token.ts';

export const oauthRoutes: Route[] = [
  ...metadataRoutes,
  ...authorizeRoutes,
  ...tokenRoutes,
  ...registerRoutes,
  ...revokeRoutes,
];
