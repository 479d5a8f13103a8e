/** Whose figure it is: what ours is called begins so. */
export type Side = 'ours' | 'echo' | 'peer';

const STYLE = [
  'text{font:12px system-ui,sans-serif;fill:#1f2328}',
  '.head{font-size:14px;font-weight:600}.group{font-weight:600}.note{fill:#59636e}',
  '.ours{fill:#1f6feb}.echo{fill:#1a7f64}.peer{fill:#8c959f}',
  '.line{stroke:#d1d9e0}.mark{stroke:#cf222e;stroke-width:2}',
  '@media (prefers-color-scheme:dark){text{fill:#e6edf3}.note{fill:#9198a1}',
  '.ours{fill:#4493f8}.echo{fill:#3fb68b}.peer{fill:#768390}',
  '.line{stroke:#3d444d}.mark{stroke:#f85149}}',
].join('');

/** The whole picture. It has no background and no script, and follows the scheme of the reader. */
function svgOf(
  title: string,
  { width, height }: { readonly width: number; readonly height: number },
  content: readonly string[],
): string {
  const size = `viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">`,
    `<title>${escapeXml(title)}</title>`,
    `<style>${STYLE}</style>`,
    ...content,
    '</svg>',
    '',
  ].join('\n');
}

/** Text with its baseline at `y`. */
function textAt(
  x: number,
  y: number,
  text: string,
  { className = '', anchor = 'start' } = {},
): string {
  return `<text x="${round(x)}" y="${round(y)}" class="${className}" text-anchor="${anchor}">${escapeXml(text)}</text>`;
}

function lineBetween(
  [x1, y1]: readonly [number, number],
  [x2, y2]: readonly [number, number],
  className: string,
): string {
  return `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" class="${className}"/>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Whose figure a server's is, by its name. */
export function sideOf(server: string): Side {
  if (server.startsWith('our ')) return 'ours';
  return / (?:echo|relay)$/.test(server) ? 'echo' : 'peer';
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

/** One bar, its parts beside each other. */
export interface BarRow {
  readonly label: string;
  readonly side: Side;
  readonly parts: readonly number[];
  /** Behind the bar. */
  readonly text: string;
  /** A limit that is shown as a line across it. */
  readonly limit?: number;
}

/** The median and two later percentiles. */
interface SpreadRow {
  readonly label: string;
  readonly side: Side;
  readonly values: readonly number[];
}

/** Rows that belong together. */
export interface Group<T> {
  readonly title: string;
  readonly rows: readonly T[];
}

/** What is drawn, and the sentence below its title. */
interface Chart<T> {
  readonly title: string;
  readonly note: string;
  /** Whether the longest bar of each group has the whole width; default: the longest of all. */
  readonly isScaledByGroup?: boolean;
  readonly groups: readonly Group<T>[];
}

const WIDTH = 760;
const LEFT = 180;
const RIGHT = 130;
const TOP = 52;
const ROW = 20;
const BAR = 14;
const GROUP = 30;
const PLOT = WIDTH - LEFT - RIGHT;
/** How much lighter each further part of a bar is. */
const SHADES = [1, 0.55, 0.28] as const;

/** Horizontal bars from 0; what is NaN is left out. */
export function barChart({
  title,
  note,
  groups: all,
  isScaledByGroup = false,
}: Chart<BarRow>): string {
  const isKnown = ({ parts }: BarRow) => !Number.isNaN(sum(parts));
  const groups = all
    .map((group) => ({ ...group, rows: group.rows.filter(isKnown) }))
    .filter((group) => group.rows.length > 0);
  const longestOf = (rows: readonly BarRow[]) =>
    Math.max(...rows.map(({ parts, limit = 0 }) => Math.max(sum(parts), limit)), 0);
  const longestOfAll = longestOf(groups.flatMap(({ rows }) => rows));
  const longests = new Map(
    groups.flatMap(({ rows }) => {
      const longest = isScaledByGroup ? longestOf(rows) : longestOfAll;
      return rows.map((row) => [row, longest] as const);
    }),
  );
  return layOut({ title, note, groups }, (row, y) => {
    const { side, parts, text, limit } = row;
    const longest = longests.get(row) ?? 0;
    const scale = (value: number) => (longest === 0 ? 0 : (value / longest) * PLOT);
    const bars: string[] = [];
    let x = LEFT;
    for (const [i, part] of parts.entries()) {
      const width = scale(part);
      const size = `width="${round(width)}" height="${BAR}"`;
      bars.push(
        `<rect x="${round(x)}" y="${round(y)}" ${size} class="${side}" opacity="${SHADES[i] ?? 0.2}"/>`,
      );
      x += width;
    }
    const limitX = limit === undefined ? LEFT : LEFT + scale(limit);
    if (limit !== undefined) bars.push(lineBetween([limitX, y - 2], [limitX, y + BAR + 2], 'mark'));
    return [...bars, textAt(Math.max(x, limitX) + 6, y + BAR - 3, text)];
  });
}

/** For each row a line from its first value to its last, with a point at each, on a logarithmic scale. */
export function spreadChart(
  { title, note, groups }: Chart<SpreadRow>,
  textOf: (values: readonly number[]) => string,
): string {
  const values = groups.flatMap(({ rows }) => rows.flatMap((row) => [...row.values]));
  const first = Math.floor(Math.log10(Math.min(...values)));
  const last = Math.ceil(Math.log10(Math.max(...values)));
  const scale = (value: number) =>
    LEFT + ((Math.log10(value) - first) / (last - first || 1)) * PLOT;
  const ends = `${note}, from ${10 ** first} to ${10 ** last}`;
  return layOut({ title, note: ends, groups }, ({ side, values: own }, y) => {
    const middle = y + BAR / 2;
    const ticks = Array.from({ length: last - first + 1 }, (_, i) => scale(10 ** (first + i)));
    return [
      ...ticks.map((x) => lineBetween([x, y - 3], [x, y + ROW - 3], 'line')),
      lineBetween([scale(own[0]!), middle], [scale(own.at(-1)!), middle], 'line'),
      ...own.map((value, i) => {
        const at = `cx="${round(scale(value))}" cy="${round(middle)}"`;
        return `<circle ${at} r="5" class="${side}" opacity="${SHADES[i] ?? 0.2}"/>`;
      }),
      textAt(LEFT + PLOT + 8, y + BAR - 3, textOf(own), { className: 'note' }),
    ];
  });
}

/** The title, and the groups one below the other; `draw` has the y of a row's upper edge. */
function layOut<T extends { readonly label: string; readonly side: Side }>(
  { title, note, groups }: Chart<T>,
  draw: (row: T, y: number) => readonly string[],
): string {
  const content = [
    textAt(0, 16, title, { className: 'head' }),
    textAt(0, 36, note, { className: 'note' }),
  ];
  let y = TOP;
  for (const group of groups) {
    content.push(textAt(0, y + 14, group.title, { className: 'group' }));
    y += GROUP - 6;
    for (const row of group.rows) {
      const label = { className: row.side === 'ours' ? 'group' : '', anchor: 'end' };
      content.push(textAt(LEFT - 8, y + BAR - 3, row.label, label), ...draw(row, y));
      y += ROW;
    }
    y += 8;
  }
  return svgOf(title, { width: WIDTH, height: y }, content);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** A picture: the name of its file, and what it shows. */
export interface Plot {
  readonly file: string;
  readonly title: string;
  readonly svg: string;
}

/** One picture; none without groups. */
export function plot(
  file: string,
  title: string,
  svg: () => string,
  groups: readonly unknown[],
): Plot[] {
  return groups.length === 0 ? [] : [{ file, title, svg: svg() }];
}

/** Two digits, and no fractions of many milliseconds. */
export function shortMs(value: number): string {
  return value < 10 ? value.toPrecision(2) : String(Math.round(value));
}
