import { CONTAINER_NAMES } from '../fixtures/pod-containers.js';
import type { Sample } from './findings.js';

/** A line of a plot; points are x and y, in the order of x. NaN is left out. */
interface Line {
  readonly name: string;
  readonly points: readonly (readonly [number, number])[];
}

/** Lines over the same x; y begins at 0. */
interface Panel {
  readonly title: string;
  readonly lines: readonly Line[];
}

const WIDTH = 900;
const PANEL_HEIGHT = 200;
const LEFT = 60;
const RIGHT = 110;
const TOP = 40;
const GAP = 50;
const TICKS = 4;
const COLOURS = ['#1b6ca8', '#c0504d', '#5b8c3e', '#7d5ba6'] as const;
const MAX_POINTS = 450;

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

/** The smallest of 1, 2, 2.5, 5 and 10 times a power of ten that is not below the value. */
function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 2.5, 5].find((step) => step * power >= value) ?? 10) * power;
}

function textOf(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/** At most MAX_POINTS points, each the largest of its neighbours: no peak is lost. */
function thinned(points: Line['points']): Line['points'] {
  const size = Math.ceil(points.length / MAX_POINTS);
  if (size <= 1) return points;
  const thin: (readonly [number, number])[] = [];
  for (let i = 0; i < points.length; i += size) {
    thin.push(points.slice(i, i + size).reduce((max, point) => (point[1] > max[1] ? point : max)));
  }
  return thin;
}

function text(x: number, y: number, anchor: 'start' | 'middle' | 'end', value: string): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}">${escapeXml(value)}</text>`;
}

function panelSvg(panel: Panel, top: number, lastX: number): string {
  const right = WIDTH - RIGHT;
  const bottom = top + PANEL_HEIGHT;
  const lines = panel.lines.map(({ name, points }) => ({
    name,
    points: thinned(points.filter(([, y]) => !Number.isNaN(y))),
  }));
  const maxY = roundUp(Math.max(0, ...lines.flatMap(({ points }) => points.map(([, y]) => y))));
  const toX = (x: number) => LEFT + (x / lastX) * (right - LEFT);
  const toY = (y: number) => bottom - (y / maxY) * PANEL_HEIGHT;
  const parts = [`<g>${text(LEFT, top - 8, 'start', panel.title)}</g>`];
  for (let tick = 0; tick <= TICKS; tick++) {
    const [x, y] = [(lastX * tick) / TICKS, (maxY * tick) / TICKS];
    const height = toY(y);
    parts.push(
      `<path d="M${LEFT} ${height}H${right}" stroke="#ddd"/>`,
      text(LEFT - 6, height + 4, 'end', textOf(y)),
      text(toX(x), bottom + 16, 'middle', textOf(x)),
    );
  }
  lines.forEach(({ name, points }, i) => {
    const colour = COLOURS[i % COLOURS.length]!;
    const path = points.map(([x, y]) => `${toX(x).toFixed(1)} ${toY(y).toFixed(1)}`).join('L');
    parts.push(
      `<path d="M${path}" fill="none" stroke="${colour}" stroke-width="1.3"/>`,
      `<g fill="${colour}">${text(right + 8, top + 12 + 16 * i, 'start', name)}</g>`,
    );
  });
  return parts.join('\n');
}

/** Panels below each other with one axis of x, as an SVG document. */
export function plotSvg(
  panels: readonly Panel[],
  { title, axis }: { readonly title: string; readonly axis: string },
): string {
  const height = TOP + panels.length * (PANEL_HEIGHT + GAP) + 10;
  const all = panels.flatMap(({ lines }) => lines.flatMap(({ points }) => points));
  const lastX = Math.max(...all.map(([x]) => x), Number.MIN_VALUE);
  const body = panels.map((panel, i) => {
    return panelSvg(panel, TOP + GAP / 2 + i * (PANEL_HEIGHT + GAP), lastX);
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}"`,
    ' font-family="sans-serif" font-size="12">',
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<g font-size="15">${text(LEFT, 24, 'start', title)}</g>`,
    ...body,
    text(WIDTH - RIGHT + 8, height - 28, 'start', axis),
    '</svg>\n',
  ].join('\n');
}

const MIB = 2 ** 20;

/** RSS of each container, questions a second and p99 over the time of a run, as SVG. */
export function soakPlot(samples: readonly Sample[], title: string): string {
  const points = (value: (sample: Sample) => number) =>
    samples.map((sample) => [sample.atSeconds / 60, value(sample)] as const);
  const panels: Panel[] = [
    {
      title: 'RSS, MiB',
      lines: CONTAINER_NAMES.map((name) => ({
        name,
        points: points(({ containers }) => containers[name].rssBytes / MIB),
      })),
    },
    {
      title: 'questions a second',
      lines: [
        { name: 'asked', points: points(({ answers, seconds }) => answers.asked / seconds) },
        { name: 'right', points: points(({ answers, seconds }) => answers.right / seconds) },
      ],
    },
    {
      title: 'time to the answer, ms',
      lines: [
        { name: 'p50', points: points(({ answers }) => answers.p50Ms) },
        { name: 'p99', points: points(({ answers }) => answers.p99Ms) },
        { name: 'p99 of own delay', points: points(({ answers }) => answers.ownLateP99Ms) },
      ],
    },
  ];
  return plotSvg(panels, { title, axis: 'minutes' });
}
