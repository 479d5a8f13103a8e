import { MeasureError } from '../errors.js';
import { outputOf } from '../process/running-program.js';

/** A dnstap message as BIND's dnstap-read shows it. */
export interface DnstapRow {
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /** `CQ`, `CR`, `FQ`, `FR`, `AQ` or `AR`. */
  readonly type: string;
  /** `ADDRESS:PORT`, `?` where it is not known. */
  readonly asker: string;
  readonly answerer: string;
  readonly protocol: string;
  /** `NAME/CLASS/TYPE`. */
  readonly question: string;
  readonly message: Buffer;
}

const LINE = /^(\S+ \S+) ([A-Z]{2}) (\S+) (?:->|<-) (\S+) (\S+) \d+b (\S+)\n([0-9A-F]*)$/gm;

/** The messages of a file of Frame Streams, read by dnstap-read. */
export async function readDnstap(path: string): Promise<DnstapRow[]> {
  const text = await outputOf('dnstap-read', ['-x', path], { TZ: 'UTC' });
  const rows = [...text.matchAll(LINE)].map(
    ([
      ,
      time = '',
      type = '',
      asker = '',
      answerer = '',
      protocol = '',
      question = '',
      hex = '',
    ]) => ({
      type,
      asker,
      answerer,
      protocol,
      question,
      atMs: Date.parse(`${time.replaceAll('-', ' ')} UTC`),
      message: Buffer.from(hex, 'hex'),
    }),
  );
  const lines = text === '' ? 0 : text.split('\n').length;
  if (rows.length * 2 !== lines) throw new MeasureError(`dnstap-read ${path}: ${text}`);
  return rows;
}
