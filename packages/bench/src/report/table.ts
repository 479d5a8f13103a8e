/** Rows as text in columns; those named in `right` are set flush right. */
export function formatTable(
  rows: readonly (readonly string[])[],
  right: readonly number[],
): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, cell.length)));
  }
  const lines = rows.map((row) => {
    const cells = row.map((cell, i) =>
      right.includes(i) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0),
    );
    return `${cells.join('  ').trimEnd()}\n`;
  });
  return lines.join('');
}
