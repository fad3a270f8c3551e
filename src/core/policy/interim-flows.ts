// Stands in for core/flows/names.ts and words.ts until they are here.

export const MAX_MARKS = 16;

export function markFault(name: string): string | null {
  return /^[a-z][a-z0-9-]{0,31}$/.test(name)
    ? null
    : 'must be the name of a mark: 1 to 32 lower-case letters, digits and -, beginning with a letter';
}

export function comparable(value: string): string | null {
  const words = value
    .toLowerCase()
    .split(/\s+/)
    .filter(each => each !== '');
  return words.length === 0 || words.length > 8 ? null : words.join(' ');
}

export function comparableNumber(value: number | bigint | string): string {
  return `#${Number(value)}`;
}
