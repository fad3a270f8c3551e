// Reads JSON that a stranger wrote, and that need not have the shape that it should.

export type Members = Record<string, unknown>;

/** Without members if it is no object. */
export function asObject(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};
}
