/** One row of manifests/TROUBLESHOOTING.md. */
export interface FaultRow {
  readonly title: string;
  /** Log lines of containers, with `…` for any text; none where the row has `nothing`. */
  readonly lines: readonly { readonly container: string; readonly text: string }[];
  readonly exits: readonly { readonly container: string; readonly code: number }[];
  /** Status of a GET; 0 where the port is closed or without an answer. */
  readonly probes: readonly { readonly path: string; readonly status: number }[];
  /** The rcode that a client receives; undefined without an answer. */
  readonly answers: readonly { readonly name: string; readonly rcode: string | undefined }[];
  readonly metrics: readonly FaultMetric[];
}

export interface FaultMetric {
  readonly name: string;
  /** Labels that a sample must have, such as `reason="timeout"`. */
  readonly labels: readonly string[];
  readonly comparison: '=' | '>';
  readonly value: number;
}

const COLUMNS = 5;

/** The rows of the table; throws for a cell that does not follow the format. */
export function parseFaultTable(markdown: string): FaultRow[] {
  const lines = markdown.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) => {
    const cells = line.split('|').slice(1, -1);
    if (cells.length !== COLUMNS) throw new Error(`not ${COLUMNS} cells: ${line}`);
    const [title = '', said = '', probes = '', answers = '', metrics = ''] = cells;
    const row: FaultRow = {
      title: title.trim(),
      lines: groups(said, /(\w+): `([^`]+)`/g).map(([container = '', text = '']) => ({
        container,
        text,
      })),
      exits: groups(probes, /(\w+) ends with (\d+)/g).map(([container = '', code]) => ({
        container,
        code: Number(code),
      })),
      probes: groups(probes, /`(\/[\w/]+)` (\d{3}|closed)/g).map(([path = '', status]) => ({
        path,
        status: status === 'closed' ? 0 : Number(status),
      })),
      answers: groups(answers, /`([\w.-]+)` ([A-Z]+|nothing)/g).map(([name = '', rcode]) => ({
        name,
        rcode: rcode === 'nothing' ? undefined : rcode,
      })),
      metrics: groups(metrics, /`(\w+)(?:\{([^}]*)\})?` ([=>]) (\d+)/g).map(
        ([name = '', labels = '', comparison, value]) => ({
          name,
          labels: labels.split(',').filter((label) => label !== ''),
          comparison: comparison === '=' ? '=' : '>',
          value: Number(value),
        }),
      ),
    };
    // Text that does not parse would not be tested.
    const understood = [row.lines, row.probes, row.answers, row.metrics].map(
      ({ length }) => length,
    );
    const written = [/`/g, /`\//g, /`/g, /`/g].map((quote, i) => {
      const count = cells[i + 1]?.match(quote)?.length ?? 0;
      return quote.source === '`' ? count / 2 : count;
    });
    if (String(understood) !== String(written)) throw new Error(`not understood: ${line}`);
    return row;
  });
}

/** Whether a container wrote this line into a log of all containers, whatever its severity. */
export function hasLine(log: string, container: string, text: string): boolean {
  const pattern = text.split('…').map(escape).join('.*');
  return new RegExp(`^(?:[IWE]\\d{4} .* ${container}\\] |${container}: )${pattern}`, 'm').test(log);
}

/** Whether a text exposition has a sample that the row expects. */
export function hasSample(exposition: string, wanted: FaultMetric): boolean {
  return exposition.split('\n').some((line) => {
    const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name !== wanted.name || !wanted.labels.every((label) => labels.includes(label))) {
      return false;
    }
    return wanted.comparison === '='
      ? Number(value) === wanted.value
      : Number(value) > wanted.value;
  });
}

/** A text as a regular expression; RegExp.escape needs Node 24. */
function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

function groups(text: string, pattern: RegExp): (string | undefined)[][] {
  return [...text.matchAll(pattern)].map((match) => match.slice(1));
}
