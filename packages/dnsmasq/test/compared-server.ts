import { ask, type Message, type ScriptedNameServer, statistic, until } from '@kube-dns/testkit';
import { readUint16 } from '@kube-dns/wire';
import { reasonsOf, withoutTtl } from './answer-view.js';
import type { AskedQuestion } from './oracle-cache-steps.js';
import type { Serving } from './processes.js';

/** The code of an Extended DNS Error (RFC 8914). */
const STALE_ANSWER = 3;
const COUNTERS = ['hits', 'misses', 'insertions', 'evictions'];

/** What a step showed: compared to the letter but for TTLs, which go down as time goes by. */
export interface Seen {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly ttls: readonly number[];
  /** The codes of its Extended DNS Errors. */
  readonly reasons: readonly number[];
}

const ttlsOf = ({ answers, authorities }: Message): number[] =>
  [...answers, ...authorities].map((record) => ('ttl' in record ? (record.ttl ?? 0) : 0));

/** One server with a separate upstream, which shows what this server sends. */
export class ComparedServer {
  readonly #serving: Serving;
  readonly #upstream: ScriptedNameServer;

  constructor(serving: Serving, upstream: ScriptedNameServer) {
    this.#serving = serving;
    this.#upstream = upstream;
  }

  async see(question: AskedQuestion): Promise<Seen> {
    const { port } = this.#serving;
    const before = this.#upstream.requests.length;
    const answer = await (question.isOverTcp === true
      ? ask(port, question, { isOverTcp: true })
      : ask(port, question));
    // Probes of a server that is late are about other names, or repeat this one.
    const isOfStep = ({ name }: { readonly name: string }) => name === question.name.toLowerCase();
    const asked = this.#upstream.requests.slice(before).filter(isOfStep);
    return {
      fields: {
        flags: readUint16(answer.bytes, 2),
        questions: answer.questions,
        // In their order: both rotate the records alike.
        answers: answer.answers.map(withoutTtl),
        authorities: answer.authorities.map(withoutTtl),
        additionals: answer.additionals.map(withoutTtl),
        asked: [...new Set(asked.map(({ name, type, protocol }) => `${name} ${type} ${protocol}`))],
      },
      ttls: ttlsOf(answer),
      reasons: reasonsOf(answer),
    };
  }

  /** Asks until the answer says that it has expired; how often, the clock decides. */
  seeExpired(question: AskedQuestion): Promise<Seen> {
    return until('an expired answer', async () => {
      const { fields, ...seen } = await this.see(question);
      const isExpired = seen.reasons.includes(STALE_ANSWER);
      return isExpired && { fields: { ...fields, asked: undefined }, ...seen };
    });
  }

  async counters(): Promise<readonly number[]> {
    const values: number[] = [];
    for (const name of COUNTERS) values.push(await statistic(this.#serving.port, `${name}.bind`));
    return values;
  }

  async reload(): Promise<void> {
    const { process } = this.#serving;
    const count = () => process.stderr.split('cleared cache').length;
    const before = count();
    process.signal('SIGHUP');
    await until('cleared cache', () => count() > before);
  }
}
