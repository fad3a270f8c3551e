// How PostgreSQL inserts many rows: one statement for any number of them, with one parameter for each column. A value
// that all rows share is sent once, the others as an array. PostgreSQL executed 1.6 million instructions for a group of 64
// entries in this form, and 2.4 million for a list of rows, whose every value is an expression that it prepares each time
// (docs/decisions/0010). The client also prepared a list of rows anew for each pattern of small and large numbers in it,
// and the server kept them all; here there are only a few forms.

import type { Into, Value } from './db.ts';

const known = new WeakMap<Into, Map<string, string>>();

/** The statement that inserts these rows, and its parameters. There has to be at least one row. */
export function columnInsert(into: Into, values: readonly Value[]): { sql: string; params: Value[] } {
  const width = into.columns.length;
  const several = values.length > width;
  let form = '';
  const params = into.columns.map((_, column) => {
    // The first column says how many rows there are.
    const isArray = several && (column === 0 || !isShared(values, column, width));
    form += isArray ? 'a' : '1';
    return isArray ? arrayOf(values, column, width) : textOf(values[column] as Value);
  });
  return { sql: statement(into, form), params };
}

function statement(into: Into, form: string): string {
  const forms = known.get(into) ?? new Map<string, string>();
  known.set(into, forms);
  const sql = forms.get(form) ?? inserting(into, form);
  forms.set(form, sql);
  return sql;
}

function inserting({ table, columns, then }: Into, form: string): string {
  const names = columns.map(([name]) => name);
  const selected = columns.map(([, type], index) => {
    const parameter = `$${index + 1}`;
    return form[index] === 'a' ? `unnest(CAST(${parameter} AS ${type}[]))` : `CAST(${parameter} AS ${type})`;
  });
  return `INSERT INTO ${table} (${names.join(', ')}) SELECT ${selected.join(', ')} ${then}`;
}

function isShared(values: readonly Value[], column: number, width: number): boolean {
  for (let at = column + width; at < values.length; at += width)
    if (values[at] !== values[column]) return false;
  return true;
}

/** Text for every type: the client would prepare another statement for small numbers than for large ones. */
function textOf(value: Value): string | null {
  return typeof value === 'number' ? String(value) : value;
}

function arrayOf(values: readonly Value[], column: number, width: number): string {
  let elements = '';
  for (let at = column; at < values.length; at += width)
    elements += `${at === column ? '' : ','}${elementOf(values[at] as Value)}`;
  return `{${elements}}`;
}

/** Between quotes only these two characters have a meaning. */
function elementOf(value: Value): string {
  if (typeof value !== 'string') return String(value);
  return `"${value.replace(/["\\]/g, '\\$&')}"`;
}
