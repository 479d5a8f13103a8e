import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CommandContext, flagRows, parseCommand, print } from '../command.js';
import { refusal } from '../errors.js';
import { checkName } from '../question.js';
import { TAIL_FLAGS } from './options.js';
import { printable, type QuerySource, readPage, sourcesOf } from './sources.js';

const LIMIT_MS = 5_000;
/** Between two requests to a program: it has room for the lines of this time. */
const PAUSE_MS = 200;
/** A program that does not answer is asked again after this pause, so often in a row. */
const FAILED_PAUSE_MS = 1_000;
const MAX_FAILURES = 10;

/** The text of `kube-dns tail --help`. */
function usage(): string {
  return `Usage: kube-dns tail [NAME] [flags]

Prints a line for each answer that the programs give from now on, in all pods together: for NAME and
names below it, or for all names. The program's own query log may be off. What is answered faster
than it can be read is left out, and counted.

It asks one kind of program over HTTP, the one next to the clients: those of kube-dns up on this
machine, those of the pod that it runs in, or those that --pod and --all-pods forward. It ends with
Ctrl-C.

Flags:
${flagRows(TAIL_FLAGS)}

Status: 0, or 2: wrong usage, or no program can be asked.
`;
}

/** The command `kube-dns tail`. Resolves with 0; throws a CliError of status 2 when nothing can be asked any more. */
export async function tail(args: readonly string[], context: CommandContext): Promise<number> {
  const given = parseCommand('kube-dns tail', TAIL_FLAGS, args, 1);
  if (given === 'help') {
    context.stdout.write(usage());
    return 0;
  }
  const { values, operands } = given;
  const [name] = operands;
  if (name !== undefined) checkName(name);
  const found = await sourcesOf(values);
  const hasPods = found.sources.length > 1;
  if (found.more > 0) {
    context.stderr.write(`kube-dns: ${found.more} more pods are not asked: name them with --pod\n`);
  }
  for (const each of found.hanging) context.stderr.write(`kube-dns: ${each}\n`);
  let rest = values.count > 0 ? values.count : Infinity;
  const ended = new AbortController();
  const show = async (source: QuerySource, lines: readonly unknown[]): Promise<void> => {
    const shown = ended.signal.aborted ? [] : lines.slice(0, rest);
    rest -= shown.length;
    const text = shown.map((line) =>
      values.output === 'json'
        ? `${JSON.stringify({ from: source.label, answer: line })}\n`
        : `${lineText(line, hasPods ? `${source.label} ` : '')}\n`,
    );
    if (text.length > 0) await print(context, text.join(''));
    if (rest <= 0 || context.stdout.destroyed) ended.abort();
  };
  try {
    const followed = found.sources.map((source) =>
      follow(source, name, context, show, ended.signal),
    );
    const failures = (await Promise.all(followed)).filter((failure) => failure !== '');
    if (failures.length === found.sources.length) {
      throw refusal(`no program answers any more: ${failures.join('; ')}`);
    }
  } finally {
    found.close();
  }
  return 0;
}

/** Reads the log of one program until the signal, or until it answers no more: then resolves to the reason. */
async function follow(
  { label, program, port }: QuerySource,
  name: string | undefined,
  { stderr }: CommandContext,
  show: (source: QuerySource, lines: readonly unknown[]) => Promise<void>,
  ended: AbortSignal,
): Promise<string> {
  const query = new URLSearchParams({ reader: randomBytes(8).toString('hex') });
  if (name !== undefined) query.set('name', name);
  const path = `/querylog?${query.toString()}`;
  let failure = '';
  for (let failures = 0; failures < MAX_FAILURES && !ended.aborted;) {
    try {
      const { dropped, lines } = pageOf(await readPage(port, path, LIMIT_MS));
      failures = 0;
      await show({ label, program, port }, lines);
      if (dropped > 0) stderr.write(`kube-dns: ${label}: ${dropped} lines left out\n`);
    } catch (error) {
      failure = `${label}: ${(error as Error).message}`;
      if (failures++ === 0) stderr.write(`kube-dns: ${failure}\n`);
    }
    await sleep(failures > 0 ? FAILED_PAUSE_MS : PAUSE_MS, undefined, { signal: ended }).catch(
      () => undefined,
    );
  }
  return ended.aborted ? '' : failure;
}

function pageOf(page: object): { readonly dropped: number; readonly lines: readonly unknown[] } {
  const { dropped, lines } = page as { dropped?: unknown; lines?: unknown };
  if (typeof dropped !== 'number' || !Array.isArray(lines)) {
    throw new Error('its answer is no query log');
  }
  return { dropped, lines: lines as unknown[] };
}

/** Such as `06:41:07.123 10.244.1.5 A web.shop.svc.cluster.local. NOERROR cache 0.2 ms`. */
export function lineText(line: unknown, prefix: string): string {
  const facts = Object(line) as Record<string, unknown>;
  const textOf = (key: string) => {
    const value = facts[key];
    return typeof value === 'string' ? printable(value) : '-';
  };
  const { duration_seconds: seconds, ede } = facts;
  const time = textOf('time').replace(/^.*T(.*)Z$/, '$1');
  const took = typeof seconds === 'number' ? ` ${(seconds * 1_000).toFixed(1)} ms` : '';
  const codes = Array.isArray(ede) ? ede.filter((code) => typeof code === 'number') : [];
  const errors = codes.length > 0 ? ` EDE ${codes.join(',')}` : '';
  const words = ['client_ip', 'qtype', 'qname', 'rcode', 'source'].map(textOf).join(' ');
  return `${time} ${prefix}${words}${took}${errors}`;
}
