// A finding: what is remarkable about a tool's definition, and where. Findings are for people. What they say of a
// stranger's text is plain ASCII wherever the text itself might deceive.

export const FINDING_KINDS = [
  'hidden',
  'shadows',
  'mixed-script',
  'instructs',
  'annotation-lies',
  'url',
  'long',
] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];

/** A tool in whose definition one of these is found is held, whatever the trust in its server is. */
export const HOLDING: readonly FindingKind[] = ['hidden', 'shadows'];

export interface Finding {
  kind: FindingKind;
  /** A JSON Pointer into the definition. One that would be very long ends early, at a value that contains the place. */
  where: string;
  /** Whole sentences for people. */
  text: string;
}
