// A table of things; on a narrow screen each row becomes a card whose cells carry their column's name.

import type { ComponentChildren } from 'preact';

export interface Column<Row> {
  head: string;
  cell: (row: Row) => ComponentChildren;
  /** `number` sets to the right; `wide` takes what is left; `actions` keeps buttons together at the end. */
  kind?: 'number' | 'wide' | 'actions';
}

interface TableProps<Row> {
  /** What it is a table of, for who cannot see it. */
  caption: string;
  columns: Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** Marks a row, say the one whose details are open. */
  current?: (row: Row) => boolean;
}

export function Table<Row>({ caption, columns, rows, keyOf, current }: TableProps<Row>) {
  return (
    <div class="table">
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ head, kind }) => (
              <th key={head} scope="col" class={kind}>
                {kind === 'actions' ? <span class="unseen">{head}</span> : head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={keyOf(row)} class={current?.(row) === true ? 'current' : undefined}>
              {columns.map(({ head, cell, kind }) => (
                <td key={head} class={kind} data-head={head}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Under a list that goes on. */
export function More({ more }: { more: (() => void) | null }) {
  if (more === null) return null;
  return (
    <p class="more">
      <button type="button" class="plain" onClick={more}>
        Show more
      </button>
    </p>
  );
}
