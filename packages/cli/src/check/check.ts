import { UsageError, wrap } from '@kube-dns/base';
import { defaultKubeconfig } from '../api-reader.js';
import { print, type CommandContext } from '../command.js';
import { CliError } from '../errors.js';
import { perProgram } from '../explain/programs.js';
import { wantsColours } from '../up/log.js';
import type { Facts } from './facts.js';
import { FINDINGS, judge, PRE_FINDINGS, type Outcome, type SeenInPart } from './findings.js';
import { gatherCluster, gatherFiles, type Gathered } from './gather.js';
import { checkUsage, parseCheckOptions, type CheckOptions } from './options.js';
import type { Finding, Severity } from './rule.js';

const INTERRUPTED = 130;

/**
 * The command `kube-dns check`: what is wrong with the DNS of a cluster. Resolves with 0, with 1 when there is a finding of
 * `--fail-on` or above, and with 130 after Ctrl-C; throws a CliError of status 2 when nothing can be looked at.
 */
export async function check(args: readonly string[], context: CommandContext): Promise<number> {
  const options = parseCheckOptions(args);
  if (options === 'help') {
    context.stdout.write(checkUsage());
    return 0;
  }
  if (options.list) {
    await print(context, listText(options.output === 'json'));
    return 0;
  }
  const interruption = new AbortController();
  const interrupt = () => interruption.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  // Without a pod there is nothing to remove.
  if (options.probe) for (const signal of signals) process.once(signal, interrupt);
  try {
    const gathered = await gather(options, context, interruption.signal);
    const outcomes = judge(options.pre ? PRE_FINDINGS : FINDINGS, gathered.facts);
    const report = reportOf(gathered, outcomes, options.namespace);
    await print(
      context,
      options.output === 'json' ? `${JSON.stringify(report, null, 2)}\n` : textOf(report, outcomes, context), // prettier-ignore
    );
    const isFailing = ({ severity }: ReportedFinding) =>
      severity === 'error' || options['fail-on'] === 'warning';
    return report.findings.some(isFailing) ? 1 : 0;
  } catch (error) {
    if (interruption.signal.aborted && !(error instanceof CliError)) return INTERRUPTED;
    throw error;
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
  }
}

function gather(
  options: CheckOptions,
  { stdin, stderr, repository }: CommandContext,
  signal: AbortSignal,
): Promise<Gathered> {
  const { files, namespace, context, api, pre, probe } = options;
  // For who waits; a script gets what it always gets.
  const note = (text: string) => {
    if (stderr.isTTY === true) stderr.write(`kube-dns: ${text}\n`);
  };
  if (files.length > 0) return gatherFiles(files, namespace, stdin, note);
  const kubeconfig = options.kubeconfig ?? (api === undefined ? defaultKubeconfig() : undefined);
  if (kubeconfig === undefined && (context !== undefined || probe)) {
    const flag = probe ? '--probe' : '--context';
    throw new UsageError(`${flag} is for a cluster, and there is no kubeconfig`);
  }
  const wish = {
    namespace: options['probe-namespace'],
    image: options['probe-image'],
    outside: options['probe-name'],
    signal,
  };
  return gatherCluster({
    kubeconfig,
    context,
    api,
    namespace,
    repository,
    isPre: pre,
    ports: perProgram((program) => options[program]),
    probe: probe ? wish : undefined,
  });
}

interface ReportedFinding {
  readonly code: string;
  readonly severity: Severity;
  readonly text: string;
  readonly mend: string;
  readonly link: string;
}

interface Report {
  readonly source: string;
  readonly findings: readonly ReportedFinding[];
  /** Codes of what was looked at, at least in part, and is right. */
  readonly passed: readonly string[];
  /** What was looked at in some of the pods or nodes only. */
  readonly inPart: readonly SeenInPart[];
  readonly notChecked: readonly { readonly code: string; readonly what: string; readonly because: string }[]; // prettier-ignore
  readonly notRead: readonly string[];
}

/** Where a finding is described. */
export function linkOf(code: string): string {
  return `manifests/TROUBLESHOOTING.md#${code.toLowerCase()}`;
}

function reportOf(
  { source, facts, notRead }: Gathered,
  outcomes: readonly Outcome[],
  namespace: string,
): Report {
  const found = outcomes.flatMap((each) => each.found);
  return {
    source,
    findings: found.map(({ code, severity, text, mend }) => ({
      code,
      severity,
      text,
      mend: mendOf(mend, namespace, facts),
      link: linkOf(code),
    })),
    passed: outcomes.filter(({ isPassed }) => isPassed).map(({ finding }) => finding.code),
    inPart: outcomes.flatMap((each) => each.inPart),
    notChecked: outcomes.flatMap((each) => each.notChecked),
    notRead,
  };
}

/** The command with the namespace of the DNS and the name of its deployment. */
function mendOf(command: string, namespace: string, { values }: Facts): string {
  const placed = command.replaceAll('-n kube-system', `-n ${namespace}`);
  const name = values.workloads?.find(({ replicas }) => replicas > 0)?.name;
  if (name === undefined) return placed;
  return placed.replaceAll('deployment/kube-dns', name).replaceAll('deployment kube-dns', name.replace('/', ' ')); // prettier-ignore
}

/** How the lines of a report begin. */
type Mark = Severity | 'passed' | 'notChecked';
const SYMBOLS: Readonly<Record<Mark, string>> = {
  passed: '√',
  warning: '‼',
  error: '×',
  notChecked: '-',
};
const WORDS: Readonly<Record<Mark, string>> = {
  passed: 'ok     ',
  warning: 'WARNING',
  error: 'ERROR  ',
  notChecked: '-      ',
};
const COLOURS: Readonly<Record<Mark, number>> = {
  passed: 32,
  warning: 33,
  error: 31,
  notChecked: 90,
};

/** Symbols where a terminal can show them, words elsewhere. */
function marksFor(
  { stdout }: CommandContext,
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<Mark, string>> {
  const isTty = stdout.isTTY ?? false;
  const locale = [env.LC_ALL, env.LC_CTYPE, env.LANG].find((each) => (each ?? '') !== '') ?? '';
  const isPlain = !isTty || !/utf-?8/i.test(locale) || (env.NO_COLOR ?? '') !== '' || env.TERM === 'dumb'; // prettier-ignore
  const table = isPlain ? WORDS : SYMBOLS;
  if (!wantsColours(env, isTty)) return table;
  const coloured = (mark: Mark) => `\u001b[${COLOURS[mark]}m${table[mark]}\u001b[0m`;
  return {
    passed: coloured('passed'),
    warning: coloured('warning'),
    error: coloured('error'),
    notChecked: coloured('notChecked'),
  };
}

function textOf(report: Report, outcomes: readonly Outcome[], context: CommandContext): string {
  const marks = marksFor(context, process.env);
  const lines = outcomes.flatMap((outcome) => linesOf(outcome, report, marks));
  const notRead = report.notRead.map((each) => `not read: ${each}`);
  return [`kube-dns check: ${report.source}`, '', ...lines, '', ...notRead, summaryOf(report), ''].join('\n'); // prettier-ignore
}

const INDENT = '    ';

function linesOf(
  { finding, inPart, notChecked, isPassed }: Outcome,
  report: Report,
  marks: Readonly<Record<Mark, string>>,
): string[] {
  const { code, passes, rules } = finding;
  const own = report.findings.filter((each) => each.code === code);
  const line = (mark: Mark, text: string) => wrap(`${marks[mark]} ${code} `, shown(text), INDENT);
  const seen = rules.filter(({ what }) => !notChecked.some((each) => each.what === what));
  const seenTexts = seen.map(({ what }) => {
    const part = inPart.find((each) => each.what === what);
    return part === undefined ? what : `${what} (${part.of})`;
  });
  const isWhole = notChecked.length + inPart.length === 0;
  const passed = isWhole ? passes : `in part: ${seenTexts.join('; ')}`;
  return [
    ...own.flatMap(({ severity, text, mend, link }, i) => [
      ...line(severity, text),
      ...(own[i + 1]?.mend === mend ? [] : [`${INDENT}${shown(mend)}`]),
      ...(i === own.length - 1 ? [`${INDENT}${link}`] : []),
    ]),
    ...(isPassed ? line('passed', passed) : []),
    ...notChecked.flatMap(({ what, because }) =>
      line('notChecked', `not checked: ${what}, because ${because}`),
    ),
  ];
}

/** Names of objects are harmless, but texts of pages and files may be anything. */
function shown(text: string): string {
  // oxlint-disable-next-line no-control-regex -- a terminal must not get them
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, '\uFFFD');
}

function summaryOf({ findings, passed, notChecked }: Report): string {
  const count = (severity: Severity) =>
    findings.filter((each) => each.severity === severity).length;
  const words = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`;
  const head =
    findings.length === 0
      ? 'no findings'
      : `${words(count('error'), 'error')}, ${words(count('warning'), 'warning')}`;
  const rest = notChecked.length === 0 ? '' : `, ${notChecked.length} not checked`;
  return `${head}; ${passed.length} passed${rest}`;
}

/** All findings, for `--list`. */
function listText(isJson: boolean): string {
  const all = [...FINDINGS, ...PRE_FINDINGS];
  if (isJson) {
    const rows = all.map(({ code, severity, title, mend }) => ({ code, severity, title, mend, link: linkOf(code) })); // prettier-ignore
    return `${JSON.stringify(rows, null, 2)}\n`;
  }
  const rowOf = ({ code, severity, title }: Finding) => `${code}  ${severity.padEnd(7)}  ${title}`;
  return [...FINDINGS.map(rowOf), '', 'Before an installation, with --pre:', '', ...PRE_FINDINGS.map(rowOf), ''].join('\n'); // prettier-ignore
}
