import { readQuery } from '@kube-dns/wire';
import { addressRecords, encodeQuery, encodeReply } from '@kube-dns/testkit';
import type { Query } from '@kube-dns/wire';
import { retryPlan, type StaleAnswer } from '../src/forward/contract.js';
import { QueryForwarder } from '../src/forward/forwarder.js';
import { ServerGroup, UpstreamServers } from '../src/forward/servers.js';
import { UpstreamSockets } from '../src/forward/sockets.js';
import type { PortOwner } from '../src/udp-engine.js';
import { RecordedCounter, WaitingClient } from './forwarder-fixture.js';

const TIMEOUT_MS = 4_500;
/** Nothing listens there: a question that goes on over TCP fails. */
const PORT = 1;
/** Names of two lengths, so that some queries use the memory of others. */
export const NAMES = ['a.x', 'b.x', 'c.x', 'd.x', 'long.x', 'more.x'];
/** A late reply is waited for so long. */
const LATE_MS = 10_000;

export type How = 'good' | 'servfail' | 'cut' | 'twice' | 'lost' | 'closed';

/** What happens next. Names are by their index, and so are waiting clients and queries that were sent. */
export type Step =
  | {
      readonly ask: number;
      readonly isMixed: boolean;
      /** Questions with other EDNS options are other ones. */
      readonly variant: number;
      /** It has an expired answer. */
      readonly isStale: boolean;
    }
  | { readonly again: number }
  | { readonly prefetch: number }
  /** A question of the program's own, and the one that it asks when it has the reply. */
  | { readonly own: number; readonly then: number }
  | { readonly reply: number; readonly how: How }
  /** What was sent to a server comes back as a question: of another client, or of a loop. */
  | { readonly back: number }
  | { readonly wait: number }
  | { readonly forget: true };

interface SentQuery {
  readonly owner: PortOwner;
  readonly query: Buffer;
}

/** Has every answer that it got. */
export class AskingClient extends WaitingClient {
  readonly got: Buffer[] = [];
  readonly message: Buffer;
  asked = 0;

  constructor(port: number, message: Buffer) {
    super(port);
    this.message = message;
  }

  override take(message: Uint8Array): void {
    this.got.push(Buffer.from(message));
  }
}

/** A question of the program's own, and what it was called back with. */
export interface OwnQuestion {
  readonly name: string;
  readonly replies: (Buffer | null)[];
}

/** A forwarder whose servers, one or two, are the test itself, which has what they were sent. */
export class ForwarderModel {
  readonly clients: AskingClient[] = [];
  readonly own: OwnQuestion[] = [];
  readonly forwarder: QueryForwarder;
  readonly group: ServerGroup;
  /** What has no reply yet. */
  readonly sent: SentQuery[] = [];
  /** Prefetches that are to be counted by their results. */
  prefetches = 0;
  readonly #sockets: UpstreamSockets;
  readonly #out = new Uint8Array(65_535);
  #now = 1_000_000;

  constructor(servers: number) {
    const now = () => this.#now;
    this.#sockets = new UpstreamSockets({
      now,
      engine: {
        openUpstreamPort: (_options, owner) => ({
          send: (query) => void this.sent.push({ owner, query: Buffer.from(query) }),
          close: () => undefined,
        }),
        sendTogether: (work) => work(),
        batch: 0,
      },
    });
    const counters = { of: () => new RecordedCounter(), retain: () => undefined };
    const known = new UpstreamServers(this.#sockets, counters, { now });
    const addresses = ['127.0.0.1', '127.0.0.2'].slice(0, servers);
    const all = addresses.map((address) => known.at({ address, port: PORT }));
    this.group = new ServerGroup('.', all, 'preferred');
    const plan = retryPlan(TIMEOUT_MS);
    const stale = { timeoutMs: 600, onTried: () => undefined };
    this.forwarder = new QueryForwarder({ maxInFlight: 50, plan, maxUdpBytes: 1_232, now, stale });
  }

  do(step: Step): void {
    if ('ask' in step) this.#ask(step.ask, step);
    else if ('again' in step) this.#again(step.again);
    else if ('prefetch' in step) this.#prefetch(NAMES[step.prefetch]!);
    else if ('own' in step) this.#askOwn(NAMES[step.own]!, NAMES[step.then]);
    else if ('reply' in step) this.#reply(step.reply, step.how);
    else if ('back' in step) this.#sendBack(step.back);
    else if ('wait' in step) this.#wait(step.wait);
    else this.forwarder.forgetQuestions();
  }

  /** Until every client has its answer, and no late reply is waited for. */
  async end(): Promise<void> {
    for (let i = 0; i < 3; i++) {
      // What goes on over TCP fails meanwhile.
      await new Promise(setImmediate);
      this.#wait(TIMEOUT_MS);
    }
    this.#wait(LATE_MS);
  }

  close(): void {
    this.forwarder.close();
    this.#sockets.close();
  }

  #ask(at: number, how: Extract<Step, { ask: number }>): void {
    const id = (this.clients.length * 7 + 1) & 0xffff;
    const name = NAMES[at]!;
    const message = encodeQuery({ name: how.isMixed ? name.toUpperCase() : name, id });
    this.#pass(this.#clientOf(message), how);
  }

  #sendBack(at: number): void {
    const sent = this.sent[at % this.sent.length];
    if (sent !== undefined) this.#pass(this.#clientOf(sent.query));
  }

  #clientOf(message: Buffer): AskingClient {
    const client = new AskingClient(1_024 + this.clients.length, message);
    this.clients.push(client);
    return client;
  }

  /** A client that waits asks once more. */
  #again(at: number): void {
    const waiting = this.clients.filter(({ got }) => got.length === 0);
    if (waiting.length > 0) this.#pass(waiting[at % waiting.length]!);
  }

  #pass(client: AskingClient, { variant, isStale } = { variant: 0, isStale: false }): void {
    client.asked++;
    const query = readQuery(client.message);
    const options = optionsOf(variant);
    const stale = isStale ? staleAnswer(query) : undefined;
    const length = this.forwarder.forward(
      query,
      this.#out,
      client,
      this.group,
      undefined,
      options,
      stale,
    );
    if (length > 0) client.take(this.#out.subarray(0, length));
  }

  #prefetch(name: string): void {
    const query = readQuery(encodeQuery({ name }));
    const client = new WaitingClient();
    if (!this.forwarder.look(query).isInFlight) this.prefetches++;
    this.forwarder.refresh(query, this.group, () => undefined, client, undefined, true);
  }

  #askOwn(name: string, then?: string): void {
    const replies: (Buffer | null)[] = [];
    const isAsked = this.forwarder.ask(encodeQuery({ name }), this.group, (reply) => {
      replies.push(reply);
      if (then !== undefined) this.#askOwn(then);
    });
    if (isAsked) this.own.push({ name, replies });
  }

  #reply(at: number, how: How): void {
    if (this.sent.length === 0) return;
    const index = at % this.sent.length;
    const sent = this.sent[index]!;
    // One that is sent twice stays here, and may be sent late, too.
    if (how !== 'twice') this.sent.splice(index, 1);
    if (how === 'lost') return;
    if (how === 'closed') {
      sent.owner.onUnreachable();
      return;
    }
    const asked = readQuery(sent.query);
    const reply = encodeReply(sent.query, {
      rcode: how === 'servfail' ? 'SERVFAIL' : 'NOERROR',
      isTruncated: how === 'cut',
      answers: how === 'servfail' ? [] : addressRecords(60, addressOf(asked.name)),
    });
    sent.owner.onDatagram(reply, { address: '127.0.0.1', port: PORT });
    // The bytes are the engine's.
    reply.fill(0xff);
  }

  #wait(ms: number): void {
    this.#now += ms;
    this.forwarder.tick();
  }
}

/** Each name has its own. */
export function addressOf(name: Uint8Array): string {
  return `10.${name[0]!}.${name[1]!}.${name[2]!}`;
}

function optionsOf(variant: number) {
  const bytes = Buffer.from(variant === 0 ? [] : [0xfd, 0xe9, 0, 1, variant]);
  return { bytes, hasClientSubnet: false };
}

function staleAnswer(query: Query): StaleAnswer {
  const message = encodeReply(query, { answers: addressRecords(60, addressOf(query.name)) });
  return { message, onGiven: () => undefined };
}
