import type { StatusReport } from './status-report.js';

/** The report as JSON; `more` has the number of rows that were cut, by the section's title. */
export function statusJson({ sections, ...report }: StatusReport): string {
  const cut = sections.filter(({ more }) => more > 0);
  return `${JSON.stringify({
    ...report,
    sections: Object.fromEntries(sections.map(({ title, content }) => [title, content])),
    more: Object.fromEntries(cut.map(({ title, more }) => [title, more])),
  })}\n`;
}
