import {
  addressRecords,
  ask,
  encodeReply,
  type NameServerRequest,
  type Script,
  ScriptedNameServer,
} from '@kube-dns/testkit';
import { RCODE, writeUint16 } from '@kube-dns/wire';

/** What a server does with a question. */
export type Conduct = keyof typeof CONDUCTS;

const good = ({ query }: NameServerRequest, address: string) =>
  encodeReply(query, { answers: addressRecords(30, address) });

const CONDUCTS = {
  good: (request, address) => [good(request, address)],
  late: async (request, address, settled) => {
    await settled();
    return [good(request, address)];
  },
  silent: () => null,
  servfail: () => ({ rcode: RCODE.SERVFAIL }),
  refused: () => ({ rcode: RCODE.REFUSED }),
  nxdomain: () => ({ rcode: RCODE.NXDOMAIN }),
  notimp: () => ({ rcode: RCODE.NOTIMP }),
  formerr: () => ({ rcode: RCODE.FORMERR }),
  'cut over UDP': (request, address) =>
    request.isOverTcp ? [good(request, address)] : { isTruncated: true },
  'wrong ID': (request, address) => [
    changed(good(request, address), (reply) => writeUint16(reply, 0, request.id ^ 1)),
  ],
  'wrong name': (request, address) => [
    changed(good(request, address), (reply) => (reply[13]! ^= 1)),
  ],
  'wrong type': (request, address) => [
    changed(good(request, address), (reply) => (reply[request.questionEnd - 3]! ^= 29)),
  ],
  'no response': (request, address) => [
    changed(good(request, address), (reply) => (reply[2]! &= 0x7f)),
  ],
} satisfies Record<
  string,
  (request: NameServerRequest, address: string, settled: () => Promise<void>) => ReturnType<Script>
>;

function changed(reply: Buffer, change: (reply: Buffer) => unknown): Buffer {
  change(reply);
  return reply;
}

/** So many questions, one after the other, and all that was sent before the first is taken care of. */
const ROUNDS = 4;

/** Name servers that act on each domain by a table; any label may precede it. */
export class ScriptedServers {
  readonly fakes: ScriptedNameServer[] = [];
  /** The port of the server that asks them; it answers for `settled.test` itself. */
  port = 0;
  /** Late replies that are still to come. */
  #late = 0;
  #rounds = 0;

  /** `conductOf` returns how the server with this number acts on names of a domain. */
  static async start(
    count: number,
    conductOf: (domain: string, server: number) => Conduct,
  ): Promise<ScriptedServers> {
    const servers = new ScriptedServers();
    for (let at = 0; at < count; at++) {
      const script: Script = async (request) => {
        const { name } = request;
        const conduct = conductOf(name.slice(name.indexOf('.') + 1), at);
        const isLate = conduct === 'late';
        if (isLate) servers.#late++;
        const settled = () => servers.#settled();
        const reply = await CONDUCTS[conduct](request, `10.0.0.${at}`, settled);
        if (isLate) servers.#late--;
        return reply;
      };
      servers.fakes.push(await ScriptedNameServer.start(script));
    }
    return servers;
  }

  /** How many questions all servers had. */
  get askedInAll(): number {
    return this.fakes.reduce((sum, fake) => sum + fake.requests.length, 0);
  }

  /** Resolves when no reply is on its way, and nothing more is asked because of those that came. */
  async quiet(): Promise<void> {
    // A late reply that leaves during the rounds needs whole rounds after it.
    for (let isQuiet = false; !isQuiet;) {
      const asked = this.askedInAll;
      const hadLate = this.#late > 0;
      await this.#settled();
      isQuiet = !hadLate && this.#late === 0 && this.askedInAll === asked;
    }
  }

  /** The asking server has taken what was sent to it. */
  async #settled(): Promise<void> {
    for (let i = 0; i < ROUNDS; i++) await ask(this.port, `n${this.#rounds++}.settled.test`);
  }

  /** The server with this number, as `--server` has it. */
  text(at: number): string {
    return this.fakes[at]!.text;
  }

  /** How often each server was asked about a domain, such as `1 udp, 1 tcp`; empty for none. */
  asked(domain: string): string[] {
    return this.fakes.map(({ requests }) => {
      const about = requests.filter(({ name }) => name.slice(name.indexOf('.') + 1) === domain);
      // Each name once: a server that is late is probed with what it was asked.
      const count = (protocol: 'udp' | 'tcp') =>
        new Set(about.filter((each) => each.protocol === protocol).map(({ name }) => name)).size;
      const parts = (['udp', 'tcp'] as const).map((protocol) => [count(protocol), protocol]);
      return parts.flatMap(([n, protocol]) => (n === 0 ? [] : `${n} ${protocol}`)).join(', ');
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.fakes.map((fake) => fake.close()));
  }
}
