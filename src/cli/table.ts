// Columns of text, aligned by the width that characters have on a terminal. There are two spaces between columns, and
// the last one is not padded.

const GAP = '  ';

export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, Bun.stringWidth(cell));
    });
  }
  return rows
    .map(
      row =>
        `${row
          .map((cell, column) => pad(cell, column, widths))
          .join(GAP)
          .trimEnd()}\n`,
    )
    .join('');
}

function pad(cell: string, column: number, widths: readonly number[]): string {
  if (column === widths.length - 1) return cell;
  return cell + ' '.repeat((widths[column] ?? 0) - Bun.stringWidth(cell));
}
