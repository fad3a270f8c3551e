// Identifiers of everything that is kept.

/** A UUID of version 7: sorts by time, and within this process by order of making. */
export function newId(): string {
  return Bun.randomUUIDv7();
}

/** Milliseconds since 1970 in which a UUID of version 7 was made. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
