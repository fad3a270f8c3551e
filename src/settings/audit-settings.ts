// The settings about the audit log: how long it is kept, whether it is sealed, and where its checkpoints are sent.

import { optional, secret, setting } from './setting.ts';
import { duration, oneOf, retention, s3Key, text, trueOrFalse, webUrl } from './setting-readers.ts';

export const AUDIT_SETTINGS = {
  retention: optional(
    'TOOLGATE_RETENTION',
    retention,
    'How long audit entries, and what belongs to them, are kept: 90d, 8760h. Default: for ever.',
  ),
  sealing: setting(
    'TOOLGATE_SEALING',
    'true',
    trueOrFalse,
    'Whether audit entries are sealed into a Merkle log, so that later changes to them can be detected.',
  ),
  checkpointInterval: setting(
    'TOOLGATE_CHECKPOINT_INTERVAL',
    '60s',
    duration,
    'How often the sealed log is signed, while it grows.',
  ),
  checkpointUrl: secret(
    'TOOLGATE_CHECKPOINT_URL',
    webUrl,
    'URL of a system outside that receives each signed checkpoint; {size} in it stands for the number of entries.',
  ),
  checkpointMethod: setting(
    'TOOLGATE_CHECKPOINT_METHOD',
    'POST',
    oneOf('POST', 'PUT'),
    'HTTP method for checkpoints; PUT for S3 and compatible stores.',
  ),
  checkpointAuthorization: secret(
    'TOOLGATE_CHECKPOINT_AUTHORIZATION',
    text,
    'Authorization header for the checkpoint address, such as "Bearer …".',
  ),
  checkpointS3Key: secret(
    'TOOLGATE_CHECKPOINT_S3_KEY',
    s3Key,
    'Signs requests to an S3 bucket instead: <access key id>:<secret access key>.',
  ),
  checkpointS3Region: setting('TOOLGATE_CHECKPOINT_S3_REGION', 'us-east-1', text, 'The bucket’s region.'),
};
