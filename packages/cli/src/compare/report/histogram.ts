import type { LatencyBar } from '../verdict/latency.js';

const BAR_CELLS = 24;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;

/** Two distributions side by side, a line for each doubling of the time; nothing without replies. */
export function histogramLines(
  left: readonly LatencyBar[],
  right: readonly LatencyBar[],
): string[] {
  const limits = [...new Set([...left, ...right].map(({ toMs }) => toMs))].sort((a, b) => a - b);
  if (limits.length === 0) return [];
  const most = Math.max(...[...left, ...right].map(({ count }) => count));
  const side = (bars: readonly LatencyBar[], limit: number) => {
    const count = bars.find(({ toMs }) => toMs === limit)?.count ?? 0;
    return `${String(count).padStart(8)} ${bar(count / most)}`;
  };
  return [
    `  ${'up to'.padStart(10)}    left${' '.repeat(BAR_CELLS + 1)}    right`,
    ...limits.map((limit) => {
      const label = `${limit.toPrecision(3)} ms`.padStart(10);
      return `  ${label}${side(left, limit)}${side(right, limit)}`.trimEnd();
    }),
  ];
}

/** A part of the full width in eighths of a cell; anything above 0 is visible. */
function bar(part: number): string {
  const eighths = part === 0 ? 0 : Math.max(1, Math.round(part * BAR_CELLS * 8));
  const text = '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8]!;
  return text.padEnd(BAR_CELLS);
}
