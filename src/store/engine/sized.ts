// Statements about any number of rows, of which only a few forms have to be prepared.

import { placeholders } from './db.ts';

/**
 * A statement about any number of rows, of which only a few forms have to be prepared: it has room for a few rows more,
 * which are filled with copies of the last one, and a parameter says how many count. The rows follow `before`
 * parameters.
 */
export function sized(
  fields: number,
  before: number,
  statement: (rows: string) => string,
): <Each>(rows: readonly Each[], push: (row: Each) => void) => string {
  const made = new Map<number, string>();
  return (rows, push) => {
    const size = roomFor(rows.length);
    let sql = made.get(size);
    if (sql === undefined) {
      const values = Array.from(
        { length: size },
        (_, at) => `(${at}, ${placeholders(fields, before + at * fields)})`,
      );
      sql = statement(values.join(', '));
      made.set(size, sql);
    }
    for (let at = 0; at < size; at++) push(rows[Math.min(at, rows.length - 1)] as (typeof rows)[number]);
    return sql;
  };
}

/** The next of 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, … */
function roomFor(rows: number): number {
  const power = 2 ** Math.floor(Math.log2(rows));
  if (rows === power) return rows;
  return rows <= power * 1.5 ? power * 1.5 : power * 2;
}
