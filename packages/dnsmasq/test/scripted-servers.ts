import { RCODE, writeUint16 } from '@kube-dns/wire';
import { type Asked, FakeUpstream, type Reply } from './fake-upstream.js';
import { addressRecords, responseTo } from '@kube-dns/resolver/testing';
import { setTimeout as delay } from 'node:timers/promises';
import type { Query } from '@kube-dns/wire';

/** What a server does with a question. */
export type Conduct = keyof typeof CONDUCTS;

const LATE_MS = 250;

const good = (query: Query, address: string) =>
  responseTo(query, { answers: addressRecords(30, address) });

const CONDUCTS = {
  good: (query, address) => [good(query, address)],
  late: async (query, address) => {
    await delay(LATE_MS);
    return [good(query, address)];
  },
  silent: () => null,
  servfail: () => ({ rcode: RCODE.SERVFAIL }),
  refused: () => ({ rcode: RCODE.REFUSED }),
  nxdomain: () => ({ rcode: RCODE.NXDOMAIN }),
  notimp: () => ({ rcode: RCODE.NOTIMP }),
  formerr: () => ({ rcode: RCODE.FORMERR }),
  'cut over UDP': (query, address) =>
    query.isOverTcp ? [good(query, address)] : { isTruncated: true },
  'wrong ID': (query, address) => [
    changed(good(query, address), (reply) => writeUint16(reply, 0, query.id ^ 1)),
  ],
  'wrong name': (query, address) => [changed(good(query, address), (reply) => (reply[13]! ^= 1))],
  'wrong type': (query, address) => [
    changed(good(query, address), (reply) => (reply[query.questionEnd - 3]! ^= 29)),
  ],
  'no response': (query, address) => [
    changed(good(query, address), (reply) => (reply[2]! &= 0x7f)),
  ],
} satisfies Record<string, (query: Query, address: string) => Reply | Promise<Reply>>;

function changed(reply: Buffer, change: (reply: Buffer) => unknown): Buffer {
  change(reply);
  return reply;
}

/** Name servers that act on each domain by a table; any label may precede it. */
export class ScriptedServers {
  readonly fakes: readonly FakeUpstream[];

  private constructor(fakes: readonly FakeUpstream[]) {
    this.fakes = fakes;
  }

  /** `conductOf` returns how the server with this number acts on names of a domain. */
  static async start(
    count: number,
    conductOf: (domain: string, server: number) => Conduct,
  ): Promise<ScriptedServers> {
    const fakes = await Promise.all(
      Array.from({ length: count }, (_none, at) =>
        FakeUpstream.start((query, { name }) => {
          const conduct = conductOf(name.slice(name.indexOf('.') + 1), at);
          return CONDUCTS[conduct](query, `10.0.0.${at}`);
        }),
      ),
    );
    return new ScriptedServers(fakes);
  }

  /** The server with this number, as `--server` has it. */
  text(at: number): string {
    return this.fakes[at]!.text;
  }

  /** How often each server was asked about a domain, such as `1 udp, 1 tcp`; empty for none. */
  asked(domain: string): string[] {
    return this.fakes.map(({ asked }) => {
      const about = asked.filter(({ name }) => name.slice(name.indexOf('.') + 1) === domain);
      const count = (protocol: Asked['protocol']) =>
        about.filter((each) => each.protocol === protocol).length;
      const parts = (['udp', 'tcp'] as const).map((protocol) => [count(protocol), protocol]);
      return parts.flatMap(([n, protocol]) => (n === 0 ? [] : `${n} ${protocol}`)).join(', ');
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.fakes.map((fake) => fake.close()));
  }
}
