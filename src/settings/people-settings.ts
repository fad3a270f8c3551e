// The settings about people: how approvers are notified, single sign-on, and how people connect agents. settings.ts
// lists them with all others.

import { optional, secret, setting } from './setting.ts';
import {
  domains,
  emails,
  groupRoles,
  issuerUrl,
  oneOf,
  onOrOff,
  redirectUris,
  scopes,
  smtpUrl,
  text,
  webUrl,
} from './setting-readers.ts';

/** How approvers are notified. */
export const NOTIFY_SETTINGS = {
  smtpUrl: secret(
    'TOOLGATE_SMTP_URL',
    smtpUrl,
    'Mail server for notifications: smtp://user:password@host:587.',
  ),
  mailFrom: optional('TOOLGATE_MAIL_FROM', text, 'Sender of notifications by e-mail.'),
  approverEmails: setting(
    'TOOLGATE_APPROVER_EMAILS',
    '',
    emails,
    'Who gets approval e-mails, comma-separated.',
  ),
  slackWebhookUrl: secret('TOOLGATE_SLACK_WEBHOOK_URL', webUrl, 'Slack incoming webhook for notifications.'),
  slackBotToken: secret(
    'TOOLGATE_SLACK_BOT_TOKEN',
    text,
    'Token of a Slack app’s bot (xoxb-…), which posts messages whose buttons answer; goes with the signing secret.',
  ),
  slackSigningSecret: secret(
    'TOOLGATE_SLACK_SIGNING_SECRET',
    text,
    'Signing secret of the same Slack app; shows that a pressed button was reported by Slack.',
  ),
  slackApiUrl: setting(
    'TOOLGATE_SLACK_API_URL',
    'https://slack.com/api',
    webUrl,
    'Address of Slack’s Web API; another one for a proxy.',
  ),
  notifyUrl: secret('TOOLGATE_NOTIFY_URL', webUrl, 'URL that receives each notification as a JSON POST.'),
};

export const SIGN_ON_SETTINGS = {
  oidcIssuer: optional(
    'TOOLGATE_OIDC_ISSUER',
    issuerUrl,
    'OpenID Connect provider that operators can sign in with; https, or http on loopback.',
  ),
  oidcClientId: optional('TOOLGATE_OIDC_CLIENT_ID', text, 'The name of this service at the provider.'),
  oidcClientSecret: secret(
    'TOOLGATE_OIDC_CLIENT_SECRET',
    text,
    'Its secret at the provider; unset for a public client.',
  ),
  oidcScopes: setting(
    'TOOLGATE_OIDC_SCOPES',
    'openid email',
    scopes,
    'Scopes requested from the provider; some list groups only with an additional scope.',
  ),
  oidcAllowedDomains: setting(
    'TOOLGATE_OIDC_ALLOWED_DOMAINS',
    '',
    domains,
    'E-mail domains that may use single sign-on, comma-separated. Default: all.',
  ),
  oidcRoleClaim: setting(
    'TOOLGATE_OIDC_ROLE_CLAIM',
    'groups',
    text,
    'Claim that lists a person’s groups; a path such as realm_access.roles is followed.',
  ),
  oidcGroupsClaim: optional(
    'TOOLGATE_OIDC_GROUPS_CLAIM',
    text,
    'Claim that lists the groups a person is in here, for rules with approvers. Default: admins manage them.',
  ),
  oidcRoles: setting(
    'TOOLGATE_OIDC_ROLES',
    '',
    groupRoles,
    'Roles that groups give: admin=platform,approver=on-call,viewer=auditors,user=staff.',
  ),
  oidcDefaultRole: optional(
    'TOOLGATE_OIDC_DEFAULT_ROLE',
    oneOf('admin', 'approver', 'viewer', 'user'),
    'Role of people of the allowed domains to whom no group gives a role. Default: none, they need an invitation.',
  ),
};

/** How people connect agents: by OAuth, or with tokens of their company. */
export const PEOPLE_SETTINGS = {
  oauth: setting(
    'TOOLGATE_OAUTH',
    'off',
    onOrOff,
    'on lets people connect MCP clients by signing in (OAuth); needs TOOLGATE_PUBLIC_URL.',
  ),
  oauthRedirects: setting(
    'TOOLGATE_OAUTH_REDIRECTS',
    '',
    redirectUris,
    'Addresses that MCP clients may be sent back to besides loopback and well-known ones: whole URIs, comma-separated.',
  ),
  jwtIssuer: optional(
    'TOOLGATE_JWT_ISSUER',
    issuerUrl,
    'Issuer of your company’s own tokens (JWT), with which people’s agents may come; https, or http on loopback.',
  ),
  jwtAudience: optional('TOOLGATE_JWT_AUDIENCE', text, 'The audience (aud) that those tokens must name.'),
  jwtGroupsClaim: optional(
    'TOOLGATE_JWT_GROUPS_CLAIM',
    text,
    'Claim of those tokens that lists a person’s groups. Default: those that the person has here.',
  ),
};
