import { setTimeout as sleep } from 'node:timers/promises';
import { type CommandContext, flagRows, parseCommand, print } from '../command.js';
import { refusal } from '../errors.js';
import { TOP_FLAGS } from './options.js';
import { printable, type QuerySource, readPage, sourcesOf } from './sources.js';

const LIMIT_MS = 5_000;
/** The cursor to the first place, each line to its end, and what is below it. */
const HOME = '\u001b[H';
const LINE_END = '\u001b[K\n';
const BELOW = '\u001b[J';
const COUNT_CHARACTERS = 12;

interface TopRow {
  readonly key: string;
  readonly questions: number;
}

/** What is asked most, of all programs together. */
export interface TopLists {
  readonly clients: readonly TopRow[];
  readonly names: readonly TopRow[];
  readonly nxdomainNames: readonly TopRow[];
}

const TITLES = [
  ['clients', 'Clients', 'client'],
  ['names', 'Names', 'name'],
  ['nxdomainNames', 'Names that do not exist', 'name'],
] as const;

/** The text of `kube-dns top --help`. */
function usage(): string {
  return `Usage: kube-dns top [flags]

Shows which clients ask most in the last half to whole minute, for which names, and for which names
that do not exist, in all pods together. On a terminal it is refreshed until Ctrl-C; elsewhere each
row is a line: the list, the questions, and the client or the name.

It asks one kind of program over HTTP, the one next to the clients: those of kube-dns up on this
machine, those of the pod that it runs in, or those that --pod and --all-pods forward.

Flags:
${flagRows(TOP_FLAGS)}

Status: 0, or 2: wrong usage, or no program can be asked.
`;
}

/** The command `kube-dns top`. Resolves with 0; throws a CliError of status 2 when nothing can be asked. */
export async function top(args: readonly string[], context: CommandContext): Promise<number> {
  const given = parseCommand('kube-dns top', TOP_FLAGS, args);
  if (given === 'help') {
    context.stdout.write(usage());
    return 0;
  }
  const { values } = given;
  const isRefreshed = context.stdout.isTTY === true && values.output === 'text';
  const count = values.count > 0 ? values.count : isRefreshed ? Infinity : 1;
  const found = await sourcesOf(values);
  try {
    for (let look = 0; look < count && !context.stdout.destroyed; look++) {
      if (look > 0) await sleep(values.interval * 1_000);
      const { lists, failures } = await readLists(found.sources);
      const facts = {
        sources: found.sources,
        more: found.more,
        failures: [...found.hanging, ...failures],
      };
      const shown = shorten(lists, values.rows);
      if (values.output === 'json') await print(context, jsonText(shown, facts));
      else if (isRefreshed) await print(context, screenText(shown, facts));
      else await print(context, linesText(shown));
      if (!isRefreshed) warn(context, facts);
    }
  } finally {
    found.close();
  }
  return 0;
}

interface TopFacts {
  readonly sources: readonly QuerySource[];
  readonly more: number;
  /** Of programs that did not answer. */
  readonly failures: readonly string[];
}

async function readLists(sources: readonly QuerySource[]) {
  const failures: string[] = [];
  const pages: unknown[] = [];
  const read = sources.map(async ({ label, port }) => {
    try {
      pages.push(await readPage(port, '/top', LIMIT_MS));
    } catch (error) {
      failures.push(`${label}: ${(error as Error).message}`);
    }
  });
  await Promise.all(read);
  if (pages.length === 0) throw refusal(`no program answers: ${failures.join('; ')}`);
  return { lists: sumOf(pages), failures };
}

/** The pages of several programs as one; what is no list in a page is left out. */
export function sumOf(pages: readonly unknown[]): TopLists {
  const listOf = (list: keyof TopLists, key: 'client' | 'name'): TopRow[] => {
    const sums = new Map<string, number>();
    for (const page of pages) {
      const rows = (Object(page) as Record<string, unknown>)[list];
      for (const row of Array.isArray(rows) ? (rows as unknown[]) : []) {
        const { [key]: text, questions } = Object(row) as Record<string, unknown>;
        if (typeof text !== 'string' || typeof questions !== 'number') continue;
        sums.set(text, (sums.get(text) ?? 0) + questions);
      }
    }
    return Array.from(sums, ([text, questions]) => ({ key: text, questions })).sort(
      (a, b) => b.questions - a.questions || (a.key < b.key ? -1 : 1),
    );
  };
  return {
    clients: listOf('clients', 'client'),
    names: listOf('names', 'name'),
    nxdomainNames: listOf('nxdomainNames', 'name'),
  };
}

function shorten(lists: TopLists, rows: number): TopLists {
  return {
    clients: lists.clients.slice(0, rows),
    names: lists.names.slice(0, rows),
    nxdomainNames: lists.nxdomainNames.slice(0, rows),
  };
}

function jsonText(lists: TopLists, { sources, more, failures }: TopFacts): string {
  const rows = (list: readonly TopRow[], key: string) =>
    list.map((row) => ({ [key]: printable(row.key), questions: row.questions }));
  return `${JSON.stringify(
    {
      programs: sources.map(({ label }) => label),
      podsLeftOut: more,
      failures,
      clients: rows(lists.clients, 'client'),
      names: rows(lists.names, 'name'),
      nxdomainNames: rows(lists.nxdomainNames, 'name'),
    },
    null,
    2,
  )}\n`;
}

/** A line for each row, for programs: the list, the questions, and the client or the name. */
export function linesText(lists: TopLists): string {
  const words = { clients: 'client', names: 'name', nxdomainNames: 'nxdomain' };
  return TITLES.flatMap(([list]) =>
    lists[list].map(({ key, questions }) => `${words[list]} ${questions} ${printable(key)}\n`),
  ).join('');
}

function screenText(lists: TopLists, facts: TopFacts): string {
  const lines = [
    `${facts.sources.map(({ label }) => label).join(', ')}: the last half to whole minute`,
    ...notesOf(facts),
  ];
  for (const [list, title] of TITLES) {
    lines.push('', `${'Questions'.padStart(COUNT_CHARACTERS)}  ${title}`);
    if (lists[list].length === 0) lines.push(`${'0'.padStart(COUNT_CHARACTERS)}  none`);
    for (const { key, questions } of lists[list]) {
      const count = questions.toLocaleString('en-US').padStart(COUNT_CHARACTERS);
      lines.push(`${count}  ${printable(key)}`);
    }
  }
  return `${HOME}${lines.map((line) => `${line}${LINE_END}`).join('')}${BELOW}`;
}

function notesOf({ more, failures }: TopFacts): string[] {
  const left = more > 0 ? [`${more} more pods are not asked: name them with --pod`] : [];
  return [...left, ...failures];
}

function warn({ stderr }: CommandContext, facts: TopFacts): void {
  for (const note of notesOf(facts)) stderr.write(`kube-dns: ${note}\n`);
}
