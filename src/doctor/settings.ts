// The check of settings: variables that are no settings, and settings that do not go together. A value that is wrong by
// itself is found when the settings are read (settings/config.ts).

import { didYouMean } from '../core/text/did-you-mean.ts';
import type { Config } from '../settings/config.ts';
import { type Examination, good, warning } from './examine.ts';

type Remark = [applies: (config: Config) => boolean, sentence: string];

const REMARKS: Remark[] = [
  [
    ({ trustedProxies }) => trustedProxies.some(([, bits]) => bits === 0),
    'TOOLGATE_TRUSTED_PROXIES trusts every address, so any client can claim to be another one: name only the networks of your proxies.',
  ],
  [
    ({ smtpUrl, approverEmails }) => smtpUrl === null && approverEmails.length > 0,
    'TOOLGATE_APPROVER_EMAILS is set but TOOLGATE_SMTP_URL is not, so nobody gets an e-mail: set it to your mail server.',
  ],
  [
    ({ oidcIssuer, oidcClientSecret, oidcRoles }) =>
      oidcIssuer === null && (oidcClientSecret !== null || oidcRoles.length > 0),
    'Single sign-on is set only in part: TOOLGATE_OIDC_ISSUER is missing, so it is off.',
  ],
  [
    ({ sealing, checkpointUrl }) => !sealing && checkpointUrl !== null,
    'TOOLGATE_CHECKPOINT_URL is set but TOOLGATE_SEALING is false, so no checkpoint is ever sent: turn sealing on.',
  ],
  [
    ({ checkpointUrl, checkpointAuthorization, checkpointS3Key }) =>
      checkpointUrl === null && (checkpointAuthorization !== null || checkpointS3Key !== null),
    'There is a credential for checkpoints but TOOLGATE_CHECKPOINT_URL is not set, so they are sent nowhere.',
  ],
  [
    ({ upstreamTimeout, upstreamMax }) => upstreamTimeout > upstreamMax,
    'TOOLGATE_UPSTREAM_TIMEOUT is longer than TOOLGATE_UPSTREAM_MAX, so calls end after the latter: make it the longer one.',
  ],
  [
    ({ databaseUrl, databasePooling }) =>
      databasePooling === 'transaction' && !(databaseUrl ?? '').startsWith('postgres'),
    'TOOLGATE_DATABASE_POOLING is about PostgreSQL, but the store is SQLite.',
  ],
];

export function settingsCheck(config: Config): Examination {
  const name = 'settings';
  const known = config.origins.map(each => each.env);
  return {
    name,
    run: async () => {
      const strange = config.unknown.map(
        each =>
          `${each} is not a setting, so it has no effect: \`toolgate config\` lists them.${didYouMean(each, known)}`,
      );
      const odd = REMARKS.flatMap(([applies, sentence]) => (applies(config) ? [sentence] : []));
      const remarks = [...strange, ...odd];
      const from = config.serverFile === null ? 'the environment' : config.serverFile.path;
      return remarks.length === 0
        ? [good(name, `All settings can be used; they come from ${from}.`)]
        : [warning(name, remarks.join(' '))];
    },
  };
}
