import { createHash } from 'node:crypto';
import { boolFlag, shownText } from '@kube-dns/base';
import type { LocalPage } from '../local/local-page.js';
import { sharedResult } from '../shared-result.js';
import {
  isRows,
  type ProgramAbout,
  type ReportSection,
  type StatusFacts,
  statusReport,
  type StatusReport,
  type StatusSource,
  type StatusValue,
} from './status-report.js';

const PAGE = '/';
const JSON_PAGE = '/status';

/** Made for each page and not at the start, as they take Node's crypto. */
function headers(): Readonly<Record<string, string>> {
  const hash = createHash('sha256').update(STATUS_STYLE).digest('base64');
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${hash}'`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return {
    'Content-Security-Policy': policy,
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Resource-Policy': 'same-origin',
  };
}

/** The flag `--status` of each program. */
export const STATUS_FLAG = boolFlag(
  false,
  'show the status page, / and /status of the metrics port, to every client; without it to this pod alone',
);

/** The paths that every client gets with `--status`. */
export function openStatusPaths(isOpen: boolean): ReadonlySet<string> {
  return new Set(isOpen ? [PAGE, JSON_PAGE] : []);
}

/** The status pages of a program: `/`, which people read, and `/status`, the same as JSON. */
export function statusPages(about: ProgramAbout, source: StatusSource): Map<string, LocalPage> {
  const report = sharedResult(() => statusReport(about, source));
  return new Map<string, LocalPage>([
    [
      PAGE,
      async () => ({
        status: 200,
        type: 'text/html',
        headers: headers(),
        body: statusPage(await report()),
      }),
    ],
    [
      JSON_PAGE,
      async () => ({ status: 200, headers: headers(), body: statusJson(await report()) }),
    ],
  ]);
}

/** Shorter texts are not broken; a column with longer ones gets its share of the width. */
const WIDE = 28;
/** What people look for in a table; everything else is plain. */
const STATES: Readonly<Record<string, string>> = {
  down: 'down',
  error: 'down',
  failing: 'down',
  refused: 'down',
  denied: 'down',
  warning: 'doubt',
  'in doubt': 'doubt',
  stale: 'doubt',
  connecting: 'doubt',
  waiting: 'doubt',
};
const NAMES: Readonly<Record<string, string>> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": '#39',
};

/** The report as one page: no script, no form, nothing that is loaded. */
export function statusPage(report: StatusReport): string {
  const { program, version, host, at, sections } = report;
  const { headline } = headlineOf(report);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escape(`${program}: ${headline}`)}</title>
<style>${STATUS_STYLE}</style>
</head>
<body>
<header>
<p class="about"><b>${escape(program)}</b> ${escape(version)} on ${escape(host)}, ${escape(shownValue('nowAt', at))}</p>
${state(report)}
<nav aria-label="Sections"><ul>${sections.map((each, i) => `<li><a href="#s${i}">${escape(each.title)}</a></li>`).join('')}</ul></nav>
</header>
<main>
${sections.map(sectionOf).join('\n')}
</main>
<footer><a href="/status">The same as JSON</a></footer>
</body>
</html>
`;
}

function headlineOf({ isReady, problems }: StatusReport): { kind: string; headline: string } {
  const count = problems.length === 1 ? 'one thing needs' : `${problems.length} things need`;
  if (isReady === false) return { kind: 'bad', headline: 'Not ready' };
  if (problems.length === 0) return { kind: 'good', headline: 'All is well' };
  const running = isReady === null ? 'Running' : 'Ready';
  return { kind: 'warn', headline: `${running}, but ${count} attention` };
}

function state(report: StatusReport): string {
  const { kind, headline } = headlineOf(report);
  const lines = [...report.notReady, ...report.problems].map((each) => `<li>${escape(each)}</li>`);
  const list = lines.length === 0 ? '' : `<ul>${lines.join('')}</ul>`;
  return `<div class="state ${kind}"><h1>${escape(headline)}</h1>${list}</div>`;
}

function sectionOf({ title, content, more }: ReportSection, index: number): string {
  const id = `s${index}`;
  const inner = isRows(content) ? table(content, id) : facts(content);
  const rest = more > 0 ? `<p class="more">and ${more} more</p>` : '';
  return `<section aria-labelledby="${id}"><h2 id="${id}">${escape(title)}</h2>${inner}${rest}</section>`;
}

function facts(content: StatusFacts): string {
  const rows = Object.entries(content).map(([key, value]) => {
    const text = shownValue(key, value);
    const style = text.length > WIDE ? ' class="wide"' : '';
    return `<div${style}><dt>${escape(shownKey(key))}</dt><dd>${escape(text)}</dd></div>`;
  });
  return rows.length === 0 ? '<p class="none">none</p>' : `<dl>${rows.join('')}</dl>`;
}

/** A table scrolls in its frame where it is too wide; the frame takes the keyboard for that. */
function table(rows: readonly StatusFacts[], id: string): string {
  const [first] = rows;
  if (first === undefined) return '<p class="none">none</p>';
  const columns = Object.keys(first).map((key) => ({ key, style: columnStyle(key, rows) }));
  const heads = columns.map(
    ({ key, style }) => `<th scope="col" class="${style}">${escape(shownKey(key))}</th>`,
  );
  const lines = rows.map((row) => {
    const cells = columns.map(({ key, style }) => {
      const text = shownValue(key, row[key] ?? null);
      const state = Object.hasOwn(STATES, text) ? ` ${STATES[text]!}` : '';
      return `<td class="${style}${state}" data-label="${escape(shownKey(key))}">${escape(text)}</td>`;
    });
    return `<tr>${cells.join('')}</tr>`;
  });
  return `<div class="scroll" role="region" aria-labelledby="${id}" tabindex="0"><table><thead><tr>${heads.join('')}</tr></thead><tbody>${lines.join('')}</tbody></table></div>`;
}

function columnStyle(key: string, rows: readonly StatusFacts[]): string {
  const values = rows.map((row): StatusValue => row[key] ?? null);
  if (values.some((value) => typeof value === 'number')) return 'number';
  return values.every((value) => shownValue(key, value).length <= WIDE) ? 'short' : 'wide';
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&${NAMES[character]!};`);
}

/** The report as JSON; `more` has the number of rows that were cut, by the section's title. */
function statusJson({ sections, ...report }: StatusReport): string {
  const cut = sections.filter(({ more }) => more > 0);
  return `${JSON.stringify({
    ...report,
    sections: Object.fromEntries(sections.map(({ title, content }) => [title, content])),
    more: Object.fromEntries(cut.map(({ title, more }) => [title, more])),
  })}\n`;
}

/** The end of a key that says what its value is. */
const UNITS: readonly (readonly [end: RegExp, format: (value: number) => string])[] = [
  [/Seconds$/, (value) => duration(value)],
  [/Ms$/, (value) => milliseconds(value)],
  [/Bytes$/, (value) => bytes(value)],
  [/Percent$/, (value) => `${round(value)} %`],
];
/** Times are texts of `Date.toISOString`. */
const TIME_END = 'At';
const ABBREVIATIONS =
  /\b(?:api|cpu|dns|ede|http|id|ip|json|nxdomain|pid|rtt|soa|srv|tcp|tls|tsig|ttl|udp|url)s?\b/g;

/** The words of a key, without its unit: `lastEventSeconds` is `last event`. */
export function shownKey(key: string): string {
  if (/[\s/]|^[A-Z]+$/.test(key)) return key;
  const isStatement = /^(?:is|has)(?=[A-Z])/;
  const bare = [...UNITS.map(([end]) => end), /At$/].reduce(
    (text, end) => (text.length > 2 ? text.replace(end, '') : text),
    key.replace(isStatement, ''),
  );
  return (bare === '' ? key : bare)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/^./, (first) => first.toLowerCase())
    .toLowerCase()
    .replace(ABBREVIATIONS, (word) =>
      word.replace(/[^s]|s(?!$)/g, (letter) => letter.toUpperCase()),
    );
}

/** A value as people read it. */
export function shownValue(key: string, value: StatusValue): string {
  if (value === null) return '–';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return '–';
    const unit = UNITS.find(([end]) => end.test(key));
    return unit === undefined ? grouped(value) : unit[1](value);
  }
  if (value === '') return '–';
  if (key.endsWith(TIME_END) && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) {
    return `${value.slice(0, 10)} ${value.slice(11, 19)} UTC`;
  }
  return shownText(value);
}

/** The two largest units: `3 d 4 h`. */
function duration(seconds: number): string {
  if (seconds < 0) return `-${duration(-seconds)}`;
  if (seconds < 10) return `${round(seconds)} s`;
  const whole = Math.round(seconds);
  const parts = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor(whole / 3_600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  const two = parts.slice(first, first + 2).filter(([count]) => count > 0);
  return two.map(([count, unit]) => `${count} ${unit}`).join(' ');
}

function milliseconds(ms: number): string {
  return Math.abs(ms) < 10_000 ? `${round(ms)} ms` : duration(ms / 1_000);
}

function bytes(count: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = count;
  let at = 0;
  for (; Math.abs(value) >= 1_024 && at < units.length - 1; at++) value /= 1_024;
  return `${round(value)} ${units[at]}`;
}

/** Three digits at least, no more than two of a fraction. */
function round(value: number): string {
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return grouped(Number(value.toFixed(digits)));
}

/** Thousands are apart: `12 345`, with a narrow space that does not break. */
function grouped(value: number): string {
  const [whole = '', fraction] = String(value).split('.');
  if (whole.length < 5 || whole.includes('e')) return String(value);
  const spaced = whole.replace(/\B(?=(?:\d{3})+$)/g, '\u202f');
  return fraction === undefined ? spaced : `${spaced}.${fraction}`;
}

/** The style of the status page: light or dark as the browser prefers, one column where it is narrow. */
const STATUS_STYLE = `
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --text: #1b2127; --soft: #55606b; --line: #dde2e7;
  --link: #1f5fb4; --good: #17703a; --warn: #8a5300; --bad: #b3261e;
  --good-back: #e8f5ec; --warn-back: #fdf3e1; --bad-back: #fcebea;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #121518; --card: #1a1e23; --text: #e3e7eb; --soft: #a0abb6; --line: #2f363d;
    --link: #82b4f5; --good: #6fd59a; --warn: #f0b45c; --bad: #ff9389;
    --good-back: #14281c; --warn-back: #2c2110; --bad-back: #331a18;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  background: var(--page); color: var(--text); margin: 0 auto; max-width: 75rem; padding: 1.5rem 1rem 3rem;
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere;
}
a { color: var(--link); }
.about { color: var(--soft); margin: 0 0 .8rem; }
.about b { color: var(--text); }
.state { background: var(--card); border: 1px solid var(--line); border-left: .4rem solid; border-radius: .5rem; padding: .9rem 1.2rem; }
.state.good { border-left-color: var(--good); background: var(--good-back); }
.state.warn { border-left-color: var(--warn); background: var(--warn-back); }
.state.bad { border-left-color: var(--bad); background: var(--bad-back); }
h1 { font-size: 1.5rem; line-height: 1.3; margin: 0; }
.good h1 { color: var(--good); } .warn h1 { color: var(--warn); } .bad h1 { color: var(--bad); }
.state ul { margin: .5rem 0 0; padding-left: 1.2rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; list-style: none; margin: 1rem 0 0; padding: 0; }
section { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; margin-top: 1rem; padding: .9rem 1.2rem 1rem; }
h2 { font-size: 1.05rem; margin: 0 0 .5rem; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: .5rem 1.5rem; margin: 0; }
dl .wide { grid-column: 1 / -1; }
dt { color: var(--soft); font-size: .85rem; }
dd { margin: 0; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
/* Where the system hides bars, a table would look cut. */
.scroll::-webkit-scrollbar { height: .6rem; }
.scroll::-webkit-scrollbar-thumb { background: var(--soft); border-radius: .3rem; }
.scroll::-webkit-scrollbar-track { background: var(--line); border-radius: .3rem; }
@supports not selector(::-webkit-scrollbar) { .scroll { scrollbar-color: var(--soft) var(--line); } }
.scroll:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem 1.2rem .3rem 0; text-align: left; vertical-align: top; }
th:last-child, td:last-child { padding-right: 0; }
tr:last-child td { border-bottom: 0; }
th { color: var(--soft); font-size: .85rem; font-weight: 500; white-space: nowrap; }
.number { text-align: right; }
.number, .short { white-space: nowrap; }
.wide { min-width: 14rem; }
.down { color: var(--bad); font-weight: 600; } .doubt { color: var(--warn); font-weight: 600; }
.more, .none, footer { color: var(--soft); }
.more, .none { margin: .5rem 0 0; }
footer { margin-top: 1.2rem; }
@media (max-width: 40rem) {
  body { padding: 1rem .7rem 2rem; }
  section, .state { padding: .8rem .9rem; }
  dl { grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: .5rem 1rem; }
  thead { display: none; }
  table, tbody, tr, td { display: block; }
  tr { border-bottom: 1px solid var(--line); padding: .4rem 0; }
  tr:last-child { border-bottom: 0; }
  td[class] { display: grid; grid-template-columns: 8rem 1fr; gap: 0 .6rem; border: 0; min-width: 0; padding: 0; text-align: left; white-space: normal; }
  td::before { content: attr(data-label); color: var(--soft); font-size: .85rem; font-weight: 400; }
}
@media print { body { background: none; } nav { display: none; } }
`;
