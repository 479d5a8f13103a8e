import { UpstreamSockets } from '@kube-dns/transport';
import type { ReplySight } from '../src/upstream/flight.js';
import { QueryForwarder } from '../src/upstream/query-forwarder.js';
import { retryPlan } from '../src/upstream/retry-plan.js';
import { ServerGroup, type ServerOrder } from '../src/upstream/server-group.js';
import { UpstreamServers } from '../src/upstream/upstream-servers.js';
import { readAnswer } from './client.js';
import { FakeUpstream, type Script } from './fake-upstream.js';
import { addressRecords, queryFor, type Question } from './messages.js';
import { recordedLog } from './recorded-log.js';
import { until } from './until.js';
import { WaitingClient } from './waiting-client.js';

export const TIMEOUT_MS = 4_500;

export const says =
  (address: string): Script =>
  () => ({ answers: addressRecords(30, address) });
export const fails =
  (rcode: number): Script =>
  () => ({ rcode });
export const silent: Script = () => null;

/** A script that answers when it is told to. */
export function held(address: string): { script: Script; release: () => void } {
  const releases: (() => void)[] = [];
  return {
    script: async () => {
      await new Promise<void>((resolve) => releases.push(resolve));
      return { answers: addressRecords(30, address) };
    },
    release: () => {
      for (const release of releases.splice(0)) release();
    },
  };
}

/** A forwarder with a clock that stands still, and scripted servers. */
export class ForwarderBed {
  readonly log = recordedLog();
  readonly fakes: FakeUpstream[] = [];
  readonly forwarder: QueryForwarder;
  readonly sockets = new UpstreamSockets();
  readonly #servers = new UpstreamServers(this.sockets);
  readonly #out = new Uint8Array(65_535);
  now = 1_000_000;

  constructor(maxInFlight = 100, portLimit = 1) {
    this.forwarder = new QueryForwarder({
      maxInFlight,
      portLimit,
      plan: retryPlan(TIMEOUT_MS),
      maxUdpBytes: 1232,
      log: this.log,
      now: () => this.now,
    });
  }

  /** A group of scripted servers. */
  async groupOf(scripts: readonly Script[], order: ServerOrder = 'preferred', domain = '.') {
    const own: FakeUpstream[] = [];
    for (const script of scripts) own.push(await FakeUpstream.start(script));
    this.fakes.push(...own);
    const all = own.map(({ port }) => this.#servers.at({ address: '127.0.0.1', port }));
    return { group: new ServerGroup(domain, all, order), own };
  }

  /** Sends a question for a client and gives the client, who may have the answer already. */
  ask(
    group: ServerGroup,
    question: Question | string,
    client = new WaitingClient(),
    sight?: ReplySight,
  ): WaitingClient {
    const query = queryFor(typeof question === 'string' ? { name: question } : question);
    const length = this.forwarder.forward(query, this.#out, client, group, sight);
    if (length > 0) client.answer = readAnswer(Buffer.from(this.#out.subarray(0, length)));
    return client;
  }

  /** Lets time go by at once. */
  pass(ms: number): void {
    this.now += ms;
    this.forwarder.tick();
  }

  /** How many questions each server has got; waits until they are as many in all. */
  async asked(total: number): Promise<number[]> {
    const counts = () => this.fakes.map((fake) => fake.asked.length);
    await until(() => counts().reduce((sum, count) => sum + count, 0) >= total);
    return counts();
  }

  async close(): Promise<void> {
    this.forwarder.close();
    this.sockets.close();
    await Promise.all(this.fakes.map((fake) => fake.close()));
  }
}

/** Waits until every one of them has an answer. */
export const answered = (...clients: WaitingClient[]) =>
  until(() => clients.every(({ answer }) => answer !== undefined));
