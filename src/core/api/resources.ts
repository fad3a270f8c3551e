// Names for the resources of the service, as its routes show them. The shapes come from the routes' schemas
// (answers.ts), so the dashboard and the command line follow when a route gains or loses a field.

import type { Answers } from './answers.ts';

export type Policy = Answers['GET /admin/v1/policies']['policies'][number];
export type SavedPolicy = Answers['POST /admin/v1/policies'];
export type WholePolicy = Answers['GET /admin/v1/policies/{id}'];
export type PolicyVersion = Answers['GET /admin/v1/policies/{id}/versions']['versions'][number];
/** A policy to begin with. */
export type Pack = Answers['GET /admin/v1/packs']['packs'][number];
/** What a subject has used of a limit. */
export type UsedLimit = Answers['GET /admin/v1/limits']['limits'][number];
export type Key = Answers['GET /admin/v1/keys']['keys'][number];
/** The text of a policy for what a key did. */
export type SuggestedPolicy = Answers['POST /admin/v1/keys/{id}/suggest'];
/** A command for another machine. */
export type ConnectTicket = Answers['POST /admin/v1/connect-tickets'];
export type KeyWithSecret = Answers['POST /admin/v1/keys'];
/** A policy from what a key did. */
export type Suggestion = Answers['POST /admin/v1/keys/{id}/suggest'];
export type NotifyTargets = NonNullable<Key['notify']>;
/** A session as the key that made it sees it, with its token and without. */
export type NewSession = Answers['POST /v1/sessions'];
export type OwnSession = Answers['GET /v1/sessions']['sessions'][number];
/** A session as an operator sees it. */
export type Session = Answers['GET /admin/v1/sessions']['sessions'][number];
/** What a run has read. */
export type Run = Answers['GET /admin/v1/runs']['runs'][number];
export type ConnectedTool = Answers['GET /admin/v1/keys/{id}/connected-tools']['connectedTools'][number];
/** A server that keys share. */
export type ToolServer = Answers['GET /admin/v1/tool-servers']['toolServers'][number];
export type WholeToolServer = Answers['GET /admin/v1/tool-servers/{id}'];
/** A tool of a server, as it is looked at before somebody accepts it. */
export type ReviewedTool = Answers['GET /admin/v1/tool-servers/{id}/tools']['tools'][number];
/** An accepted definition, as a lock file names it. */
export type AcceptedTool = Answers['GET /admin/v1/accepted-tools']['tools'][number];
export type ToolServerPreset = Answers['GET /admin/v1/tool-server-presets']['presets'][number];
export type ServerFile = Answers['GET /admin/v1/server-file'];
/** What has changed in the server file. */
export type ServerFileChanges = Answers['POST /admin/v1/server-file/reload'];
/** A server that wants each person's own sign-in. */
export type MyServer = Answers['GET /admin/v1/me/servers']['servers'][number];
/** Our sign-in to a server that wants OAuth. */
export type ServerSignIn = MyServer['signIn'];
export type ToolTest = Answers['POST /admin/v1/keys/{id}/connected-tools/{toolId}/test'];
export type Definition =
  Answers['GET /admin/v1/keys/{id}/connected-tools/{toolId}/definitions']['definitions'][number];
export type ListedApproval = Answers['GET /admin/v1/approvals']['approvals'][number];
/** One approval, with what helps to answer it. */
export type WholeApproval = Answers['GET /admin/v1/approvals/{referenceId}'];
/** The signed answers to an approval, with all that is needed to verify them. */
export type ApprovalProofs = Answers['GET /admin/v1/approvals/{referenceId}/proofs'];
/** A call of which it is not known whether it ran. */
export type UnknownCall = Answers['GET /admin/v1/calls']['calls'][number];
export type Grant = Answers['GET /admin/v1/grants']['grants'][number];
/** Where the audit log is shipped to. */
export type ShippedTarget = Answers['GET /admin/v1/shipping']['targets'][number];
export type Webhook = Answers['GET /admin/v1/webhooks']['webhooks'][number];
export type WebhookWithSecret = Answers['POST /admin/v1/webhooks'];
export type WebhookTest = Answers['POST /admin/v1/webhooks/{id}/test'];
export type Delivery = Answers['GET /admin/v1/webhooks/{id}/deliveries']['deliveries'][number];
export type Attempt = Delivery['attempts'][number];
/** What the shadow of a key said, compared with what was decided. */
export type ShadowReport = Answers['GET /admin/v1/keys/{id}/shadow'];
export type AuditEntry = Answers['GET /admin/v1/audit']['entries'][number];
export type WholeAuditEntry = Answers['GET /admin/v1/audit/{id}'];
export type Checkpoint = Answers['GET /admin/v1/audit/checkpoints']['checkpoints'][number];
export type Proof = Answers['GET /admin/v1/audit/{id}/proof'];
/** What a draft would have changed. */
export type Replay = Answers['POST /admin/v1/policies/{id}/replay'];
export type Stats = Answers['GET /admin/v1/stats'];
export type Change = Answers['GET /admin/v1/changes']['changes'][number];
/** What keeps calls from being answered. */
export type Waiting = Answers['GET /admin/v1/waiting'];
/** A channel by which people learn of waiting calls, and whether its messages arrive. */
export type NotificationChannel = Answers['GET /admin/v1/notifications/channels']['channels'][number];
export type NotificationTest = Answers['POST /admin/v1/notifications/channels/{name}/test'];
export type Settings = Answers['GET /admin/v1/settings'];
/** What the doctor found. */
export type DoctorReport = Answers['GET /admin/v1/doctor'];
export type Setting = Settings['settings'][number];
export type Operator = Answers['GET /admin/v1/operators']['operators'][number];
export type InvitedOperator = Answers['POST /admin/v1/operators'];
export type ResetOperator = Answers['POST /admin/v1/operators/{id}/reset'];
/** An OAuth client that an admin registered. */
export type OAuthClient = Answers['GET /admin/v1/oauth-clients']['oauthClients'][number];
export type Role = Operator['role'];
export type Me = Answers['GET /admin/v1/me'];
export type Connection = Answers['GET /admin/v1/me/connections']['connections'][number];
export type MyCall = Answers['GET /admin/v1/me/calls']['entries'][number];
export type MyApproval = Answers['GET /admin/v1/me/approvals']['approvals'][number];
export type SignIn = Answers['GET /admin/v1/me/sign-ins']['signIns'][number];
export type Passkeys = Answers['GET /admin/v1/me/passkeys'];
export type Passkey = Passkeys['passkeys'][number];
export type Health = Answers['GET /readyz'];
