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

export type ShippingTarget = HttpTarget;
export type ShippingTargets = Readonly<Record<string, ShippingTarget>>;

export const SHIPPING_TYPES = ['http'] as const satisfies readonly ShippingTarget['type'][];
export type ShippingType = (typeof SHIPPING_TYPES)[number];
export const MAX_TARGETS = 20;
