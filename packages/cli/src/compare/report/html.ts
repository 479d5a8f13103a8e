import { SIDES } from '../asking/way.js';
import { ASPECTS, type Aspect } from '../verdict/compare-replies.js';
import type { ClassCount } from '../verdict/tally.js';
import { histogramRows } from './histogram.js';
import { type ResultData, timeText } from './json.js';
import { PAGE_SCRIPT } from './page-script.js';
import { PAGE_STYLE } from './page-style.js';

/**
 * The result as one self-contained page: verdict, summary and histograms are HTML, a script draws the list
 * of differences and filters it by the fragment of the URL.
 */
export function pageText(data: ResultData): string {
  const { servers, verdict, entries, differences } = data;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>kube-dns compare: ${escape(servers.left)} and ${escape(servers.right)}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<h1>kube-dns compare</h1>
<p class="verdict${entries.length === 0 && data.givenUp.length === 0 ? '' : ' noticed'}">${escape(verdict)}</p>
${summary(data)}
<div class="columns">
<section>
<h2>Questions</h2>${totals(data)}
${classTable('Conventions', 'No client notices these. A question may have several.', data.conventions)}
${classTable('Ignored', 'With --ignore.', data.ignored)}
</section>
<section><h2>Latency</h2>${latencyTable(data)}${histogram(data)}</section>
</div>
<h2>Differences that a client can notice</h2>
${filters(data)}
<p id="shown" role="status"></p>
<div id="list"></div>
<button id="more" hidden>Show more</button>
<noscript>The list of differences needs JavaScript.</noscript>
<script type="application/json" id="data">${scriptData({ entries, differences })}</script>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`;
}

function summary({ date, servers, api, pairs, seconds, over, notes, givenUp }: ResultData): string {
  const rows: (readonly [string, string])[] = [
    ['Date', timeText(date)],
    ['Left', servers.left],
    ['Right', servers.right],
    ...(api === null ? [] : [['API server', api] as const]),
    ['Asked', `${pairs.total} queries to each side over ${over.join(', ')}, in ${seconds} s`],
    ...givenUp.map(({ side, way, reason }) => [`Given up: ${side} over ${way}`, reason] as const),
    ...notes.map((note) => ['Note', note] as const),
  ];
  return `<table class="summary">${rows.map((row) => tableRow(...row)).join('')}</table>`;
}

/** Each question is in one row: the rows add up. */
function totals({ questions, totals, aspects, ignored }: ResultData): string {
  const rows: [string, number][] = [
    ['the same', totals.same],
    [ignored.length > 0 ? 'conventions or ignored only' : 'conventions only', totals.known],
    ...aspectNames(aspects).map((aspect): [string, number] => [
      `${aspect}: ${ASPECTS[aspect]}`,
      aspects[aspect],
    ]),
    ...(totals.notAsked > 0 ? [['not asked', totals.notAsked] as [string, number]] : []),
  ];
  const sum = tableRow('in all', questions.total).replace('<tr>', '<tr class="sum">');
  return `<table class="counts">${rows.map((row) => tableRow(...row)).join('')}${sum}</table>`;
}

function aspectNames(aspects: ResultData['aspects']): Aspect[] {
  return (Object.keys(ASPECTS) as Aspect[]).filter((aspect) => aspects[aspect] > 0);
}

function classTable(
  title: string,
  text: string,
  classes: readonly (ClassCount & { readonly class: string; readonly text: string })[],
): string {
  if (classes.length === 0) return '';
  const rows = classes.map((one) => {
    const examples = `<details><summary>${escape(one.text)}</summary>${one.examples.map(escape).join('<br>')}</details>`;
    return `<tr><th>${one.class}</th><td>${one.questions}</td><td>${examples}</td></tr>`;
  });
  return `<h2>${title}</h2><p>${text}</p><table class="counts">${rows.join('')}</table>`;
}

function tableRow(head: string, ...cells: (string | number)[]): string {
  return `<tr><th>${escape(head)}</th>${cells.map((cell) => `<td>${escape(String(cell))}</td>`).join('')}</tr>`;
}

function latencyTable({ latency }: ResultData): string {
  const heads = ['', 'p50', 'p90', 'p99', 'replies', 'no reply'];
  const rows = SIDES.map((side) => {
    const { p50Ms, p90Ms, p99Ms, replies, noReply } = latency[side];
    const times = [p50Ms, p90Ms, p99Ms].map((ms) => `${ms.toPrecision(3)} ms`);
    return tableRow(side, ...times, replies, noReply);
  });
  return `<table class="numbers"><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr>${rows.join('')}</table>`;
}

/** Both sides in one table, so that equal times are in one row. */
function histogram({ latency }: ResultData): string {
  const rows = histogramRows(latency.left.histogram, latency.right.histogram);
  const most = Math.max(1, ...rows.flatMap(({ left, right }) => [left, right]));
  const lines = rows.map((row) => {
    const cells = SIDES.map((side) => {
      const width = ((row[side] / most) * 100).toFixed(1);
      return `<td>${row[side]}</td><td class="bar ${side}"><i style="width:${width}%"></i></td>`;
    });
    return `<tr><th>≤ ${row.toMs.toPrecision(3)} ms</th>${cells.join('')}</tr>`;
  });
  const heads = SIDES.map((side) => `<th colspan="2">${side}</th>`).join('');
  return `<table class="histogram"><tr><th></th>${heads}</tr>${lines.join('')}</table>`;
}

function filters({ aspects, differences, over }: ResultData): string {
  const classes = aspectNames(aspects).map((aspect): [string, string, number] => [
    aspect,
    `${aspect}: ${ASPECTS[aspect]}`,
    aspects[aspect],
  ]);
  const kinds = [...new Set(differences.map(({ kind }) => kind))].map(
    (kind): [string, string, number] => [
      kind,
      kind,
      differences.filter((one) => one.kind === kind).length,
    ],
  );
  const ways = over.map((way): [string, string, number] => [
    way,
    `over ${way}`,
    differences.filter((one) => one.over.includes(way)).length,
  ]);
  const select = (id: string, all: string, options: readonly [string, string, number][]) => {
    const inner = options.map(
      ([value, text, count]) => `<option value="${value}">${text} (${count})</option>`,
    );
    return `<select id="${id}" aria-label="${all}"><option value="">${all}</option>${inner.join('')}</select>`;
  };
  return `<form id="filters"><input id="text" type="search" placeholder="name, type, record …" aria-label="text">
${select('class', 'any class', classes)}
${select('kind', 'any kind of name', kinds)}
${select('over', 'over anything', ways)}</form>`;
}

function escape(text: string): string {
  const names: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' };
  return text.replace(/[&<>"]/g, (character) => `&${names[character]!};`);
}

/** JSON that cannot end its script element, whatever a name server put into a record. */
function scriptData(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}
