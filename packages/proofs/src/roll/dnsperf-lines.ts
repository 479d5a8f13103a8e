/** A query that dnsperf has done with. */
export interface DnsperfLine {
  readonly name: string;
  /** Undefined when no answer came in time. */
  readonly rcode: string | undefined;
  /** Time to the answer; NaN without one. */
  readonly ms: number;
}

const GIVEN_UP = 'T';

/** Takes what dnsperf prints with `-v` apart, in whatever pieces it comes. */
export class DnsperfLines {
  #rest = '';

  /** The queries whose lines are complete now; what else it prints is left out. */
  push(text: string): readonly DnsperfLine[] {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    return lines.filter((line) => line.startsWith('> ')).map(readLine);
  }
}

/** `> RCODE NAME TYPE SECONDS`, or `> T NAME TYPE`. */
function readLine(line: string): DnsperfLine {
  const [, rcode = '', name = '', , seconds] = line.split(' ');
  return { name, rcode: rcode === GIVEN_UP ? undefined : rcode, ms: Number(seconds) * 1_000 };
}
