import type { ApiServer, KubeObject } from '@kube-dns/apiserver';
import {
  becomesTrue,
  connectUdp,
  decodeMessage,
  ednsOf,
  encodeQuery,
  monotonicMs,
  sendQuietly,
} from '@kube-dns/testkit';
import { answerText } from '../fixtures/answer-text.js';
import { namespace, service } from '../fixtures/change-objects.js';

/** A server that clients ask over UDP. */
export interface CrowdPoint {
  readonly address: string;
  readonly port: number;
}

/** An answer to one question. */
export interface CrowdAnswer {
  /** As `answerText` writes it; 'no answer' without one. */
  readonly text: string;
  /** The INFO-CODEs of its Extended DNS Errors (RFC 8914). */
  readonly errors: readonly number[];
}

/** What a server has answered for all services of the crowd. */
export interface CrowdAnswers {
  readonly asked: number;
  readonly right: number;
  /** Of the right ones, those with EDE 3 (Stale Answer). */
  readonly stale: number;
  readonly unanswered: number;
  /** Some of the others, with what was expected. */
  readonly wrong: readonly string[];
  readonly ms: number;
}

const SPACE = 'crowd';
const WINDOW = 64;
const TRY_MS = 1_000;
const TRIES = 5;
const FRESH_STEP_MS = 10;
const EXAMPLES = 5;
const NONE: CrowdAnswer = { text: 'no answer', errors: [] };
const EDE = '15 ';
const STALE_ANSWER = 3;

/** The name of the n-th service of the crowd. */
export function crowdName(i: number): string {
  return `s${i}.${SPACE}.svc.cluster.local`;
}

const addressOf = (network: number, i: number) => `10.${network}.${i >> 8}.${i & 0xff}`;
const FIRST_NETWORK = 120;
const LAST_NETWORK = 199;

/** Many services, each with one address, and what a server should answer for each of them now. */
export class Crowd {
  /** By the number of the service. */
  readonly #texts = new Map<number, string>();
  #next = 0;
  #network = FIRST_NETWORK;
  /** What was changed last. */
  #changed: readonly number[] = [];

  /** Their objects, so many. */
  create(count: number): readonly KubeObject[] {
    const objects = Array.from({ length: count }, () => this.#put(this.#next++));
    return [namespace(SPACE), ...objects];
  }

  /** Gives so many services another address, creates as many and deletes as many. */
  change(api: ApiServer, each: number): void {
    const there = [...this.#texts].flatMap(([i, text]) => (text === 'NXDOMAIN' ? [] : [i]));
    this.#network = this.#network === LAST_NETWORK ? FIRST_NETWORK : this.#network + 1;
    const moved = there.slice(0, each);
    const gone = there.slice(each, 2 * each);
    const created = Array.from({ length: each }, () => this.#next++);
    for (const i of [...moved, ...created]) api.objects.load([this.#put(i)]);
    for (const i of gone) {
      api.delete('Service', SPACE, `s${i}`);
      this.#texts.set(i, 'NXDOMAIN');
    }
    this.#changed = [...moved, ...created, ...gone];
  }

  /** Asks for each of them, some at a time, and again for those without an answer. */
  async askAll(point: CrowdPoint): Promise<CrowdAnswers> {
    const client = await CrowdClient.open(point);
    const startMs = monotonicMs();
    const waiting = [...this.#texts].values();
    const counts = { right: 0, stale: 0, unanswered: 0 };
    const wrong: string[] = [];
    const askNext = async () => {
      for (const [i, wanted] of waiting) {
        const { text, errors } = await client.ask(crowdName(i));
        if (text === wanted) {
          counts.right++;
          if (errors.includes(STALE_ANSWER)) counts.stale++;
        } else if (text === NONE.text) counts.unanswered++;
        else if (wrong.length < EXAMPLES) wrong.push(`${crowdName(i)}: ${text}, not ${wanted}`);
      }
    };
    await Promise.all(Array.from({ length: WINDOW }, askNext));
    client.close();
    return { ...counts, asked: this.#texts.size, wrong, ms: monotonicMs() - startMs };
  }

  async askOne(point: CrowdPoint, name: string): Promise<CrowdAnswer> {
    const client = await CrowdClient.open(point);
    const answer = await client.ask(name);
    client.close();
    return answer;
  }

  /** From `startMs` until a server answers right for all that `change` has changed; Infinity after `limitMs`. */
  async freshMs(point: CrowdPoint, startMs: number, limitMs: number): Promise<number> {
    const client = await CrowdClient.open(point);
    let left = this.#changed;
    const isRight = async (i: number) =>
      (await client.ask(crowdName(i))).text === this.#texts.get(i);
    const isFresh = async () => {
      // All of them at each step would take the time of the servers.
      if (!(await isRight(left[0]!))) return false;
      const waiting = left.values();
      const old: number[] = [];
      const askNext = async () => {
        for (const i of waiting) if (!(await isRight(i))) old.push(i);
      };
      await Promise.all(Array.from({ length: WINDOW }, askNext));
      left = old;
      return left.length === 0;
    };
    const wasFresh = await becomesTrue(isFresh, { limitMs, stepMs: FRESH_STEP_MS });
    client.close();
    return wasFresh ? monotonicMs() - startMs : Number.POSITIVE_INFINITY;
  }

  #put(i: number): KubeObject {
    const address = addressOf(this.#network, i);
    this.#texts.set(i, `NOERROR ${address}`);
    return service(`s${i}`, address, SPACE);
  }
}

/** Asks one server from one socket. */
class CrowdClient {
  readonly #waiting = new Map<number, (answer: CrowdAnswer) => void>();
  #socket!: Awaited<ReturnType<typeof connectUdp>>;
  #id = 0;

  static async open({ address, port }: CrowdPoint): Promise<CrowdClient> {
    const client = new CrowdClient();
    client.#socket = await connectUdp(port, (message) => client.#take(message), address);
    return client;
  }

  async ask(name: string): Promise<CrowdAnswer> {
    for (let tries = 0; tries < TRIES; tries++) {
      const answer = await this.#try(name);
      if (answer !== NONE) return answer;
    }
    return NONE;
  }

  close(): void {
    this.#socket.close();
  }

  #try(name: string): Promise<CrowdAnswer> {
    const id = (this.#id = (this.#id + 1) & 0xffff);
    return new Promise((resolve) => {
      const end = (answer: CrowdAnswer) => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve(answer);
      };
      const timer = setTimeout(end, TRY_MS, NONE);
      this.#waiting.set(id, end);
      sendQuietly(this.#socket, encodeQuery({ id, name, type: 'A', ednsBytes: 1_232 }));
    });
  }

  #take(message: Buffer): void {
    const options = ednsOf(message)?.options ?? [];
    const errors = options
      .filter((option) => option.startsWith(EDE))
      .map((option) => Number.parseInt(option.slice(EDE.length, EDE.length + 4), 16));
    const answer = { text: answerText(decodeMessage(message)), errors };
    this.#waiting.get(message.readUInt16BE(0))?.(answer);
  }
}
