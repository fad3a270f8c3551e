// The targets of shipping: where the sealed audit log is sent, as the server file declares them.

/** `native` is the entry as the API shows it, after its place in the sealed log. */
export const SCHEMAS = ['native', 'ocsf'] as const;
export type Schema = (typeof SCHEMAS)[number];

export const HTTP_SHAPES = ['ndjson', 'splunk', 'elastic'] as const;
export type HttpShape = (typeof HTTP_SHAPES)[number];

export interface HttpTarget {
  type: 'http';
  url: string;
  headers: Readonly<Record<string, string>>;
  /** How the entries stand in the body of a request. */
  shape: HttpShape;
  /** Whether the body is compressed with gzip. */
  compress: boolean;
  schema: Schema;
}

export interface S3Target {
  type: 's3';
  /** The address of the bucket, without a slash at its end: `https://<host>/<bucket>` or `https://<bucket>.<host>`. */
  url: string;
  key: { id: string; secret: string; region: string };
  /** Stands before the folders of the years, without a slash at either end; may be empty. */
  prefix: string;
  /** How long one object gathers entries. */
  everyMs: number;
  schema: Schema;
}

export interface SyslogTarget {
  type: 'syslog';
  host: string;
  port: number;
  /** A file with the certificates that may have issued the server's; null for those that the system trusts. */
  caFile: string | null;
  schema: Schema;
}

export interface OtlpTarget {
  type: 'otlp';
  /** Where the collector takes log records. */
  url: string;
  headers: Readonly<Record<string, string>>;
  compress: boolean;
  schema: Schema;
}

export type ShippingTarget = HttpTarget | S3Target | OtlpTarget | SyslogTarget;
export type ShippingTargets = Readonly<Record<string, ShippingTarget>>;

export const SHIPPING_TYPES = [
  'http',
  's3',
  'otlp',
  'syslog',
] as const satisfies readonly ShippingTarget['type'][];
export type ShippingType = (typeof SHIPPING_TYPES)[number];

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How far a target is behind, for people. */
export function lagText({ lagEntries, lagSeconds }: { lagEntries: number; lagSeconds: number }): string {
  if (lagEntries === 0) return 'none';
  return `${lagEntries} ${lagEntries === 1 ? 'entry' : 'entries'}, ${lengthText(lagSeconds)}`;
}

function lengthText(seconds: number): string {
  if (seconds < 2 * MINUTE) return `${Math.round(seconds)} s`;
  if (seconds < 2 * HOUR) return `${Math.round(seconds / MINUTE)} min`;
  return seconds < 2 * DAY ? `${Math.round(seconds / HOUR)} h` : `${Math.round(seconds / DAY)} days`;
}
export const MAX_TARGETS = 20;

/** The host to which a target leads. The rest of its address may be a secret. */
export function hostOf(target: ShippingTarget): string {
  return 'url' in target ? new URL(target.url).host : `${target.host}:${target.port}`;
}
