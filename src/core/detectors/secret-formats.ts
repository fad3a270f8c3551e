// The formats of secrets that can be told apart: by how they begin, how long they are and which characters they have, and by
// a checksum where the format has one. It is data: secrets.ts finds them, and docs/results.md lists them.
//
// A shape is a regular expression for what follows the prefix. Where it has a group, only what the group matched is the secret.

import {
  hasBase62OfAll,
  hasBase62OfBody,
  hasJson,
  isBech32,
  isDiscord,
  isGitHub,
  isGitLab,
  isGrafana,
  isJwt,
} from './secret-checks.ts';

export interface SecretFormat {
  readonly name: string;
  /** Where the issuer, or somebody else in public, describes the format. */
  readonly source: string;
  readonly prefixes: readonly string[];
  readonly shape: string;
  /** What stands before the prefix and belongs to the secret. */
  readonly before?: string;
  /** A checksum, or what a part of it has to decode to. Without one, placeholders are left out. */
  readonly check?: (secret: string) => boolean;
  /** What `check` looks at, for the list. */
  readonly checks?: string;
  /** The prefix is a name that may be the end of a longer one. */
  readonly named?: true;
  /** It begins nowhere behind a `-` or `_` within a word: else a row of prefixes would be read again from each of them. */
  readonly apart?: true;
  /** What may follow, in the same notation: its group is a secret too. */
  readonly beside?: string;
}

/** Letters and digits, the characters of base64url, and small hexadecimal digits. */
const A = '[0-9A-Za-z]';
const U = '[0-9A-Za-z_-]';
const H = '[0-9a-f]';
/** A character of base64, as it is or escaped in JSON or in an address; and the sign that fills it up. */
const B = '(?:[0-9A-Za-z+/]|\\\\/|%2[BbFf]|\\\\u002[BbFf])';
const FILL = '(?:=|%3[Dd]|\\\\u003[Dd])';
/** What stands between a name and its value. */
const S = '(?:[ \\t"\'`\\\\:=>,|]{1,12}|%3[Dd]|\\\\u003[Dd])';
/** What these characters are called in the list. */
export const CHARACTERS: readonly (readonly [string, string])[] = [
  [A, 'A'],
  [U, 'U'],
  [H, 'H'],
  [B, 'B'],
  [S, 'S'],
  [FILL, '='],
];
/** A JWT without the beginning of its header: three parts, or five of an encrypted one. */
const JWT = `${U}{2,}\\.${U}*\\.${U}*(?:\\.${U}*\\.${U}+)?`;
const GITLEAKS = 'https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml';
const NOSEY_PARKER =
  'https://github.com/praetorian-inc/noseyparker/tree/main/crates/noseyparker/data/default/builtin/rules';

const TRUFFLEHOG = 'https://github.com/trufflesecurity/trufflehog/tree/main/pkg/detectors';

export const SECRET_FORMATS: readonly SecretFormat[] = [
  {
    name: 'GitHub token',
    source:
      'https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/',
    prefixes: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'],
    shape: `(?:${A}{76}|${A}{36}|[0-9]{1,12}_eyJ${JWT})`,
    check: isGitHub,
    checks: 'CRC-32 in base 62; of longer ones, the header of the JWT',
  },
  {
    name: 'GitHub fine-grained token',
    source:
      'https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github',
    prefixes: ['github_pat_'],
    shape: `${A}{22}_${A}{59}`,
  },
  {
    name: 'npm token',
    source: 'https://github.blog/security/announcing-npms-new-access-token-format/',
    prefixes: ['npm_'],
    shape: `${A}{36}`,
    check: hasBase62OfBody,
    checks: 'CRC-32 in base 62',
  },
  {
    name: 'Toolgate token or key',
    source: 'api.md',
    prefixes: ['tg_key_', 'tg_ses_', 'tg_apr_', 'tg_adm_', 'tg_oat_', 'tg_ort_', 'tg_con_'],
    shape: `${A}{49}`,
    check: hasBase62OfAll,
    checks: 'CRC-32 in base 62',
  },
  {
    name: 'GitLab token',
    source: 'https://docs.gitlab.com/security/tokens/',
    prefixes: [
      'glpat-',
      'gloas-',
      'gldt-',
      'glrt-',
      'glrtr-',
      'glptt-',
      'glft-',
      'glimt-',
      'glagent-',
      'glwt-',
      'glsoat-',
      'glffct-',
      'glcbt-',
      'GR1348941',
    ],
    shape: `${U}{20,300}(?:(?:\\.[0-9a-z]{2})?\\.[0-9a-z]{9}(?![0-9A-Za-z_.-])|\\.${U}+\\.${U}+)?`,
    check: isGitLab,
    checks: 'of those with a dot, CRC-32 in base 36',
  },
  {
    name: 'Grafana service account token',
    source: 'https://github.com/grafana/grafana/blob/main/pkg/components/satokengen/tokengen.go',
    prefixes: ['glsa_'],
    shape: `${A}{32}_[0-9A-Fa-f]{8}`,
    check: isGrafana,
    checks: 'CRC-32 in hexadecimal digits',
  },
  {
    name: 'Grafana Cloud token',
    source: GITLEAKS,
    prefixes: ['glc_'],
    shape: 'eyJ[0-9A-Za-z+/]{40,400}={0,2}',
    check: hasJson,
    checks: 'is an object of JSON in base64',
  },
  {
    name: 'age secret key',
    source: 'https://age-encryption.org',
    prefixes: ['AGE-SECRET-KEY-1'],
    shape: '[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}',
    check: isBech32,
    checks: 'Bech32',
  },
  {
    name: 'JSON Web Token',
    source: 'https://www.rfc-editor.org/rfc/rfc7519',
    prefixes: ['eyJ', 'eyA', 'ewo'],
    shape: JWT,
    apart: true,
    check: isJwt,
    checks: 'its header is an object of JSON with `alg`',
  },
  {
    name: 'AWS access key id, and the key beside it',
    source: 'https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html',
    prefixes: ['AKIA', 'ASIA'],
    shape: '[A-Z2-7]{16}',
    beside: `["'\\s,:;|/\\\\]{1,8}(${B}{40})(?![0-9A-Za-z+/=])`,
  },
  {
    name: 'AWS secret access key',
    source: 'https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html',
    prefixes: [
      'aws_secret_access_key',
      'AWS_SECRET_ACCESS_KEY',
      'AWS_SECRET_KEY',
      'aws_secret_key',
      'SecretAccessKey',
      'secretAccessKey',
      'secret_access_key',
      'Secret access key',
    ],
    named: true,
    shape: `${S}(${B}{40})(?![0-9A-Za-z+/=])`,
  },
  {
    name: 'AWS session token',
    source: NOSEY_PARKER,
    prefixes: ['aws_session_token', 'AWS_SESSION_TOKEN', 'SessionToken', 'sessionToken'],
    named: true,
    shape: `${S}(${B}{100,2000}${FILL}{0,2})`,
  },
  {
    name: 'Amazon Bedrock key',
    source: GITLEAKS,
    prefixes: ['ABSK'],
    shape: '[0-9A-Za-z+/]{109,269}={0,2}',
  },
  {
    name: 'Google API key',
    source: 'https://cloud.google.com/docs/authentication/api-keys',
    prefixes: ['AIza'],
    shape: `${U}{35}(?![0-9A-Za-z_-])`,
  },
  {
    name: 'Google OAuth client secret',
    source: NOSEY_PARKER,
    prefixes: ['GOCSPX-'],
    shape: `${U}{28}(?![0-9A-Za-z_-])`,
  },
  {
    name: 'Google OAuth access token',
    source: NOSEY_PARKER,
    prefixes: ['ya29.'],
    shape: `(?:[a-z]\\.)?${U}{20,2048}`,
  },
  {
    name: 'Google OAuth refresh token',
    source: GITLEAKS,
    prefixes: ['1//0'],
    shape: `${U}{50,512}`,
  },
  {
    name: 'Azure storage or service key',
    source: 'https://docs.microsoft.com/en-us/azure/storage/common/storage-configure-connection-string',
    prefixes: [
      'AccountKey',
      'SharedAccessKey',
      'PrimaryKey',
      'SecondaryKey',
      'primaryKey',
      'secondaryKey',
      'accountKey',
    ],
    named: true,
    shape: `${S}(${B}{43,86}${FILL}{1,2})(?![0-9A-Za-z+/=])`,
  },
  {
    name: 'Microsoft Entra client secret',
    source: GITLEAKS,
    before: '[0-9A-Za-z_~.]{3}[0-9]',
    prefixes: ['Q~'],
    shape: '[0-9A-Za-z_~.-]{30,33}[0-9A-Za-z_~-](?![0-9A-Za-z_~-])',
  },
  {
    name: 'Azure DevOps token',
    source:
      'https://learn.microsoft.com/en-us/azure/devops/organizations/accounts/use-personal-access-tokens-to-authenticate',
    before: `${A}{76}`,
    prefixes: ['AZDO'],
    shape: `${A}{4}`,
  },
  {
    name: 'Slack token',
    source: 'https://api.slack.com/docs/token-types',
    prefixes: [
      'xoxb-',
      'xoxp-',
      'xoxa-',
      'xoxo-',
      'xoxs-',
      'xoxr-',
      'xoxc-',
      'xoxe-',
      'xoxe.xoxb-',
      'xoxe.xoxp-',
      'xwfp-',
    ],
    shape: '(?:[0-9]{1,14}-){0,4}[0-9A-Za-z]{18,180}',
  },
  {
    name: 'Slack session cookie',
    source: GITLEAKS,
    prefixes: ['xoxd-'],
    shape: `(?:${B}|${FILL}){60,512}`,
  },
  {
    name: 'Slack app token',
    source: GITLEAKS,
    prefixes: ['xapp-'],
    shape: '[0-9]-[0-9A-Z]{8,16}-[0-9]{8,16}-[0-9a-f]{32,128}',
  },
  {
    name: 'Slack webhook',
    source: 'https://api.slack.com/messaging/webhooks',
    prefixes: ['hooks.slack.com'],
    shape: `\\\\?/(?:services|workflows|triggers)\\\\?/(?:[0-9A-Z]{6,16}\\\\?/)(?:[0-9A-Z]{6,20}\\\\?/)(${A}{20,40})`,
  },
  {
    name: 'Stripe key',
    source: 'https://stripe.com/docs/keys',
    prefixes: ['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_', 'sk_org_live_', 'sk_org_test_'],
    shape: `${A}{20,250}`,
  },
  {
    name: 'Webhook signing secret',
    source: 'https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md',
    prefixes: ['whsec_'],
    shape: '[0-9A-Za-z+/]{32,88}={0,2}',
  },
  {
    name: 'OpenAI key',
    source:
      'https://docs.gitguardian.com/secrets-detection/secrets-detection-engine/detectors/specifics/openai_project_apikey',
    prefixes: ['sk-', 'sk-proj-', 'sk-svcacct-', 'sk-service-', 'sk-admin-', 'sk-None-'],
    shape: `${U}{20,100}T3BlbkFJ${U}{20,100}`,
    apart: true,
  },
  {
    name: 'Anthropic key or token',
    source: TRUFFLEHOG,
    prefixes: ['sk-ant-'],
    shape: `(?:api|admin|oat|ort|sid)[0-9]{2}-${U}{80,128}(?![0-9A-Za-z_-])`,
  },
  {
    name: 'OpenRouter key',
    source: TRUFFLEHOG,
    prefixes: ['sk-or-v1-'],
    shape: `${H}{64}`,
  },
  {
    name: 'DeepSeek key',
    source: TRUFFLEHOG,
    prefixes: ['sk-'],
    shape: '[0-9a-z]{32}',
  },
  {
    name: 'Hugging Face token',
    source: 'https://huggingface.co/docs/hub/security-tokens',
    prefixes: ['hf_', 'api_org_'],
    shape: '[A-Za-z]{34}',
  },
  {
    name: 'Groq key',
    source: 'https://console.groq.com/docs/quickstart',
    prefixes: ['gsk_'],
    shape: `${A}{50,54}`,
  },
  {
    name: 'Perplexity key',
    source: GITLEAKS,
    prefixes: ['pplx-'],
    shape: `${A}{48}`,
  },
  { name: 'xAI key', source: TRUFFLEHOG, prefixes: ['xai-'], shape: '[0-9A-Za-z_]{80}' },
  {
    name: 'Replicate token',
    source: TRUFFLEHOG,
    prefixes: ['r8_'],
    shape: `${U}{37}(?![0-9A-Za-z_-])`,
  },
  {
    name: 'Tavily key',
    source: NOSEY_PARKER,
    prefixes: ['tvly-'],
    shape: `(?:(?:dev|prod)-)?${A}{32}`,
  },
  {
    name: 'PyPI token',
    source: 'https://github.com/pypa/warehouse/issues/6051',
    // What the location of a macaroon, pypi.org or test.pypi.org, is in base64.
    prefixes: ['pypi-AgEIcHlwaS5vcmc', 'pypi-AgENdGVzdC5weXBpLm9yZw'],
    shape: `${U}{50,1000}`,
  },
  {
    name: 'RubyGems key',
    source: 'https://guides.rubygems.org/api-key-scopes/',
    prefixes: ['rubygems_'],
    shape: `${H}{48}`,
  },
  {
    name: 'crates.io token',
    source: 'https://github.com/rust-lang/crates.io/blob/master/src/util/token.rs',
    prefixes: ['cio'],
    shape: `${A}{32}`,
  },
  {
    name: 'NuGet key',
    source: NOSEY_PARKER,
    prefixes: ['oy2'],
    shape: '[0-9a-z]{43}',
  },
  {
    name: 'Clojars token',
    source: GITLEAKS,
    prefixes: ['CLOJARS_'],
    shape: '[0-9a-z]{60}',
  },
  {
    name: 'Docker Hub token',
    source: 'https://docs.docker.com/security/for-developers/access-tokens/',
    prefixes: ['dckr_pat_', 'dckr_oat_'],
    shape: `${U}{27,32}(?![0-9A-Za-z_-])`,
  },
  {
    name: 'DigitalOcean token',
    source: 'https://docs.digitalocean.com/reference/api/',
    prefixes: ['dop_v1_', 'doo_v1_', 'dor_v1_'],
    shape: `${H}{64}`,
  },
  {
    name: 'Databricks token',
    source: 'https://docs.databricks.com/en/dev-tools/auth/pat.html',
    prefixes: ['dapi'],
    shape: `${H}{32}(?:-[0-9]{1,2})?`,
  },
  {
    name: 'HashiCorp Vault token',
    source: 'https://developer.hashicorp.com/vault/docs/concepts/tokens',
    prefixes: ['hvs.', 'hvb.', 'hvr.'],
    shape: `${U}{24,500}`,
  },
  {
    name: 'HCP Terraform token',
    source: GITLEAKS,
    before: `${A}{14}`,
    prefixes: ['.atlasv1.'],
    shape: '[0-9A-Za-z_=-]{60,70}(?![0-9A-Za-z_=-])',
  },
  {
    name: 'Pulumi token',
    source: TRUFFLEHOG,
    prefixes: ['pul-'],
    shape: '[0-9a-z]{40}',
  },
  {
    name: 'Doppler token',
    source: 'https://docs.doppler.com/reference/auth-token-formats',
    prefixes: ['dp.pt.', 'dp.ct.', 'dp.sa.', 'dp.scim.', 'dp.audit.', 'dp.st.'],
    shape: `(?:[0-9a-z_-]{2,35}\\.)?${A}{40,44}`,
  },
  {
    name: 'PlanetScale token',
    source: GITLEAKS,
    prefixes: ['pscale_tkn_', 'pscale_pw_', 'pscale_oauth_'],
    shape: '[0-9A-Za-z_=.-]{31,63}[0-9A-Za-z_=-]',
  },
  {
    name: 'Supabase key or token',
    source: TRUFFLEHOG,
    prefixes: ['sb_secret_', 'sbp_', 'sbp_v0_', 'sbp_oauth_'],
    shape: `(?:[0-9a-z]{40}|${U}{22}_${U}{8}(?![0-9A-Za-z_-]))`,
  },
  {
    name: 'Cloudflare key or token',
    source: 'https://developers.cloudflare.com/fundamentals/api/get-started/token-formats/',
    prefixes: ['cfk_', 'cfut_', 'cfat_'],
    shape: `${A}{40}${H}{8}`,
  },
  {
    name: 'Cloudflare Origin CA key',
    source: GITLEAKS,
    prefixes: ['v1.0-'],
    shape: `${H}{24}-${H}{146}`,
  },
  {
    name: 'Fly.io token',
    source: GITLEAKS,
    prefixes: ['fo1_', 'fm1r_', 'fm1a_', 'fm2_'],
    shape: `(?:[0-9A-Za-z+/]{100,2000}={0,3}|${U}{43}(?![0-9A-Za-z_-]))`,
  },
  { name: 'Heroku key', source: GITLEAKS, prefixes: ['HRKU-AA'], shape: `${U}{58}(?![0-9A-Za-z_-])` },
  {
    name: 'Netlify token',
    source: TRUFFLEHOG,
    prefixes: ['nfp_'],
    shape: `${A}{36,40}`,
  },
  {
    name: 'Tailscale key',
    source: 'https://tailscale.com/kb/1277/key-prefixes',
    prefixes: ['tskey-'],
    shape: `(?:api|auth|client|scim|webhook|kauth)-${A}{8,20}-${A}{20,40}`,
  },
  {
    name: 'Atlassian token',
    source: NOSEY_PARKER,
    prefixes: ['ATATT3xFfGF0', 'ATCTT3xFfGN0'],
    shape: `${U}{20,250}${FILL}[0-9A-F]{8}`,
  },
  {
    name: 'Bitbucket app password',
    source: 'https://support.atlassian.com/bitbucket-cloud/docs/using-app-passwords/',
    prefixes: ['ATBB'],
    shape: `${A}{32}`,
  },
  {
    name: 'Linear key',
    source: TRUFFLEHOG,
    prefixes: ['lin_api_', 'lin_oauth_'],
    shape: `${A}{40,64}`,
  },
  {
    name: 'Notion token',
    source: GITLEAKS,
    prefixes: ['ntn_', 'secret_'],
    shape: `(?:${A}{46}|${A}{43})`,
  },
  {
    name: 'Airtable token',
    source: GITLEAKS,
    prefixes: ['pat'],
    shape: `${A}{14}\\.${H}{64}`,
  },
  {
    name: 'Figma token',
    source: TRUFFLEHOG,
    prefixes: ['figd_'],
    shape: `${U}{40}(?![0-9A-Za-z_-])`,
  },
  {
    name: 'Postman key',
    source: 'https://learning.postman.com/docs/developer/postman-api/authentication/',
    prefixes: ['PMAK-'],
    shape: '[0-9a-zA-Z]{24}-[0-9a-zA-Z]{34}',
  },
  {
    name: 'SendGrid key',
    source: 'https://docs.sendgrid.com/ui/account-and-settings/api-keys',
    prefixes: ['SG.'],
    shape: `${U}{22}\\.${U}{43}(?![0-9A-Za-z_-])`,
  },
  {
    name: 'Twilio auth token',
    source: 'https://www.twilio.com/docs/usage/api#authenticate-with-http',
    prefixes: ['TWILIO_AUTH_TOKEN', 'twilio_auth_token', 'twilioAuthToken'],
    named: true,
    shape: `${S}(${H}{32})(?![0-9A-Za-z])`,
  },
  {
    name: 'Twilio account with its auth token',
    source: 'https://www.twilio.com/docs/usage/api#authenticate-with-http',
    prefixes: ['AC'],
    shape: `${H}{32}:(${H}{32})`,
  },
  {
    name: 'Mailgun key',
    source: TRUFFLEHOG,
    prefixes: ['key-'],
    shape: '[0-9a-z]{32}',
  },
  {
    name: 'Mailchimp key',
    source: 'https://mailchimp.com/help/about-api-keys/',
    before: `${H}{32}`,
    prefixes: ['-us'],
    shape: '[0-9]{1,2}',
  },
  {
    name: 'Brevo key',
    source: GITLEAKS,
    prefixes: ['xkeysib-'],
    shape: `${H}{64}-[0-9A-Za-z]{16}`,
  },
  {
    name: 'Shopify token',
    source: 'https://shopify.dev/changelog/length-of-the-shopify-access-token-is-increasing',
    prefixes: ['shpat_', 'shpss_', 'shpca_', 'shppa_'],
    shape: '[0-9A-Fa-f]{32}',
  },
  {
    name: 'Square token',
    source: NOSEY_PARKER,
    prefixes: ['EAAA', 'sq0atp-', 'sq0csp-'],
    shape: `(?:${U}{60}|${U}{43}|${U}{22})(?![0-9A-Za-z_-])`,
  },
  {
    name: 'Telegram bot token',
    source: 'https://core.telegram.org/bots/api',
    // In addresses the word stands before the number.
    before: '(?:bot)?[0-9]{8,10}',
    prefixes: [':AA', '%3AAA'],
    shape: `${U}{33}(?![0-9A-Za-z_-])`,
  },
  {
    name: 'Discord bot token',
    source: 'https://hexdocs.pm/nostrum/Nostrum.Token.html',
    prefixes: ['MT', 'Mj', 'Mz', 'ND', 'NT', 'Nj', 'Nz', 'OD', 'OT'],
    shape: `${A}{20,26}\\.${U}{6}\\.${U}{27,40}`,
    check: isDiscord,
    checks: 'its first part is a number in base64',
  },
  {
    name: 'Discord webhook',
    source: TRUFFLEHOG,
    prefixes: ['discord.com', 'discordapp.com'],
    shape: `\\\\?/api\\\\?/(?:v[0-9]{1,2}\\\\?/)?webhooks\\\\?/[0-9]{17,20}\\\\?/(${U}{60,80})`,
  },
  {
    name: 'Dropbox access token',
    source: 'https://developers.dropbox.com/oauth-guide',
    prefixes: ['sl.'],
    shape: `(?:u\\.)?${U}{130,2000}`,
  },
  {
    name: 'Sentry token',
    source: TRUFFLEHOG,
    prefixes: ['sntryu_', 'sntrya_'],
    shape: `${H}{64}`,
  },
  {
    name: 'Sentry organisation token',
    source: TRUFFLEHOG,
    prefixes: ['sntrys_'],
    shape: 'eyJ[0-9A-Za-z+/=]{40,800}_[0-9A-Za-z+/]{43}',
    check: hasJson,
    checks: 'a part is an object of JSON in base64',
  },
  {
    name: 'New Relic key',
    source: 'https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys',
    prefixes: ['NRAK-', 'NRII-', 'NRIQ-', 'NRAA-', 'NRRA-'],
    shape: `${U}{27,42}(?![0-9A-Za-z_-])`,
  },
  {
    name: 'Datadog key',
    source: TRUFFLEHOG,
    prefixes: ['DD_API_KEY', 'DD_APP_KEY', 'DD_APPLICATION_KEY', 'DATADOG_API_KEY', 'DATADOG_APP_KEY'],
    named: true,
    shape: `${S}(${H}{40}|${H}{32})(?![0-9A-Za-z])`,
  },
  {
    name: 'Dynatrace token',
    source: 'https://www.dynatrace.com/support/help/dynatrace-api/basics/dynatrace-api-authentication',
    prefixes: ['dt0c01.', 'dt0s01.', 'dt0s16.'],
    shape: '[0-9A-Za-z]{8,24}\\.[0-9A-Za-z]{64}',
  },
  {
    name: 'SonarQube token',
    source: 'https://docs.aws.amazon.com/secretsmanager/latest/userguide/mes-partner-SonarQubeToken.html',
    prefixes: ['squ_', 'sqp_', 'sqa_'],
    shape: `${H}{40}`,
  },
  {
    name: 'Sourcegraph token',
    source: 'https://sourcegraph.com/docs/api/graphql',
    prefixes: ['sgp_'],
    shape: `(?:(?:${H}{16}|local)_)?${H}{40}`,
  },
  {
    name: 'Segment token',
    source: 'https://segment.com/docs/api/public-api/',
    prefixes: ['sgp_'],
    shape: `${A}{64}`,
  },
  {
    name: 'Buildkite token',
    source: TRUFFLEHOG,
    prefixes: ['bkua_'],
    shape: '[0-9a-z]{40}',
  },
  {
    name: 'CircleCI token',
    source: TRUFFLEHOG,
    prefixes: ['CCIPAT_', 'CCIPRJ_'],
    shape: `${A}{20,24}_${H}{40}`,
  },
  { name: 'Prefect key', source: GITLEAKS, prefixes: ['pnu_'], shape: `${A}{36}` },
  { name: 'OpenShift token', source: GITLEAKS, prefixes: ['sha256~'], shape: `${U}{43}(?![0-9A-Za-z_-])` },
  { name: 'Artifactory key', source: NOSEY_PARKER, prefixes: ['AKCp'], shape: `${A}{69}` },
  {
    name: 'Artifactory reference token',
    source: GITLEAKS,
    prefixes: ['cmVmdGtu'],
    shape: `${A}{56}`,
  },
  {
    name: 'Private key in base64',
    source: 'https://kubernetes.io/docs/reference/kubectl/generated/kubectl_config/',
    // `-----BEGIN PRIVATE KEY-----`, and with RSA, EC, OPENSSH and ENCRYPTED, as far as nothing behind it changes them.
    prefixes: [
      'LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0t',
      'LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tL',
      'LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0t',
      'LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVEUgS0VZLS0tLS',
      'LS0tLS1CRUdJTiBFTkNSWVBURUQgUFJJVkFURSBLRVktLS0tL',
    ],
    shape: '[0-9A-Za-z+/]{100,8800}={0,2}',
  },
  {
    name: '1Password service account token',
    source: GITLEAKS,
    prefixes: ['ops_'],
    shape: 'eyJ[0-9A-Za-z+/_-]{250,2000}={0,3}',
  },
  {
    name: '1Password secret key',
    source: GITLEAKS,
    prefixes: ['A3-'],
    shape: '[0-9A-Z]{6}-(?:[0-9A-Z]{11}|[0-9A-Z]{6}-[0-9A-Z]{5})-[0-9A-Z]{5}-[0-9A-Z]{5}-[0-9A-Z]{5}',
  },
  {
    name: 'WireGuard key',
    source: 'https://www.wireguard.com/quickstart/',
    prefixes: ['PrivateKey', 'PresharedKey'],
    named: true,
    shape: `${S}(${B}{43}${FILL})(?![0-9A-Za-z+/=])`,
  },
];
