// Finds the known name that somebody who wrote an unknown one probably meant.

/** Longer names are not compared: two of 2,000 characters, which a condition can have, took 40 to 130 ms. */
const MAX_COMPARED = 64;

/** ` Did you mean "amount"?` where a known name is close to the one that was written, otherwise nothing. */
export function didYouMean(written: string, known: Iterable<string>): string {
  const best = nearest(written, known);
  return best === '' ? '' : ` Did you mean "${best}"?`;
}

/** The known name that is closest to the one that was written, or '' if none is close. */
export function nearest(written: string, known: Iterable<string>): string {
  let best = '';
  if (written.length > MAX_COMPARED) return '';
  // Of a name of one letter, nothing would be left that is similar.
  let least = Math.min(written.length, written.length > 4 ? 3 : 2);
  for (const name of known) {
    if (Math.abs(name.length - written.length) >= least) continue;
    const changes = distance(written.toLowerCase(), name.toLowerCase());
    if (changes < least) {
      least = changes;
      best = name;
    }
  }
  return best;
}

/** How many characters have to be inserted, removed, replaced or swapped with their neighbour. */
function distance(from: string, to: string): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const change = from[i - 1] === to[j - 1] ? 0 : 1;
      let least = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + change);
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      if (swapped) least = Math.min(least, before[j - 2]! + 1);
      next.push(least);
    }
    before = row;
    row = next;
  }
  return row[to.length]!;
}
