import { randomBytes } from 'node:crypto';
import { TcpClient, UdpClient } from './clients.js';
import { decodeMessage, ednsOf, encodeQuery, type Message, questionEnd } from './messages.js';

/** `taken`: the answer counts; `dropped`: as if it had not arrived; `again`: the query is sent once more. */
type CookieJudgement = 'taken' | 'dropped' | 'again';

const COOKIE = '10 ';
const CLIENT_BYTES = 8;
const MAX_BYTES = 40;
const BADCOOKIE = 23;

/** The rules of c-ares 1.34 for the cookies of one server (src/lib/ares_cookie.c, ares_cookie_validate). */
class CAresCookies {
  readonly #client = randomBytes(CLIENT_BYTES);
  #server: Buffer | undefined;

  /** The cookie of the next query. */
  next(): Buffer {
    return Buffer.concat([this.#client, this.#server ?? Buffer.alloc(0)]);
  }

  /** Judges the reply to a query, and learns its server cookie. */
  judge(query: Buffer, reply: Buffer): CookieJudgement {
    const sent = cookieOf(query);
    if (sent === undefined) return 'taken';
    const cookie = cookieOf(reply);
    // Once a server has shown a cookie, what comes without is forged.
    if (cookie === undefined) return this.#server === undefined ? 'taken' : 'dropped';
    const isWellFormed = cookie.length >= CLIENT_BYTES && cookie.length <= MAX_BYTES;
    if (!isWellFormed || !cookie.subarray(0, CLIENT_BYTES).equals(sent.subarray(0, CLIENT_BYTES))) {
      return 'dropped';
    }
    if (cookie.length > CLIENT_BYTES) this.#server = Buffer.from(cookie.subarray(CLIENT_BYTES));
    if (ednsOf(reply)?.rcode === BADCOOKIE) return 'again';
    return 'taken';
  }
}

function cookieOf(message: Buffer): Buffer | undefined {
  const option = ednsOf(message)?.options.find((text) => text.startsWith(COOKIE));
  return option === undefined ? undefined : Buffer.from(option.slice(COOKIE.length), 'hex');
}

/** How a stub resolver asks for the addresses of a name. */
interface AskingWay {
  /** A and AAAA from one socket at once, one after the other, or each from its own socket at once. */
  readonly order: 'together' | 'in turn' | 'apart';
  /** Header bits besides RD. */
  readonly flags?: number;
  readonly ednsBytes?: number;
  readonly isDnssecOk?: boolean;
  readonly isOverTcp?: boolean;
  /** Sends cookies by the rules of c-ares. */
  readonly hasCookies?: boolean;
  /** The case of the name is random, and the answer must have the same. */
  readonly mixesCase?: boolean;
  /** Whether it takes an answer that fits the question. */
  readonly takes?: (answer: Message) => boolean;
}

const TYPES = ['A', 'AAAA'] as const;
const AD = 0x20;
const CD = 0x10;
const RA = 0x80;
const AA = 0x0400;
/**
 * An answer that has not come by then never comes: these models send nothing again. The resolvers themselves wait for
 * one second at least, which a busy machine can take away.
 */
const LIMIT_MS = 10_000;
const MAX_TRIES = 3;
/** Rcodes that they take for an answer; after any other they ask the next server. */
const ANSWERS: ReadonlySet<string> = new Set(['NOERROR', 'NXDOMAIN']);

/** glibc's and musl's buffers and flags, Go's and systemd-resolved's checks: as their sources have them. */
const WAYS = {
  // glibc resolv/res_send.c: send_dg
  glibc: { order: 'together' },
  'glibc edns0 trust-ad': { order: 'together', flags: AD, ednsBytes: 1_200 },
  'glibc single-request': { order: 'in turn' },
  'glibc use-vc': { order: 'together', isOverTcp: true },
  // musl src/network/res_mkquery.c sets AD.
  musl: { order: 'together', flags: AD },
  // Go net/dnsclient_unix.go: checkHeader takes what looks like a referral for a lame server.
  go: { order: 'apart', ednsBytes: 1_232, takes: isNotLame },
  'go trust-ad': { order: 'apart', flags: AD, ednsBytes: 1_232, takes: isNotLame },
  'c-ares 1.34': { order: 'apart', ednsBytes: 1_232, hasCookies: true },
  'c-ares 1.34 dns0x20': { order: 'apart', ednsBytes: 1_232, hasCookies: true, mixesCase: true },
  // systemd src/resolve/resolved-dns-transaction.c falls back a level when OPT is missing.
  'systemd-resolved DO': {
    order: 'apart',
    flags: CD,
    ednsBytes: 1_232,
    isDnssecOk: true,
    takes: hasOpt,
  },
  'systemd-resolved EDNS0': { order: 'apart', ednsBytes: 512, takes: hasOpt },
  'systemd-resolved UDP': { order: 'apart' },
  'systemd-resolved TCP': { order: 'apart', isOverTcp: true },
} as const satisfies Readonly<Record<string, AskingWay>>;

export type StubResolverName = keyof typeof WAYS;
export const STUB_RESOLVERS = Object.keys(WAYS) as readonly StubResolverName[];

/** What a lookup of a name came to. */
interface LookedUp {
  readonly rcode: string;
  readonly addresses: readonly string[];
}

/**
 * A model of a stub resolver: queries of the same bytes, the same order and transport, and the same rules for what it
 * takes as an answer. A lookup rejects where the resolver would wait for its time-out.
 */
export class StubResolver {
  readonly #way: AskingWay;
  /** Ports of 127.0.0.1 that share one address to this resolver, as replicas behind a Service do: asked in turn. */
  readonly #ports: readonly number[];
  readonly #cookies: CAresCookies | undefined;
  #asked = 0;

  constructor(name: StubResolverName, ports: readonly number[]) {
    this.#way = WAYS[name];
    this.#ports = ports;
    this.#cookies = this.#way.hasCookies === true ? new CAresCookies() : undefined;
  }

  /** The addresses of a name, of both families. */
  async lookup(name: string): Promise<LookedUp> {
    const { order } = this.#way;
    const answers: Message[] = [];
    if (order === 'in turn') for (const type of TYPES) answers.push(await this.#ask(name, type));
    else if (order === 'apart') {
      answers.push(...(await Promise.all(TYPES.map((type) => this.#ask(name, type)))));
    } else answers.push(...(await this.#askTogether(name)));
    const addresses = answers.flatMap(({ answers: records }) =>
      records.flatMap((record) =>
        record.type === 'A' || record.type === 'AAAA' ? [record.data] : [],
      ),
    );
    return { rcode: answers[0]!.rcode, addresses };
  }

  async #askTogether(name: string): Promise<Message[]> {
    const queries = TYPES.map((type) => this.#query(name, type));
    const connect = this.#way.isOverTcp === true ? TcpClient : UdpClient;
    const client = await connect.connect(this.#nextPort());
    try {
      for (const query of queries) client.send(query);
      const answers = new Map<Buffer, Message>();
      while (answers.size < queries.length) {
        const reply = await client.inbox.next(LIMIT_MS);
        const query = queries.find((each) => !answers.has(each) && this.#isAnswer(each, reply));
        if (query !== undefined) answers.set(query, await this.#whole(query, reply));
      }
      return queries.map((query) => answers.get(query)!);
    } finally {
      await client.close();
    }
  }

  async #ask(name: string, type: string): Promise<Message> {
    const port = this.#nextPort();
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const query = this.#query(name, type);
      const connect = this.#way.isOverTcp === true ? TcpClient : UdpClient;
      const client = await connect.connect(port);
      try {
        client.send(query);
        for (;;) {
          const reply = await client.inbox.next(LIMIT_MS);
          if (this.#cookies?.judge(query, reply) === 'again') break;
          if (this.#isAnswer(query, reply)) return await this.#whole(query, reply);
        }
      } finally {
        await client.close();
      }
    }
    throw new Error(`${name} has no answer after ${MAX_TRIES} tries`);
  }

  /** A truncated answer is asked for over TCP. */
  async #whole(query: Buffer, reply: Buffer): Promise<Message> {
    const answer = decodeMessage(reply);
    if (!answer.isTruncated || this.#way.isOverTcp === true) return answer;
    const client = await TcpClient.connect(this.#ports[this.#asked % this.#ports.length]!);
    try {
      const whole = await client.ask(query, LIMIT_MS);
      if (!this.#isAnswer(query, whole)) throw new Error('what came over TCP is no answer');
      return decodeMessage(whole);
    } finally {
      await client.close();
    }
  }

  #isAnswer(query: Buffer, reply: Buffer): boolean {
    const end = questionEnd(query);
    const isResponse = reply.length >= end && (reply[2]! & 0x80) !== 0;
    if (!isResponse || reply.readUInt16BE(0) !== query.readUInt16BE(0)) return false;
    const asked = query.subarray(12, end);
    const echoed = reply.subarray(12, end);
    const isSame = this.#way.mixesCase === true ? asked.equals(echoed) : equalText(asked, echoed);
    const answer = decodeMessage(reply);
    if (!isSame || !ANSWERS.has(answer.rcode)) return false;
    if (this.#cookies !== undefined && this.#cookies.judge(query, reply) !== 'taken') return false;
    return this.#way.takes?.(answer) ?? true;
  }

  #query(name: string, type: string): Buffer {
    const { flags = 0, ednsBytes, isDnssecOk = false, mixesCase = false } = this.#way;
    const query = encodeQuery({
      name: mixesCase ? randomCase(name) : name,
      type,
      id: Math.floor(Math.random() * 0x1_0000),
      isDnssecOk,
      ...(ednsBytes !== undefined && { ednsBytes }),
      ...(this.#cookies !== undefined && {
        options: [COOKIE + this.#cookies.next().toString('hex')],
      }),
    });
    query.writeUInt16BE(query.readUInt16BE(2) | flags, 2);
    return query;
  }

  #nextPort(): number {
    return this.#ports[this.#asked++ % this.#ports.length]!;
  }
}

function hasOpt({ additionals }: Message): boolean {
  return additionals.some(({ type }) => type === 'OPT');
}

function isNotLame({ rcode, flags, answers, additionals }: Message): boolean {
  const isAnswered = answers.length > 0 || additionals.some(({ type }) => type !== 'OPT');
  return rcode !== 'NOERROR' || isAnswered || (flags & (RA | AA)) !== 0;
}

function equalText(one: Buffer, other: Buffer): boolean {
  return one.toString('latin1').toLowerCase() === other.toString('latin1').toLowerCase();
}

function randomCase(name: string): string {
  return name.replace(/[a-z]/g, (letter) => (Math.random() < 0.5 ? letter.toUpperCase() : letter));
}
