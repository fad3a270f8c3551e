// How SQLite inserts many rows: lists of them, each of a power of two, so that groups of every size need only seven
// prepared statements.

import { type Into, placeholders, type Value } from './db.ts';

const MOST_ROWS = 64;

const known = new WeakMap<Into, Map<number, string>>();

/** Calls `run` for each statement. `values` are those of the first row, then those of the next, and so on. */
export function rowInserts(
  into: Into,
  values: readonly Value[],
  run: (sql: string, params: readonly Value[]) => void,
): void {
  const width = into.columns.length;
  const count = values.length / width;
  let rows = MOST_ROWS;
  for (let at = 0; at < count; at += rows) {
    while (rows > count - at) rows /= 2;
    const params = rows === count ? values : values.slice(at * width, (at + rows) * width);
    run(statement(into, rows), params);
  }
}

function statement(into: Into, rows: number): string {
  const statements = known.get(into) ?? new Map<number, string>();
  known.set(into, statements);
  const sql = statements.get(rows) ?? inserting(into, rows);
  statements.set(rows, sql);
  return sql;
}

function inserting({ table, columns, then }: Into, rows: number): string {
  const names = columns.map(([name]) => name).join(', ');
  const lists = Array.from({ length: rows }, (_, row) => {
    return `(${placeholders(columns.length, row * columns.length)})`;
  });
  return `INSERT INTO ${table} (${names}) VALUES ${lists.join(', ')} ${then}`;
}
