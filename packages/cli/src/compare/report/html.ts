import { SIDES } from '../asking/way.js';
import { ASPECTS } from '../verdict/compare-replies.js';
import { KNOWN_CLASSES } from '../verdict/known-classes.js';
import type { ResultData } from './json.js';
import { PAGE_SCRIPT } from './page-script.js';
import { PAGE_STYLE } from './page-style.js';

/**
 * The result as one self-contained page: the summary and the histograms are HTML, a script draws the list
 * of differences and filters it by the fragment of the URL.
 */
export function pageText(data: ResultData): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>kube-dns compare: ${escape(data.servers.left)} and ${escape(data.servers.right)}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<h1>kube-dns compare</h1>
${summary(data)}
<h2>Latency</h2>
${latencyTable(data)}
<div class="histograms">${SIDES.map((side) => histogram(side, data)).join('')}</div>
<h2>Differences</h2>
${filters(data)}
<p id="shown" role="status"></p>
<div id="list"></div>
<button id="more" hidden>Show more</button>
<noscript>The list of differences needs JavaScript.</noscript>
<script type="application/json" id="data">${scriptData(data.differences)}</script>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`;
}

function summary({ servers, questions, pairs, known, seconds, over, notes, givenUp }: ResultData) {
  const classes = Object.entries(KNOWN_CLASSES)
    .map(([id, text]) => [text, known[id as keyof typeof known]] as const)
    .filter(([, count]) => count > 0);
  const rows: (readonly [string, string | number])[] = [
    ['Left', servers.left],
    ['Right', servers.right],
    ['Questions', questions.total],
    ['Asked', `${pairs.total} of each side over ${over.join(', ')}, in ${seconds} s`],
    ['The same', pairs.same],
    ['Known differences only', pairs.known],
    ['Different', pairs.different],
    ...(pairs.skipped > 0 ? [['Not asked', pairs.skipped] as const] : []),
    ...classes.map(([text, count]) => [`Known: ${text}`, `${count} questions`] as const),
    ...givenUp.map(({ side, way, reason }) => [`Given up: ${side} over ${way}`, reason] as const),
    ...notes.map((note) => ['Note', note] as const),
  ];
  return `<table class="summary">${rows.map((row) => tableRow(...row)).join('')}</table>`;
}

function tableRow(head: string, ...cells: (string | number)[]): string {
  return `<tr><th>${escape(head)}</th>${cells.map((cell) => `<td>${escape(String(cell))}</td>`).join('')}</tr>`;
}

function latencyTable({ latency }: ResultData): string {
  const heads = ['', 'p50', 'p90', 'p99', 'replies', 'no reply'];
  const rows = SIDES.map((side) => {
    const { p50Ms, p90Ms, p99Ms, replies, noReply } = latency[side];
    const times = [p50Ms, p90Ms, p99Ms].map((ms) => `${ms} ms`);
    return tableRow(side, ...times, replies, noReply);
  });
  return `<table><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr>${rows.join('')}</table>`;
}

function histogram(side: (typeof SIDES)[number], { latency }: ResultData): string {
  const most = Math.max(
    1,
    ...SIDES.flatMap((one) => latency[one].histogram.map((bar) => bar.count)),
  );
  const bars = latency[side].histogram.map(({ toMs, count }) => {
    const width = ((count / most) * 100).toFixed(1);
    return `<tr><th>≤ ${toMs.toPrecision(3)} ms</th><td>${count}</td><td class="bar"><i style="width:${width}%"></i></td></tr>`;
  });
  return `<table><caption>${side}</caption>${bars.join('')}</table>`;
}

function filters({ aspects, differences, over }: ResultData): string {
  const options = Object.entries(ASPECTS)
    .map(([id, text]) => ({ id, text, count: aspects[id as keyof typeof aspects] }))
    .filter(({ count }) => count > 0)
    .map(({ id, text, count }) => `<option value="${id}">${id}: ${text} (${count})</option>`);
  const kinds = [...new Set(differences.map(({ kind }) => kind))];
  const select = (id: string, all: string, inner: string) =>
    `<select id="${id}" aria-label="${all}"><option value="">${all}</option>${inner}</select>`;
  const plain = (values: readonly string[]) =>
    values.map((value) => `<option>${value}</option>`).join('');
  return `<form id="filters"><input id="text" type="search" placeholder="name, type, record …" aria-label="text">
${select('aspect', 'any difference', options.join(''))}
${select('kind', 'any kind of name', plain(kinds))}
${select('over', 'over anything', plain(over))}</form>`;
}

function escape(text: string): string {
  const names: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' };
  return text.replace(/[&<>"]/g, (character) => `&${names[character]!};`);
}

/** JSON that cannot end its script element, whatever a name server put into a record. */
function scriptData(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}
