import { shownKey, shownValue } from './shown-value.js';
import { isRows, type ReportSection, type StatusReport } from './status-report.js';
import type { StatusFacts, StatusValue } from './status-sections.js';
import { STATUS_STYLE } from './status-style.js';

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
      return `<td class="${style}${state}">${escape(text)}</td>`;
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
