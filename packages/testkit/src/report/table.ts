/** Rows as text in columns; the columns in `right` are aligned right. */
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

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

/** A table of Markdown; its columns are aligned, so that it is also readable as text. */
export function markdownTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const cells = [header, ...rows].map((row) => header.map((_, i) => cell(row[i] ?? '')));
  const widths = header.map((_, i) => Math.max(3, ...cells.map((row) => row[i]!.length)));
  const lines = cells.map((row) => row.map((text, i) => text.padEnd(widths[i]!)).join(' | '));
  const rule = widths.map((width) => '-'.repeat(width)).join(' | ');
  const [head = '', ...body] = lines;
  return [head, rule, ...body].map((line) => `| ${line} |\n`).join('');
}
