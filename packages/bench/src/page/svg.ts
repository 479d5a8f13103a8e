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
export function svgOf(
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
export function textAt(
  x: number,
  y: number,
  text: string,
  { className = '', anchor = 'start' } = {},
): string {
  return `<text x="${round(x)}" y="${round(y)}" class="${className}" text-anchor="${anchor}">${escapeXml(text)}</text>`;
}

export function lineBetween(
  [x1, y1]: readonly [number, number],
  [x2, y2]: readonly [number, number],
  className: string,
): string {
  return `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" class="${className}"/>`;
}

export function round(value: number): number {
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
