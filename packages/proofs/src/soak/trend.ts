import { median } from '@kube-dns/testkit';

/** A figure at a moment. */
export interface Point {
  readonly atSeconds: number;
  readonly value: number;
}

/** The points of a part of the time that they cover, 0 its beginning and 1 its end. */
export function partOf(points: readonly Point[], from: number, to: number): readonly Point[] {
  const first = points[0]?.atSeconds ?? 0;
  const length = (points.at(-1)?.atSeconds ?? 0) - first;
  return points.filter(({ atSeconds }) => {
    const at = atSeconds - first;
    return at >= from * length && at <= to * length;
  });
}

/** The median of a part of the time. */
export function medianOf(points: readonly Point[], from: number, to: number): number {
  return median(partOf(points, from, to).map(({ value }) => value));
}

const QUARTER = 0.25;

/**
 * By what part a figure has grown: the median of the last quarter of the time beside that of the first, so
 * that no single garbage collection decides. Negative where the value has fallen.
 */
export function growth(points: readonly Point[]): number {
  return medianOf(points, 1 - QUARTER, 1) / medianOf(points, 0, QUARTER) - 1;
}

/** The same as a number of things more. */
export function increase(points: readonly Point[]): number {
  return medianOf(points, 1 - QUARTER, 1) - medianOf(points, 0, QUARTER);
}

const THIRD = 1 / 3;

/** The median of the last third of the time beside that of the second. */
export function lastThird(points: readonly Point[]): number {
  return medianOf(points, 2 * THIRD, 1) / medianOf(points, THIRD, 2 * THIRD);
}
