import process from 'node:process';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { type FlagDefinition, type FlagSpec, shownText } from '@kube-dns/base';
import { loopUse } from '@kube-dns/transport';
import { moreMistakes, type RefusedConfig } from '../config-directory.js';
import type { Log } from '../log.js';

/** The value of a fact; null where there is none. */
export type StatusValue = string | number | boolean | null;

/**
 * One fact per key, which is its name in `/status` and, in words, on the page. The end of a key says what the value is:
 * `uptimeSeconds`, `rttMs`, `heapBytes`, `hitPercent` are numbers, which the page shows in larger units; `startedAt` is
 * the text of `Date.toISOString`; `isLive` is a boolean.
 */
export type StatusFacts = Readonly<Record<string, StatusValue>>;

/**
 * The sections of a status page by title, in order: facts, or rows with the same keys. Of more than 100 rows the page
 * says how many more there are, so the important ones are the first. Texts may be from anywhere, keys and titles not.
 */
export type StatusSections = Readonly<Record<string, StatusFacts | readonly StatusFacts[]>>;

/** Where a program's configuration is from, beside its command line, and what became of it. */
export interface ConfigStatus {
  /** As `ConfigMap kube-system/kube-dns` or `/kube-dns-config`. */
  readonly source: string;
  /** A hash of its content; '' for none. */
  readonly version: string;
  /** In ms since the epoch; 0 before the first. */
  readonly appliedMs: number;
  /** The last one that was refused, until another one is applied. */
  readonly refused: RefusedConfig | undefined;
  /** What is valid, but has no effect: a sentence each. */
  readonly warnings?: readonly string[];
  /** Its keys or files, as settings. */
  readonly settings?: readonly Setting[];
}

/** One setting of a program. */
export interface Setting extends StatusFacts {
  readonly setting: string;
  readonly value: string;
  /** `command line`, `environment`, `default`, or the name of a file or a ConfigMap. */
  readonly from: string;
}

/** What a program shows on its status page beside what all have. Each is called at a request. */
export interface StatusSource {
  /** Why it is not ready; empty while it is. */
  readonly notReady?: () => readonly string[];
  /** What someone has to look at, a sentence each. */
  readonly problems?: () => readonly string[];
  /** Settings that are no flags of the program's table: variables, options. */
  readonly settings?: () => readonly Setting[];
  readonly configuration?: () => ConfigStatus | undefined;
  readonly sections: () => StatusSections | Promise<StatusSections>;
}

/** Each flag of a table with its value and where that is from; those that are given come first. */
function flagSettings(flags: FlagSpec, given: ReadonlyMap<string, readonly string[]>): Setting[] {
  const settings = Object.entries(flags)
    .filter(([name, { isHidden = false }]) => !isHidden || given.has(name))
    .map(([name, definition]) => {
      const texts = given.get(name);
      return texts === undefined
        ? { setting: `--${name}`, value: defaultText(definition), from: 'default' }
        : { setting: `--${name}`, value: valueText(definition, texts), from: 'command line' };
    });
  const isDefault = ({ from }: Setting) => Number(from === 'default');
  return settings.sort((left, right) => isDefault(left) - isDefault(right));
}

/** As it is written on the command line. */
function valueText({ isList = false }: FlagDefinition<unknown>, texts: readonly string[]): string {
  return isList ? texts.join(', ') : texts.at(-1)!;
}

function defaultText(definition: FlagDefinition<unknown>): string {
  const { initial } = definition;
  const text = definition.formatDefault?.(initial) ?? '';
  if (text !== '') return text.replace(/^"(.*)"$/, '$1');
  return typeof initial === 'number' || typeof initial === 'boolean' ? String(initial) : '';
}

/** The files with the memory limit of the container, of both versions of cgroups. */
const LIMIT_FILES = ['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes'];
/** A larger limit is none: cgroups of version 1 write 2^63 without the last page. */
const NO_LIMIT_BYTES = 2 ** 60;
const HIGH_PERCENT = 90;

/** Memory, CPU time and event loop of this process, now. */
async function processFacts(): Promise<StatusFacts> {
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const askedMs = performance.now();
  await setImmediate();
  const eventLoopDelayMs = performance.now() - askedMs;
  return {
    residentMemoryBytes: rss,
    memoryLimitBytes: memoryLimit(),
    heapUsedBytes: heapUsed,
    heapBytes: heapTotal,
    // Loaded here, because only this page needs it: 0.2 MiB.
    heapLimitBytes: process.getBuiltinModule('node:v8').getHeapStatistics().heap_size_limit,
    externalMemoryBytes: external,
    cpuSeconds: (user + system) / 1e6,
    eventLoopBusyPercent: loopUse().part * 100,
    eventLoopDelayMs,
  };
}

/** What is wrong with these facts. */
function memoryProblems({ residentMemoryBytes, memoryLimitBytes }: StatusFacts): string[] {
  if (typeof residentMemoryBytes !== 'number' || typeof memoryLimitBytes !== 'number') return [];
  const percent = Math.round((residentMemoryBytes / memoryLimitBytes) * 100);
  return percent < HIGH_PERCENT ? [] : [`memory is at ${percent} % of the limit of the container`];
}

/** Null without a limit, and where it cannot be read. */
function memoryLimit(): number | null {
  for (const file of LIMIT_FILES) {
    try {
      const limit = Number(readFileSync(file, 'utf8'));
      if (limit > 0 && limit < NO_LIMIT_BYTES) return limit;
    } catch {
      /* no such file: the other version of cgroups, or another system */
    }
  }
  return null;
}

/** An error or a warning of the log. */
interface Notice {
  readonly level: 'error' | 'warning';
  readonly message: string;
  /** In ms since the epoch, of the last time. */
  atMs: number;
  /** How often it came in a row. */
  times: number;
}

const MAX_NOTICES = 20;
/** In characters. */
const MAX_MESSAGE = 1_000;

/** The last errors and warnings of a log, the latest first. */
export class RecentNotices {
  readonly #now: () => number;
  readonly #notices: Notice[] = [];

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  get all(): readonly Notice[] {
    return this.#notices;
  }

  /** The log, with what it writes as error or warning remembered here. */
  beside(log: Log): Log {
    return {
      ...log,
      warn: (message) => {
        this.#add('warning', message);
        log.warn(message);
      },
      error: (message) => {
        this.#add('error', message);
        log.error(message);
      },
    };
  }

  #add(level: Notice['level'], text: string): void {
    const message = text.slice(0, MAX_MESSAGE);
    const [last] = this.#notices;
    if (last?.level === level && last.message === message) {
      last.atMs = this.#now();
      last.times++;
      return;
    }
    this.#notices.unshift({ level, message, atMs: this.#now(), times: 1 });
    if (this.#notices.length > MAX_NOTICES) this.#notices.pop();
  }
}

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
const MAX_ROWS = 100;
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
    ...(configuration?.warnings ?? []).map((warning) => `${configuration!.source}: ${warning}`),
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
