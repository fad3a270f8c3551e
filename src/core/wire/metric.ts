// What a metric is, as data: families of samples. metrics/ counts and makes them; the text for Prometheus and what
// OTLP sends are both made from them. No label contains a name that a caller can choose.

export type Labels = Readonly<Record<string, string>>;

/** One observation whose trace can be looked up. */
export interface Exemplar {
  /** 32 hexadecimal digits. */
  traceId: string;
  value: number;
  /** Milliseconds since 1970. */
  at: number;
}

/** The value of a counter or of a gauge. */
export interface Sample {
  labels: Labels;
  value: number;
}

export interface Distribution {
  labels: Labels;
  /** The upper bounds of all buckets but the last, which has none. */
  bounds: readonly number[];
  /** How many observations each bucket has itself; there is one more than there are bounds. */
  counts: readonly number[];
  sum: number;
  /** For each bucket, its newest observation that was traced. */
  exemplars: readonly (Exemplar | null)[];
}

interface Described {
  /** In lower case with underscores; for a counter without the ending `_total`. */
  name: string;
  help: string;
  /** The base unit, with which the name ends, or nothing. */
  unit: '' | 'seconds' | 'bytes';
}

export type MetricFamily =
  | (Described & { type: 'counter' | 'gauge'; samples: readonly Sample[] })
  | (Described & { type: 'histogram'; samples: readonly Distribution[] });
