// All routes of the administration.

import type { Route } from '../serving/route.ts';
import { approvalProofRoutes } from './approval-proofs.ts';
import { approvalAdminRoutes } from './approvals.ts';
import { auditRoutes } from './audit.ts';
import { callRoutes } from './calls.ts';
import { changeRoutes } from './changes.ts';
import { connectTicketRoutes } from './connect-tickets.ts';
import { connectedToolRoutes } from './connected-tools.ts';
import { doctorRoutes } from './doctor.ts';
import { editConnectedToolRoutes } from './edit-connected-tool.ts';
import { eventRoutes } from './events.ts';
import { grantRoutes } from './grants.ts';
import { keyRoutes } from './keys.ts';
import { limitRoutes } from './limits.ts';
import { myRoutes } from './me.ts';
import { notificationRoutes } from './notifications.ts';
import { oauthClientRoutes } from './oauth-clients.ts';
import { operatorRoutes } from './operators.ts';
import { packRoutes } from './packs.ts';
import { passkeyRoutes } from './passkeys.ts';
import { policyRoutes } from './policies.ts';
import { replayRoutes } from './replay.ts';
import { runRoutes } from './runs.ts';
import { sealRoutes } from './seals.ts';
import { serverFileRoutes } from './server-file.ts';
import { serverSignInRoutes } from './server-sign-ins.ts';
import { sessionAdminRoutes } from './sessions.ts';
import { settingRoutes } from './settings.ts';
import { setupRoutes } from './setup.ts';
import { shadowRoutes } from './shadow.ts';
import { shippingRoutes } from './shipping.ts';
import { signInRoutes } from './sign-ins.ts';
import { statsRoutes } from './stats.ts';
import { suggestRoutes } from './suggest.ts';
import { toolDefinitionRoutes } from './tool-definitions.ts';
import { toolReviewRoutes } from './tool-reviews.ts';
import { presetRoutes } from './tool-server-presets.ts';
import { toolServerRoutes } from './tool-servers.ts';
import { webhookRoutes } from './webhooks.ts';

export const adminRoutes: Route[] = [
  ...policyRoutes,
  ...replayRoutes,
  ...packRoutes,
  ...limitRoutes,
  ...keyRoutes,
  ...connectTicketRoutes,
  ...suggestRoutes,
  ...shadowRoutes,
  ...toolServerRoutes,
  ...connectedToolRoutes,
  ...toolDefinitionRoutes,
  ...toolReviewRoutes,
  ...editConnectedToolRoutes,
  ...serverSignInRoutes,
  ...serverFileRoutes,
  ...presetRoutes,
  ...sessionAdminRoutes,
  ...runRoutes,
  ...approvalAdminRoutes,
  ...approvalProofRoutes,
  ...grantRoutes,
  ...notificationRoutes,
  ...webhookRoutes,
  ...auditRoutes,
  ...callRoutes,
  ...sealRoutes,
  ...shippingRoutes,
  ...statsRoutes,
  ...eventRoutes,
  ...changeRoutes,
  ...settingRoutes,
  ...doctorRoutes,
  ...setupRoutes,
  ...operatorRoutes,
  ...oauthClientRoutes,
  ...signInRoutes,
  ...passkeyRoutes,
  ...myRoutes,
];
