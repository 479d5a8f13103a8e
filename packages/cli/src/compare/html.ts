import { accessSync, constants, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { reasonOf, refusal } from '../errors.js';
import { SIDES } from '../question.js';
import { ASPECT_ORDER, ASPECTS } from './compare-replies.js';
import { histogramRows, timeText, totalRows, type ResultData } from './result.js';
import type { ClassCount } from './tally.js';

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

function totals(data: ResultData): string {
  const rows = totalRows(data).filter(([, count], index) => index < 2 || count > 0);
  const sum = tableRow('in all', data.questions.total).replace('<tr>', '<tr class="sum">');
  return `<table class="counts">${rows.map((row) => tableRow(...row)).join('')}${sum}</table>`;
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
    const cells = [...times, replies, noReply].map(
      (cell, at) => `<td data-label="${heads[at + 1]!}">${cell}</td>`,
    );
    return `<tr><th>${side}</th>${cells.join('')}</tr>`;
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
  const found = ASPECT_ORDER.filter((aspect) => aspects[aspect] > 0);
  const classes = found.map((aspect): [string, string, number] => [
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

/** Throws a refusal when the page could not be written; creates nothing, so that a failed run leaves no file. */
export function checkPageFile(file: string): void {
  try {
    const existing = statSync(file, { throwIfNoEntry: false });
    if (existing?.isDirectory() === true) throw new Error('is a directory');
    accessSync(existing === undefined ? dirname(file) : file, constants.W_OK);
  } catch (cause) {
    throw unwritable(file, cause);
  }
}

/** Writes the page; throws a refusal. */
export function writePage(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (cause) {
    throw unwritable(file, cause);
  }
}

function unwritable(file: string, cause: unknown): Error {
  return refusal(`cannot write the page ${file}: ${reasonOf(cause)}`, { cause });
}

/** The style of the page; light or dark as the browser prefers. */
const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --page: #fff; --text: #1c2024; --soft: #5b6570; --line: #d9dee3; --card: #f5f7f9;
  --left: #1f6fd0; --right: #b8500f; --good: #1a7f43; --noticed: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171a; --text: #e4e8ec; --soft: #9aa5b1; --line: #343b42; --card: #1d2226;
    --left: #6aa9f4; --right: #eb9a5c; --good: #5bc98a; --noticed: #ff8a80;
  }
}
body {
  background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem;
}
h1 { font-size: 1.1rem; margin: 0; color: var(--soft); } h2 { font-size: 1.15rem; margin: 2rem 0 .4rem; }
p { margin: .2rem 0 .6rem; }
.verdict { font-size: 1.5rem; font-weight: 600; margin: .2rem 0 1rem; color: var(--good); }
.verdict.noticed { color: var(--noticed); }
table { border-collapse: collapse; }
th { text-align: left; font-weight: 600; }
th, td { padding: .15rem 1rem .15rem 0; vertical-align: top; }
td { font-variant-numeric: tabular-nums; }
.summary th, .counts th, .histogram th { font-weight: 400; color: var(--soft); white-space: nowrap; }
.counts td:nth-child(2), .numbers td, .numbers th + th { text-align: right; }
.sum > * { border-top: 1px solid var(--line); }
.columns { display: flex; flex-wrap: wrap; gap: 0 2rem; } .columns section { flex: 1 1 28rem; }
.histogram { margin-top: .6rem; }
.histogram td:nth-child(even) { text-align: right; padding-right: .5rem; min-width: 3rem; }
.bar { width: 7rem; } .bar i { display: block; height: .8rem; margin-top: .3rem; background: var(--left); }
.bar.right i { background: var(--right); }
summary { cursor: pointer; color: var(--soft); }
#filters { display: flex; flex-wrap: wrap; gap: .5rem; }
#filters > *, button {
  font: inherit; color: inherit; background: var(--page); border: 1px solid var(--line);
  border-radius: .3rem; padding: .3rem .5rem;
}
#text { flex: 1 1 12rem; } #class { max-width: 22rem; }
#shown { color: var(--soft); margin-top: .6rem; }
article { background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: .7rem 1rem; margin: .7rem 0; }
h3 { font-size: 1rem; margin: 0; } h4 { font-size: .9rem; margin: .6rem 0 0; overflow-wrap: anywhere; }
small { color: var(--soft); font-weight: 400; }
pre { margin: .2rem 0; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0 1.5rem; }
.pair pre { padding-left: .5rem; border-left: 3px solid var(--left); }
.pair pre:last-child { border-color: var(--right); }
@media (max-width: 45rem) {
  body { margin: 1rem auto; }
  .pair { grid-template-columns: 1fr; }
  .columns section { flex-basis: 100%; min-width: 0; }
  #filters > * { flex: 1 1 100%; max-width: 100%; }
  th, td { padding-right: .5rem; }
  .summary td, details { overflow-wrap: anywhere; }
  table.summary, table.numbers { width: 100%; }
  .summary tbody, .summary tr, .summary th, .summary td, .numbers tbody, .numbers tr, .numbers th, .numbers td { display: block; }
  .summary td { margin-bottom: .4rem; padding: 0; }
  .numbers tr:first-child { display: none; }
  .numbers td { display: flex; justify-content: space-between; padding: 0; }
  .numbers td::before { content: attr(data-label); color: var(--soft); }
  .counts th { white-space: normal; }
  .histogram td:nth-child(even) { min-width: 1.5rem; }
  .bar { width: 4rem; }
}
`;

/**
 * The script of the page, for any browser of the last years: no modules, no other files. The filter is in the
 * fragment (`#text=web&class=ttl&kind=pod&over=tcp`), so that a filtered list is a link. It filters questions;
 * an entry shows how many of its questions are left, and three of them.
 */
const PAGE_SCRIPT = `
'use strict';
(function () {
  var ENTRIES = 50;
  var EXAMPLES = 3;
  var MORE_EXAMPLES = 100;
  var data = JSON.parse(document.getElementById('data').textContent);
  var fields = ['text', 'class', 'kind', 'over'].map(function (id) {
    return document.getElementById(id);
  });
  var list = document.getElementById('list');
  var more = document.getElementById('more');
  var found = [];
  var drawn = 0;
  data.differences.forEach(function (one) {
    one.search = [one.name, one.type].concat(one.left, one.right).join(' ').toLowerCase();
  });
  function element(name, text, parent) {
    var made = document.createElement(name);
    made.textContent = text;
    parent.appendChild(made);
    return made;
  }
  function count(number, noun) {
    return number + ' ' + noun + (number === 1 ? '' : 's');
  }
  function pair(left, right, parent) {
    var box = element('div', '', parent);
    box.className = 'pair';
    element('pre', left.join('\\n') || '-', box);
    element('pre', right.join('\\n') || '-', box);
  }
  function drawQuestion(one, parent) {
    var box = element('section', '', parent);
    var heading = element('h4', one.name + ' ' + one.type + ' ', box);
    element('small', 'over ' + one.over.join(', '), heading);
    one.findings.forEach(function (finding) {
      element('small', finding.aspect, box);
      pair(finding.left, finding.right, box);
    });
    var details = element('details', '', box);
    element('summary', 'whole replies', details);
    pair(one.left, one.right, details);
  }
  function drawEntry(group) {
    var article = element('article', '', list);
    var heading = element('h3', group.entry.class + ' ', article);
    var what = ' (' + group.entry.types.join(' or ') + ', kind ' + group.entry.kinds.join(' or ') + ')';
    element('small', count(group.questions.length, 'question') + what, heading);
    element('p', group.entry.meaning, article);
    var box = element('div', '', article);
    var shown = 0;
    function some(number) {
      group.questions.slice(shown, shown + number).forEach(function (one) { drawQuestion(one, box); });
      shown += number;
    }
    some(EXAMPLES);
    if (group.questions.length <= EXAMPLES) return;
    var button = element('button', '', article);
    function label() {
      button.hidden = shown >= group.questions.length;
      button.textContent = 'Show ' + Math.min(MORE_EXAMPLES, group.questions.length - shown) +
        ' more of ' + group.questions.length;
    }
    button.addEventListener('click', function () { some(MORE_EXAMPLES); label(); });
    label();
  }
  function draw() {
    found.slice(drawn, drawn + ENTRIES).forEach(drawEntry);
    drawn = Math.min(drawn + ENTRIES, found.length);
    more.hidden = drawn === found.length;
  }
  function filter() {
    var values = fields.map(function (field) { return field.value; });
    var words = values[0].toLowerCase().split(/\\s+/);
    var questions = 0;
    found = [];
    data.entries.forEach(function (entry) {
      if (values[1] && entry.class !== values[1]) return;
      var matching = entry.differences.map(function (index) {
        return data.differences[index];
      }).filter(function (one) {
        return (!values[2] || one.kind === values[2]) && (!values[3] || one.over.indexOf(values[3]) >= 0) &&
          words.every(function (word) { return one.search.indexOf(word) >= 0; });
      });
      questions += matching.length;
      if (matching.length > 0) found.push({ entry: entry, questions: matching });
    });
    list.textContent = '';
    drawn = 0;
    draw();
    document.getElementById('shown').textContent = count(questions, 'question') + ' of ' +
      data.differences.length + ', ' + count(found.length, 'difference') + ' of ' + data.entries.length;
  }
  function readFragment() {
    var wanted = new URLSearchParams(location.hash.slice(1));
    fields.forEach(function (field) { field.value = wanted.get(field.id) || ''; });
    filter();
  }
  function writeFragment() {
    var wanted = new URLSearchParams();
    fields.forEach(function (field) { if (field.value) wanted.set(field.id, field.value); });
    history.replaceState(null, '', '#' + wanted.toString());
    filter();
  }
  document.getElementById('filters').addEventListener('input', writeFragment);
  document.getElementById('filters').addEventListener('submit', function (event) { event.preventDefault(); });
  window.addEventListener('hashchange', readFragment);
  more.addEventListener('click', draw);
  readFragment();
})();
`;
