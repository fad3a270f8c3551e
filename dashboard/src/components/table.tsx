// A table; on a narrow screen each row becomes a card whose cells show their column's name.

import type { ComponentChildren } from 'preact';

export interface Column<Row> {
  head: string;
  cell: (row: Row) => ComponentChildren;
  /** `number` aligns to the right; `wide` takes the remaining width; `actions` keeps buttons together at the end. */
  kind?: 'number' | 'wide' | 'actions';
}

interface TableProps<Row> {
  /** What the table contains, for screen readers. */
  caption: string;
  columns: Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** Marks a row, for example the one whose details are open. */
  current?: (row: Row) => boolean;
  /** On a narrow screen the cells of a row follow each other without their columns' names. */
  compact?: boolean;
}

export function Table<Row>({ caption, columns, rows, keyOf, current, compact }: TableProps<Row>) {
  return (
    <div class={compact === true ? 'table compact' : 'table'}>
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

/** The button below a list that has more items. */
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
