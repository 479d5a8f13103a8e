import type { LatencyBar } from '../verdict/latency.js';

const BAR_CELLS = 24;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;

/** How many replies of each side took at most `toMs`, and more than in the row before. */
export interface HistogramRow {
  readonly toMs: number;
  readonly left: number;
  readonly right: number;
}

/** Two distributions side by side, a row for each doubling of the time; nothing without replies. */
export function histogramRows(
  left: readonly LatencyBar[],
  right: readonly LatencyBar[],
): HistogramRow[] {
  const limits = [...new Set([...left, ...right].map(({ toMs }) => toMs))].sort((a, b) => a - b);
  const countOf = (bars: readonly LatencyBar[], limit: number) =>
    bars.find(({ toMs }) => toMs === limit)?.count ?? 0;
  return limits.map((toMs) => ({ toMs, left: countOf(left, toMs), right: countOf(right, toMs) }));
}

/** The same as lines for a terminal. */
export function histogramLines(
  left: readonly LatencyBar[],
  right: readonly LatencyBar[],
): string[] {
  const rows = histogramRows(left, right);
  if (rows.length === 0) return [];
  const most = Math.max(...rows.flatMap((row) => [row.left, row.right]));
  const side = (count: number) => `${String(count).padStart(8)} ${bar(count / most)}`;
  return [
    `  ${'up to'.padStart(10)}    left${' '.repeat(BAR_CELLS + 1)}    right`,
    ...rows.map((row) => {
      const label = `${row.toMs.toPrecision(3)} ms`.padStart(10);
      return `  ${label}${side(row.left)}${side(row.right)}`.trimEnd();
    }),
  ];
}

/** A part of the full width in eighths of a cell; anything above 0 is visible. */
function bar(part: number): string {
  const eighths = part === 0 ? 0 : Math.max(1, Math.round(part * BAR_CELLS * 8));
  const text = '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8]!;
  return text.padEnd(BAR_CELLS);
}
