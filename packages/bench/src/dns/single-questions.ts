import { connect } from 'node:net';
import { FrameReader, frameMessage } from '@kube-dns/transport';
import { RCODE_MASK } from '@kube-dns/wire';
import { LatencyHistogram, queriesOf } from './open-loop.js';

/** A load with a new TCP connection for each question. */
interface SingleQuestionsPlan {
  /** Of 127.0.0.1. */
  readonly port: number;
  readonly seconds: number;
  /** At a time. */
  readonly connections: number;
  /** As `encodeQuestionFile` has them; asked in turn. */
  readonly questions: Uint8Array;
  /** The rcodes that answers may have. */
  readonly rcodes: readonly number[];
}

/** From the first packet of a connection to the answer, in ms. */
export interface SingleQuestionsResult {
  readonly sent: number;
  readonly answered: number;
  readonly wrong: number;
  readonly elapsedMs: number;
  readonly answers: ReturnType<LatencyHistogram['percentiles']>;
}

/** The methods of such a load in its own process. */
export interface SingleQuestionsMethods {
  run(plan: SingleQuestionsPlan): Promise<SingleQuestionsResult>;
}

/** Longer than that a connection or an answer does not take. */
const LIMIT_MS = 1_000;
/** Where a message has its rcode. */
const RCODE_AT = 3;

/** Asks one question after the other on each of so many connections, each of them for one question. */
export class SingleQuestions implements SingleQuestionsMethods {
  async run(plan: SingleQuestionsPlan): Promise<SingleQuestionsResult> {
    const { port, seconds, connections, questions, rcodes } = plan;
    const queries = queriesOf(questions).map((query) => frameMessage(query));
    const times = new LatencyHistogram();
    const startMs = performance.now();
    const endMs = startMs + seconds * 1_000;
    let sent = 0;
    let answered = 0;
    let wrong = 0;
    const ask = async () => {
      while (performance.now() < endMs) {
        const query = queries[sent++ % queries.length]!;
        const askedMs = performance.now();
        const rcode = await askOnce(port, query);
        if (rcode === undefined) {
          times.add(LIMIT_MS);
          continue;
        }
        times.add(performance.now() - askedMs);
        answered++;
        if (!rcodes.includes(rcode)) wrong++;
      }
    };
    await Promise.all(Array.from({ length: connections }, ask));
    const elapsedMs = performance.now() - startMs;
    return { sent, answered, wrong, elapsedMs, answers: times.percentiles() };
  }
}

/** The rcode of the answer; undefined where there was none. */
function askOnce(port: number, query: Buffer): Promise<number | undefined> {
  return new Promise((resolve) => {
    const reader = new FrameReader();
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    const end = (rcode: number | undefined) => {
      socket.destroy();
      resolve(rcode);
    };
    socket.setTimeout(LIMIT_MS, () => end(undefined));
    socket.on('error', () => end(undefined));
    socket.on('close', () => resolve(undefined));
    socket.on('data', (bytes: Buffer) => {
      reader.push(bytes);
      const answer = reader.next();
      if (answer !== undefined) end(answer[RCODE_AT]! & RCODE_MASK);
    });
    socket.write(query);
  });
}
