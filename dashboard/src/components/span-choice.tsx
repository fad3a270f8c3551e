// How much of the past a report is about.

/** The times that can be chosen, by what a person reads. */
export const SPANS = {
  '24 hours': 86_400_000,
  '7 days': 7 * 86_400_000,
  '30 days': 30 * 86_400_000,
} as const;
export type Span = keyof typeof SPANS;

export const isSpan = (text: string): text is Span => Object.hasOwn(SPANS, text);

/** The time at which a span that ends now begins, as the admin API expects it. */
export const since = (span: Span): string => new Date(Date.now() - SPANS[span]).toISOString();

interface SpanChoiceProps {
  /** What the choice is for, for screen readers. */
  label: string;
  span: Span;
  setSpan: (span: Span) => void;
}

export function SpanChoice({ label, span, setSpan }: SpanChoiceProps) {
  return (
    <select
      aria-label={label}
      class="narrow"
      value={span}
      onChange={event => setSpan(event.currentTarget.value as Span)}
    >
      {Object.keys(SPANS).map(each => (
        <option key={each} value={each}>
          Last {each}
        </option>
      ))}
    </select>
  );
}
