// Identifiers of everything in the store.

/** A UUID of version 7: ids sort by time, and those of one process by the order in which they were made. */
export function newId(): string {
  return Bun.randomUUIDv7();
}

const FORM = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function isId(text: string): boolean {
  return FORM.test(text);
}

/** Sorts after every id: a list that begins below it begins with the newest. */
export const AFTER_EVERY_ID = 'g';

/** When a UUID of version 7 was made, in milliseconds since 1970. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
