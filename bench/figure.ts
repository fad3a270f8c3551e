// A figure as it is reported: the median over the rounds, with the smallest and the largest.

export interface Figure {
  median: number;
  min: number;
  max: number;
}

export function summarise(numbers: readonly number[]): Figure {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { median, min: sorted[0]!, max: sorted.at(-1)! };
}

/** A figure that was measured once has no spread. */
export function spread({ median, min, max }: Figure, digits: number): string {
  if (min === max) return median.toFixed(digits);
  return `${median.toFixed(digits)} (${min.toFixed(digits)}-${max.toFixed(digits)})`;
}

/** With as many digits as a value of this size needs in a table. */
export function short(figure: Figure): string {
  const tens = figure.median >= 10 && figure.median < 100;
  return spread(figure, tens ? 1 : digitsOf(figure.median));
}

/** The number of significant decimals for a value of this size. */
export function digitsOf(value: number): number {
  if (value < 0.2) return 3;
  return value < 10 ? 2 : 0;
}
