import { describe, expect, it } from '@jest/globals';
import { decodeMessage, readUint16 } from '@kube-dns/wire';
import fc from 'fast-check';
import { RecordedCounter, WaitingClient } from '../../test/forwarder-fixture.js';
import { queryMessage, readQuery, responseWith } from '../../test/questions.js';
import type { PortOwner } from '../upstream-port.js';
import { QueryForwarder } from './query-forwarder.js';
import { retryPlan } from './retry-plan.js';
import { ServerGroup } from './server-group.js';
import { UpstreamServers } from './upstream-servers.js';
import { UpstreamSockets } from './upstream-sockets.js';

const TIMEOUT_MS = 4_500;
/** Nothing listens there: a question that goes on over TCP fails. */
const PORT = 1;
/** Names of two lengths, so that some queries use the memory of others. */
const NAMES = ['a.x', 'b.x', 'c.x', 'd.x', 'long.x', 'more.x'];
const RCODES = { good: 0, servfail: 2, cut: 0 } as const;

type How = 'good' | 'servfail' | 'cut' | 'twice' | 'lost';
const what = fc.constantFrom<How>('good', 'good', 'good', 'servfail', 'cut', 'twice', 'lost');
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ ask: fc.nat(NAMES.length - 1), isMixed: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ reply: fc.nat(), what }) },
  { weight: 1, arbitrary: fc.record({ again: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ wait: fc.constantFrom(50, 600, 2_000, TIMEOUT_MS) }) },
  { weight: 1, arbitrary: fc.record({ forget: fc.constant(true) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

interface SentQuery {
  readonly owner: PortOwner;
  readonly query: Buffer;
}

/** Has every answer that it got. */
class AskingClient extends WaitingClient {
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

/** A forwarder whose two servers are the test itself, which has what they were sent. */
class Model {
  readonly clients: AskingClient[] = [];
  readonly #sent: SentQuery[] = [];
  #now = 1_000_000;
  readonly #sockets: UpstreamSockets;
  readonly #forwarder: QueryForwarder;
  readonly #group: ServerGroup;
  readonly #out = new Uint8Array(65_535);

  constructor() {
    const now = () => this.#now;
    this.#sockets = new UpstreamSockets({
      now,
      engine: {
        openUpstreamPort: (_options, owner) => ({
          send: (query) => void this.#sent.push({ owner, query: Buffer.from(query) }),
          close: () => undefined,
        }),
        sendTogether: (work) => work(),
        batch: 0,
      },
    });
    const counters = { of: () => new RecordedCounter(), retain: () => undefined };
    const servers = new UpstreamServers(this.#sockets, counters, { now });
    const all = ['127.0.0.1', '127.0.0.2'].map((address) => servers.at({ address, port: PORT }));
    this.#group = new ServerGroup('.', all, 'preferred');
    const plan = retryPlan(TIMEOUT_MS);
    this.#forwarder = new QueryForwarder({ maxInFlight: 50, plan, maxUdpBytes: 1_232, now });
  }

  do(step: Step): void {
    if ('ask' in step) this.#ask(NAMES[step.ask]!, step.isMixed);
    else if ('again' in step) this.#again(step.again);
    else if ('reply' in step) this.#reply(step.reply, step.what);
    else if ('wait' in step) this.#wait(step.wait);
    else this.#forwarder.forgetQuestions();
  }

  /** Until every client has its answer. */
  async end(): Promise<void> {
    for (let i = 0; i < 3; i++) {
      // What goes on over TCP fails meanwhile.
      await new Promise(setImmediate);
      this.#wait(TIMEOUT_MS);
    }
    this.#forwarder.close();
    this.#sockets.close();
  }

  #ask(name: string, isMixed: boolean): void {
    const id = (this.clients.length * 7 + 1) & 0xffff;
    const message = queryMessage({ name: isMixed ? name.toUpperCase() : name, id });
    const client = new AskingClient(1_024 + this.clients.length, message);
    this.clients.push(client);
    this.#pass(client);
  }

  /** A client that waits asks once more. */
  #again(at: number): void {
    const waiting = this.clients.filter(({ got }) => got.length === 0);
    if (waiting.length > 0) this.#pass(waiting[at % waiting.length]!);
  }

  #pass(client: AskingClient): void {
    client.asked++;
    const query = readQuery(client.message);
    const length = this.#forwarder.forward(query, this.#out, client, this.#group);
    if (length > 0) client.take(this.#out.subarray(0, length));
  }

  #reply(at: number, how: How): void {
    if (this.#sent.length === 0) return;
    const index = at % this.#sent.length;
    const sent = this.#sent[index]!;
    // One that is sent twice stays here, and may be sent late, too.
    if (how !== 'twice') this.#sent.splice(index, 1);
    if (how === 'lost') return;
    const asked = readQuery(sent.query);
    const reply = responseWith(asked, {
      rcode: how === 'twice' ? RCODES.good : RCODES[how],
      addresses: how === 'servfail' ? [] : [addressOf(asked.name)],
    });
    if (how === 'cut') reply[2]! |= 0x02;
    sent.owner.onDatagram(reply, { address: '127.0.0.1', port: PORT });
    // The bytes are the engine's.
    reply.fill(0xff);
  }

  #wait(ms: number): void {
    this.#now += ms;
    this.#forwarder.tick();
  }
}

/** Each name has its own. */
function addressOf(name: Uint8Array): string {
  return `10.${name[0]!}.${name[1]!}.${name[2]!}`;
}

describe('the memory of flights that is used again', () => {
  it('gives every client the answer to its own question, whatever happens to others', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 150 }), async (steps) => {
        const model = new Model();
        for (const each of steps) model.do(each);
        await model.end();
        for (const { asked, got, message } of model.clients) {
          expect(got.length).toBeGreaterThan(0);
          // A client that asks again is another one where servers may have changed meanwhile.
          expect(got.length).toBeLessThanOrEqual(asked);
          for (const answer of got) {
            expect(readUint16(answer, 0)).toBe(readUint16(message, 0));
            // In the client's own spelling.
            expect(answer.subarray(12, message.length)).toEqual(message.subarray(12));
            const { answers } = decodeMessage(answer);
            const own = addressOf(readQuery(message).name);
            for (const record of answers) expect(record).toMatchObject({ type: 'A', data: own });
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});
