import { hostname } from 'node:os';
import { type FlagSpec, shownText } from '@kube-dns/base';
import { moreMistakes } from '../config-refusal.js';
import { flagSettings } from './flag-settings.js';
import { memoryProblems, processFacts } from './process-facts.js';
import type { RecentNotices } from './recent-notices.js';
import type { StatusFacts, StatusSections, StatusValue } from './status-sections.js';
import type { ConfigStatus, StatusSource } from './status-source.js';

/** What a program knows of itself without its parts. */
export interface ProgramAbout {
  readonly program: string;
  readonly version: string;
  readonly flags: FlagSpec;
  /** The texts of each flag of the command line. */
  readonly given: ReadonlyMap<string, readonly string[]>;
  readonly notices: RecentNotices;
  readonly unexpectedErrors: () => number;
}

/** A section as it is shown: no more than `MAX_ROWS` rows, and how many there are beside them. */
export interface ReportSection {
  readonly title: string;
  readonly content: StatusFacts | readonly StatusFacts[];
  readonly more: number;
}

/** All of a status page as data; its texts are bounded and without secrets. */
export interface StatusReport {
  readonly program: string;
  readonly version: string;
  readonly host: string;
  readonly at: string;
  /** Null for a program that is ready as long as it runs. */
  readonly isReady: boolean | null;
  readonly notReady: readonly string[];
  readonly problems: readonly string[];
  readonly sections: readonly ReportSection[];
}

/** Of one section. */
export const MAX_ROWS = 100;
const MAX_PROBLEMS = 50;
const VERSION_DIGITS = 12;

/** Everything that a status page shows, now. */
export async function statusReport(
  about: ProgramAbout,
  source: StatusSource,
): Promise<StatusReport> {
  const process = await processFacts();
  const configuration = source.configuration?.();
  const notReady = source.notReady?.() ?? [];
  const problems = [
    ...refusalProblems(configuration),
    ...(source.problems?.() ?? []),
    ...memoryProblems(process),
    ...unexpectedProblems(about.unexpectedErrors()),
  ];
  const settings = [
    ...(source.settings?.() ?? []),
    ...(configuration?.settings ?? []),
    ...flagSettings(about.flags, about.given),
  ];
  const isDefault = ({ from }: { readonly from: string }) => Number(from === 'default');
  const sections: StatusSections = {
    ...(await source.sections()),
    'Errors and warnings of the log': about.notices.all.map(
      ({ level, message, atMs, times }): StatusFacts => ({
        lastAt: timeText(atMs),
        level,
        message,
        times,
      }),
    ),
    ...(configuration && { 'Configuration applied': configurationFacts(configuration) }),
    Settings: settings.sort((left, right) => isDefault(left) - isDefault(right)),
    Process: processSection(process),
  };
  return {
    program: about.program,
    version: about.version,
    host: shownText(hostname()),
    at: timeText(Date.now())!,
    isReady: source.notReady === undefined ? null : notReady.length === 0,
    notReady: notReady.slice(0, MAX_PROBLEMS).map(shownText),
    problems: cutProblems(problems),
    sections: Object.entries(sections).map(([title, content]) => cutSection(title, content)),
  };
}

/** The text of a time in ms since the epoch; null for 0, which is none. */
export function timeText(ms: number): string | null {
  return ms === 0 ? null : new Date(ms).toISOString();
}

function processSection(facts: StatusFacts): StatusFacts {
  const uptimeSeconds = process.uptime();
  const startedAt = timeText(Math.round(Date.now() - uptimeSeconds * 1_000));
  return { startedAt, uptimeSeconds, pid: String(process.pid), node: process.version, ...facts };
}

function configurationFacts({ source, version, appliedMs, refused }: ConfigStatus): StatusFacts {
  return {
    source,
    version: version.slice(0, VERSION_DIGITS),
    appliedAt: timeText(appliedMs),
    refusedAt: refused === undefined ? null : timeText(refused.atMs),
    reason: refused === undefined ? null : refused.reasons.slice(0, MAX_PROBLEMS).join('; '),
  };
}

function refusalProblems(configuration: ConfigStatus | undefined): string[] {
  const refused = configuration?.refused;
  if (refused === undefined) return [];
  const others = refused.reasons.length - 1;
  const more = others > 0 ? `, and ${moreMistakes(others)}` : '';
  const what = `the configuration of ${configuration!.source} is refused`;
  return [`${what}: ${shownText(refused.reasons[0] ?? '')}${more}; the last good one is active`];
}

function unexpectedProblems(count: number): string[] {
  if (count === 0) return [];
  return [`${count} unexpected ${count === 1 ? 'error' : 'errors'} since the start: see the log`];
}

function cutProblems(problems: readonly string[]): string[] {
  const shown = problems.slice(0, MAX_PROBLEMS).map(shownText);
  const more = problems.length - shown.length;
  return more > 0 ? [...shown, `and ${more} more`] : shown;
}

function cutSection(title: string, content: StatusSections[string]): ReportSection {
  if (!isRows(content)) return { title, content: shownFacts(content), more: 0 };
  const rows = content.slice(0, MAX_ROWS);
  return { title, content: rows.map(shownFacts), more: content.length - rows.length };
}

/** Whether a section has rows. */
export function isRows(content: StatusSections[string]): content is readonly StatusFacts[] {
  return Array.isArray(content);
}

function shownFacts(facts: StatusFacts): StatusFacts {
  const shown = ([key, value]: [string, StatusValue]) => [
    key,
    typeof value === 'string' ? shownText(value) : value,
  ];
  return Object.fromEntries(Object.entries(facts).map(shown)) as StatusFacts; // the same keys and types
}
