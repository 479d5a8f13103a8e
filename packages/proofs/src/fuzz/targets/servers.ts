import { parseFlags } from '@kube-dns/base';
import type { Log } from '@kube-dns/daemon';
import {
  DnsmasqServer,
  NotifyAnswerer,
  parseNotifyRule,
  parseOptions,
  PROGRAM as DNSMASQ,
} from '@kube-dns/dnsmasq/internal';
import {
  type ClusterZone,
  composeAnswerer,
  type LocalNames,
  NotifyMessages,
  PROGRAM as KUBEDNS,
  QueryStatistics,
  UpstreamStatistics,
} from '@kube-dns/kubedns/internal';
import {
  type UdpEngine,
  listen,
  QueryForwarder,
  retryPlan,
  ServerGroup,
  UpstreamServers,
  UpstreamSockets,
} from '@kube-dns/transport';
import {
  MAX_MESSAGE_BYTES,
  CLASS,
  encodeKey,
  encodeRdata,
  FLAG,
  HEADER_BYTES,
  OPCODE_NOTIFY,
  parseTsigKey,
  Query,
  QUESTION_FIXED_BYTES,
  QUESTION_OFFSET,
  RCODE,
  RCODE_MASK,
  readUint16,
  RecordCursor,
  SAFE_UDP_BYTES,
  signMessage,
  skipName,
  writeNotify,
  writeUint16,
} from '@kube-dns/wire';
import { queriesFor, replySeeds, withAdditional } from '../dns-seeds.js';
import { type CreateTarget, type FuzzTarget, packetTarget } from '../fuzz-target.js';
import { smallZone } from './api.js';

type Socket = ReturnType<UdpEngine['createSocket']>;
type Handler = Parameters<Socket['open']>[2];
type PortOwner = Parameters<UdpEngine['openUpstreamPort']>[1];

/** A query that was sent to an upstream server, and the owner of its port. */
interface SentUpstream {
  readonly query: Buffer;
  readonly owner: PortOwner;
  readonly from: { readonly address: string; readonly port: number };
}

const CLIENT = { address: '127.0.0.1', port: 40_000 };
const CLIENT_ADDRESS = Uint8Array.of(127, 0, 0, 1);

/** Moves datagrams within the process: everything of a listener and of upstream sockets except the system. */
class MemoryEngine implements UdpEngine {
  readonly name = 'dgram';
  readonly batch = 0;
  /** What the server asked its upstreams and was not taken yet. */
  readonly sent: SentUpstream[] = [];
  /** The answers of the last `deliver`, copied. */
  readonly answers: Buffer[] = [];
  #handler: Handler | undefined;

  createSocket(): Socket {
    return {
      port: 0,
      overloads: [],
      out: new Uint8Array(MAX_MESSAGE_BYTES),
      open: (_address, _port, onDatagram) => {
        this.#handler = onDatagram;
        return Promise.resolve();
      },
      leavePort: () => undefined,
      send: (bytes, length) => void this.answers.push(Buffer.from(bytes.subarray(0, length))),
      copyAddress: (_peer, to, at) => {
        to.set(CLIENT_ADDRESS, at);
        return CLIENT_ADDRESS.length;
      },
      retain: (peer) => peer,
      release: () => undefined,
      close: () => Promise.resolve(),
    };
  }

  readonly openUpstreamPort: UdpEngine['openUpstreamPort'] = (_options, owner) => ({
    send: (query, server) => {
      this.sent.push({ query: Buffer.from(query), owner, from: server });
    },
    close: () => undefined,
  });

  createTcpServer(): ReturnType<UdpEngine['createTcpServer']> {
    return {
      open: () => Promise.resolve(),
      stopAccepting: () => undefined,
      close: () => Promise.resolve(),
    };
  }

  sendTogether(work: () => void): void {
    work();
  }

  /** A datagram comes from a client. */
  deliver(message: Buffer): void {
    this.answers.length = 0;
    this.#handler?.(message, message.length, CLIENT);
  }
}

const UPSTREAM = { address: '192.0.2.53', port: 53 };

/** Every kind of rule that looks at names, records or options of what comes. */
const DNSMASQ_OPTIONS = [
  ...['--no-resolv', '--no-hosts', '--listen-address=127.0.0.1', `--server=${UPSTREAM.address}`],
  ...['--cache-size=1000', '--cache-rr=ANY', '--neg-ttl=9', '--max-ttl=3600'],
  ...['--stop-dns-rebind', '--rebind-domain-ok=/ok/', '--rebind-localhost-ok'],
  ...['--bogus-nxdomain=192.0.2.66', '--ignore-address=192.0.2.77'],
  ...['--alias=198.51.100.1,10.9.9.9', '--filter-rr=NAPTR', '--cname=alias.x,host.x'],
  ...['--host-record=host.x,10.1.1.1,fd00::1', '--txt-record=txt.x,one,two'],
  ...['--srv-host=_s._udp.x,host.x,53', '--mx-host=x,host.x,5'],
  ...['--ptr-record=1.1.1.10.in-addr.arpa,host.x', '--local=/local/', '--address=/block/0.0.0.0'],
  ...['--synth-domain=synth.x,10.2.0.0/24,ip-', '--bogus-priv', '--domain-needed'],
];
/** The same with what writes texts of the packets, and changes their EDNS options. */
const TALKATIVE = [
  ...['--log-queries=extra', '--add-subnet=24,56', '--add-mac', '--proxy-dnssec'],
  ...['--use-stale-cache=60', '--filter-A', '--umbrella', '--dns64'],
];
const DNSMASQ_NAMES = [
  ...['a.example.com', 'host.x', 'alias.x', 'txt.x', 'x', '_s._udp.x', 'n.local', 'n.block'],
  ...['ip-10-2-0-7.synth.x', '1.1.1.10.in-addr.arpa', '7.0.2.10.in-addr.arpa', 'plain', 'n.ok'],
];
const DNSMASQ_TYPES = ['A', 'AAAA', 'TXT', 'SRV', 'MX', 'PTR', 'ANY', 'CNAME'];
/** This many names are asked for in turn: a cached reply would answer the same question again. */
export const NAMES_IN_TURN = 5_000;

const KUBEDNS_QUESTIONS = [
  ['web.default.svc.cluster.local', 'A'],
  ['web.default.svc.cluster.local', 'AAAA'],
  ['_http._tcp.web.default.svc.cluster.local', 'SRV'],
  ['db.default.svc.cluster.local', 'A'],
  ['db-0.db.default.svc.cluster.local', 'A'],
  ['_dns._udp.db.default.svc.cluster.local', 'SRV'],
  ['*.db.default.svc.cluster.local', 'SRV'],
  ['any.any.db.default.svc.cluster.local', 'SRV'],
  ['out.default.svc.cluster.local', 'A'],
  ['loop.default.svc.cluster.local', 'A'],
  ['inside.default.svc.cluster.local', 'ANY'],
  ['10-1-0-1.default.pod.cluster.local', 'A'],
  ['1.0.1.10.in-addr.arpa', 'PTR'],
  ['1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa', 'PTR'],
  ['dns-version.cluster.local', 'TXT'],
  ['cluster.local', 'SOA'],
  ['n.example.com', 'A'],
] as const;
/** A name that is forwarded, and one that is a CNAME of a name outside the cluster. */
const FORWARDED = ['n0.ok', 'out.default.svc.cluster.local'].flatMap((name) =>
  ['A', 'SRV', 'MX', 'ANY', 'CNAME', 'TXT'].flatMap((type) => queriesFor(name, type).slice(0, 2)),
);

const NOTIFY_KEY = parseTsigKey(
  'key "k" { algorithm hmac-sha256; secret "AAECAwQFBgcICQoLDA0ODw=="; };',
);
const NOW_SECONDS = 1_700_000_000;
const APEX = encodeKey('cluster.local');
const SOA_RDATA = encodeRdata({
  type: 'SOA',
  name: '.',
  data: {
    mname: 'ns.dns.cluster.local',
    rname: 'hostmaster.cluster.local',
    serial: 1,
    refresh: 7_200,
    retry: 1_800,
    expire: 86_400,
    minimum: 60,
  },
});
const OPT = Buffer.from([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
/** More NOTIFY messages than the limit allows in this time would have no answer. */
const NOTIFY_STEP_MS = 20;
const NOTIFY_CLIENT = {
  address: '127.0.0.1',
  port: 53,
  answersFrom: () => undefined,
  defer: (): never => {
    throw new Error('a NOTIFY is answered later');
  },
};

/** Packets to whole servers without sockets. */
export const ROWS = {
  /** Queries over UDP to dnsmasq, with and without its log; upstream answers with no records. */
  'dnsmasq-queries': async () =>
    queryTarget({
      servers: [await startDnsmasq(), await startDnsmasq(TALKATIVE)],
      seeds: [
        ...DNSMASQ_NAMES.flatMap((name, i) =>
          queriesFor(name, DNSMASQ_TYPES[i % DNSMASQ_TYPES.length]!),
        ),
        ...queriesFor('cachesize.bind', 'TXT', 'CH'),
        ...queriesFor('servers.bind', 'TXT', 'CH'),
      ],
      tokens: [
        '\x01x\0',
        '\x04host',
        '\x05alias',
        '\x07in-addr\x04arpa\0',
        '\x05local\0',
        '\x02ok\0',
      ],
    }),

  /**
   * Replies of an upstream server to dnsmasq: each is what comes to a question of a client, with
   * its ID and question, which only the server that was asked knows.
   */
  'dnsmasq-replies': async () => {
    const [plain, withEdns] = queriesFor('n00000.ok', 'A');
    let count = 0;
    return replyTarget({
      servers: [await startDnsmasq(), await startDnsmasq(TALKATIVE)],
      queryFor: (input) => {
        const query = (input.length & 2) === 0 ? plain! : withEdns!;
        count = (count + 1) % NAMES_IN_TURN;
        query.write(String(count).padStart(5, '0'), QUESTION_OFFSET + 2, 'latin1');
        copyType(input, query);
        return query;
      },
      waitsForBetter: true,
      isAccepted: (_answer, isOfInput) => isOfInput,
    });
  },

  /** Queries over UDP to kubedns with a small cluster. */
  'kubedns-queries': async () =>
    queryTarget({
      servers: [await startKubedns()],
      seeds: [
        ...KUBEDNS_QUESTIONS.flatMap(([name, type]) => queriesFor(name, type)),
        ...queriesFor('version.bind', 'TXT', 'CH'),
      ],
      tokens: [
        ...['\x01*', '\x03any', '\x03svc', '\x03pod', '\x07default', '\x03web', '\x02db'],
        ...['\x05_http', '\x04_tcp', '\x07cluster\x05local\0', '\x07in-addr\x04arpa\0'],
        '\x03ip6\x04arpa\0',
      ],
    }),

  /** Replies of an upstream server to kubedns, to a forwarded question and to the end of a CNAME chain. */
  'kubedns-replies': async () =>
    replyTarget({
      servers: [await startKubedns()],
      queryFor: ({ length }) => FORWARDED[length % FORWARDED.length]!,
      waitsForBetter: false,
      isAccepted: (answer) => hasNoError(answer),
    }),

  /** NOTIFY messages with and without TSIG: at dnsmasq without a key and with one, and as replies at kubedns. */
  notify: () => {
    const out = Buffer.alloc(MAX_MESSAGE_BYTES);
    let nowMs = 0;
    const wallNow = () => NOW_SECONDS * 1_000;
    const options = {
      rules: [parseNotifyRule('/cluster.local/127.0.0.0/8')],
      drop: (name: Uint8Array, zone: Uint8Array) => {
        if (name.length < zone.length) throw new Error('a name above the zone is dropped');
      },
      now: () => nowMs,
      wallNow,
    };
    const answerers = [undefined, NOTIFY_KEY].map((key) => new NotifyAnswerer({ ...options, key }));
    const query = new Query();
    const zone = { apex: APEX, soaRdata: SOA_RDATA };
    const sent = new NotifyMessages(zone, 30, NOTIFY_KEY, wallNow).write(APEX);
    return packetTarget({
      seeds: notifySeeds(),
      tokens: ['\x01k\0', '\x0bhmac-sha256\0', '\0\xfa\0\xff', 'cluster'],
      maxBytes: 2_048,
      run: (input) => {
        nowMs += NOTIFY_STEP_MS;
        let isAccepted = sent.isReply(input);
        if (query.read(input, input.length, false, SAFE_UDP_BYTES) !== 'notimp') return isAccepted;
        if ((query.flags & ~(FLAG.AA | FLAG.RD)) !== OPCODE_NOTIFY) return isAccepted;
        if (query.readBody() !== 'answer') return isAccepted;
        for (const answerer of answerers) {
          const length = answerer.answer(query, out, NOTIFY_CLIENT);
          checkAnswer(out.subarray(0, length), query.id);
          isAccepted ||= (readUint16(out, 2) & RCODE_MASK) === 0;
        }
        return isAccepted;
      },
    });
  },
} satisfies Readonly<Record<string, CreateTarget>>;

/** A whole server without sockets, which answers each query immediately. */
export interface ServerUnderTest {
  readonly engine: MemoryEngine;
  /** Throws what the answerer has thrown since the last call. */
  readonly check: () => void;
  readonly close: () => Promise<void>;
}

/** dnsmasq with an upstream server, and these options besides. */
export async function startDnsmasq(more: readonly string[] = []): Promise<ServerUnderTest> {
  const engine = new MemoryEngine();
  let failure: string | undefined;
  // Its other lines are made, and thrown away.
  const log: Log = {
    info: () => undefined,
    warn: () => undefined,
    error: (message) => {
      if (message.startsWith('answering: ')) failure ??= message;
    },
    verbose: () => undefined,
    isEnabled: () => true,
  };
  const options = parseOptions([...DNSMASQ_OPTIONS, ...more]);
  const { values } = parseFlags(DNSMASQ, ['--configDir=/nonexistent/kube-dns']);
  const server = new DnsmasqServer(values, options, engine, log);
  await server.start();
  return {
    engine,
    check: () => {
      const logged = failure;
      failure = undefined;
      if (logged !== undefined) throw new Error(logged);
    },
    close: () => server.close(),
  };
}

interface KubednsUnderTest {
  readonly flags?: readonly string[];
  /** A small cluster unless given. */
  readonly zone?: ClusterZone;
  readonly localNames?: LocalNames | undefined;
}

/** kubedns without the API. */
export async function startKubedns(given: KubednsUnderTest = {}): Promise<ServerUnderTest> {
  const { flags = [], zone = smallZone(), localNames } = given;
  const engine = new MemoryEngine();
  const sockets = new UpstreamSockets({ engine });
  const servers = new UpstreamServers(sockets, new UpstreamStatistics());
  const group = new ServerGroup('.', [servers.at(UPSTREAM)], 'strict');
  const forwarder = new QueryForwarder({
    maxInFlight: 10,
    plan: retryPlan(1_000),
    maxUdpBytes: SAFE_UDP_BYTES,
    unsentRcode: RCODE.SERVFAIL,
  });
  const answerer = composeAnswerer({
    flags: parseFlags(KUBEDNS, flags).values,
    version: 'dev',
    zone,
    localNames,
    forwarder,
    upstreams: { groupFor: () => group },
    federations: { isActive: false, find: () => undefined, locality: undefined },
    statistics: new QueryStatistics(),
    isSynced: () => true,
  });
  let failure: unknown;
  const listener = await listen({
    answerer,
    engine,
    address: '127.0.0.1',
    port: 0,
    onFailure: (error) => (failure = error),
  });
  return {
    engine,
    check: () => {
      const thrown = failure;
      failure = undefined;
      if (thrown !== undefined) throw thrown as Error;
    },
    close: async () => {
      await listener.close();
      forwarder.close();
      sockets.close();
    },
  };
}

interface QueryTarget {
  /** The length of an input decides which of them gets it. */
  readonly servers: readonly ServerUnderTest[];
  readonly seeds: readonly Buffer[];
  readonly tokens: readonly string[];
  /** Throws where an answer is wrong. */
  readonly judge?: (input: Buffer, answer: Buffer) => void;
}

/** Queries to servers whose upstream has nothing to say. */
export function queryTarget({ servers, seeds, tokens, judge }: QueryTarget): FuzzTarget {
  return packetTarget({
    seeds,
    tokens,
    maxBytes: 2_048,
    run: (input) => {
      const { engine, check } = servers[input.length % servers.length]!;
      engine.deliver(input);
      for (let sent = engine.sent.pop(); sent; sent = engine.sent.pop()) {
        sent.owner.onDatagram(plainReply(sent), sent.from);
      }
      check();
      for (const answer of engine.answers) {
        checkAnswer(answer, readUint16(input, 0));
        judge?.(input, answer);
      }
      return engine.answers.some(hasNoError);
    },
    close: () => closeAll(servers),
  });
}

interface ReplyTarget {
  /** The length of an input decides which of them gets it. */
  readonly servers: readonly ServerUnderTest[];
  /** The question of a client that the input is the reply to. */
  readonly queryFor: (input: Buffer) => Buffer;
  /** Whether a reply that is none of the question is ignored; then a plain one follows it. */
  readonly waitsForBetter: boolean;
  /** Judges the answer; `isOfInput` when it came with the input, before a plain reply. */
  readonly isAccepted: (answer: Buffer, isOfInput: boolean) => boolean;
}

/** Replies to the questions that servers ask their upstream. */
function replyTarget(row: ReplyTarget): FuzzTarget {
  const { servers, queryFor, waitsForBetter, isAccepted } = row;
  return packetTarget({
    seeds: replySeeds('ok'),
    tokens: ['\x02ok\0', '\xc0\x0c', '\xc0\x00'],
    maxBytes: 4_096,
    run: (input) => {
      const { engine, check } = servers[input.length % servers.length]!;
      const query = queryFor(input);
      engine.deliver(query);
      const answers = [...engine.answers];
      let isOfInput = false;
      // A server that may not know EDNS is asked again without it.
      for (let sent = engine.sent.pop(); sent; sent = engine.sent.pop()) {
        engine.answers.length = 0;
        // As it came first, with an ID that no question has; then with what only the server knows.
        sent.owner.onDatagram(strangeReply(sent.query, input), sent.from);
        sent.owner.onDatagram(replyWith(sent.query, input), sent.from);
        isOfInput = engine.answers.length > 0;
        if (waitsForBetter && !isOfInput) sent.owner.onDatagram(plainReply(sent), sent.from);
        answers.push(...engine.answers);
      }
      check();
      if (answers.length !== 1) throw new Error(`${answers.length} answers to one question`);
      for (const answer of answers) checkAnswer(answer, readUint16(query, 0));
      return isAccepted(answers[0]!, isOfInput);
    },
    close: () => closeAll(servers),
  });
}

async function closeAll(servers: readonly ServerUnderTest[]): Promise<void> {
  for (const server of servers) await server.close();
}

/** Throws when an answer is none: too short, of another question, or not to be read to its end. */
export function checkAnswer(answer: Uint8Array, id: number): void {
  if (answer.length < HEADER_BYTES) throw new Error('an answer is shorter than a header');
  if (answer.length > MAX_MESSAGE_BYTES)
    throw new Error('an answer is larger than the client takes');
  if (readUint16(answer, 0) !== id) throw new Error('an answer has another ID');
  if ((readUint16(answer, 2) & FLAG.QR) === 0) throw new Error('an answer is no response');
  const cursor = new RecordCursor().reset(answer, answer.length);
  while (cursor.next()) {
    // Walking is the check.
  }
  if (cursor.isMalformed()) throw new Error('an answer is malformed');
  if (cursor.end !== answer.length) throw new Error('an answer has bytes after its records');
}

export function hasNoError(answer: Uint8Array): boolean {
  return (answer[3]! & RCODE_MASK) === 0;
}

/**
 * A reply that matches a query: its ID and question, and the bytes after the question from
 * `body`, a whole message. It is never cut, as what follows then is a TCP connection.
 */
export function replyWith(query: Buffer, body: Buffer): Buffer {
  const questionEnd = endOfQuestion(query);
  const bodyEnd = endOfQuestion(body);
  const rest = bodyEnd < 0 ? body.subarray(QUESTION_OFFSET) : body.subarray(bodyEnd);
  const reply = Buffer.concat([query.subarray(0, questionEnd), rest]);
  if (body.length >= QUESTION_OFFSET) body.copy(reply, 6, 6, QUESTION_OFFSET);
  const flags = body.length >= QUESTION_OFFSET ? readUint16(body, 2) : 0;
  writeUint16(reply, 2, (flags | FLAG.QR) & ~FLAG.TC);
  writeUint16(reply, 4, 1);
  return reply;
}

/**
 * A copy of `body` as it came, which is no reply to the query: its ID is another one. It is no response either: one with
 * a wrong ID makes the question go over TCP.
 */
function strangeReply(query: Buffer, body: Buffer): Buffer {
  const reply = Buffer.from(body);
  // By chance it is the same, once in 65,536 queries.
  if (reply.length >= 2 && readUint16(reply, 0) === readUint16(query, 0)) reply[0]! ^= 0xff;
  if (reply.length > 2) reply[2]! &= ~(FLAG.QR >> 8);
  return reply;
}

/** A plain reply: no error and no records. */
export function plainReply({ query }: SentUpstream): Buffer {
  const reply = Buffer.from(query.subarray(0, endOfQuestion(query)));
  writeUint16(reply, 2, FLAG.QR | FLAG.RA);
  reply.fill(0, 6, QUESTION_OFFSET);
  return reply;
}

export function endOfQuestion(message: Buffer): number {
  const end = skipName(message, QUESTION_OFFSET, message.length);
  return end < 0 || end + QUESTION_FIXED_BYTES > message.length ? -1 : end + QUESTION_FIXED_BYTES;
}

/** The question takes its type from the reply, so that the reply's records match it. */
function copyType(reply: Buffer, query: Buffer): void {
  const replyEnd = skipName(reply, QUESTION_OFFSET, reply.length);
  if (replyEnd < 0 || replyEnd + 2 > reply.length) return;
  const queryEnd = skipName(query, QUESTION_OFFSET, query.length);
  reply.copy(query, queryEnd, replyEnd, replyEnd + 2);
  query.writeUInt16BE(CLASS.IN, queryEnd + 2);
}

function notifySeeds(): Buffer[] {
  const names = ['cluster.local', 'web.default.svc.cluster.local'].map(encodeKey);
  const plain = names.map((name) =>
    Buffer.from(writeNotify({ id: 1, name, apex: APEX, soaRdata: SOA_RDATA, ttlSeconds: 30 })),
  );
  const unsigned = [...plain, ...plain.map((message) => withAdditional(message, OPT))];
  const reply = Buffer.from(plain[0]!);
  writeUint16(reply, 2, FLAG.QR | FLAG.AA | OPCODE_NOTIFY);
  return [...unsigned, ...[...unsigned, reply].map(signed)];
}

function signed(message: Buffer): Buffer {
  const out = Buffer.alloc(1_000);
  message.copy(out);
  const options = { timeSeconds: NOW_SECONDS };
  return out.subarray(0, signMessage(out, message.length, NOTIFY_KEY, options));
}
