import { readAddresses, isReplyTo } from '@kube-dns/transport/internal';
import {
  parseStatistic,
  parseSubscriptions,
  QueryError,
  readReply,
  STATISTICS,
} from '@kube-dns/sidecar/internal';
import {
  AnswerFacts,
  CONTROL,
  controlFrame,
  ControlFrameReader,
  JsonLines,
  LineWriter,
  MAX_LINE_BYTES,
  ObservedAnswer,
  putTextLine,
} from '@kube-dns/telemetry/internal';
import { frameMessage, FrameReader, ServerCookies } from '@kube-dns/transport';
import {
  changedTlv,
  copyQuery,
  DSO_TYPE,
  type DsoTlv,
  encodeKey,
  encodeQuery,
  encodeRefusal,
  HEADER_BYTES,
  isDso,
  MAX_MESSAGE_BYTES,
  Query,
  RCODE,
  readChanged,
  readDso,
  readSerialTlv,
  readSubscribed,
  relayTargetOf,
  ROOT_NAME,
  SAFE_UDP_BYTES,
  serialTlv,
  subscribedTlv,
  WireError,
  writeDso,
} from '@kube-dns/wire';
import { cookieQuery, queriesFor, replySeeds, responseTo } from '../dns-seeds.js';
import { type CreateTarget, type FuzzTarget, packetTarget, textAllowance } from '../fuzz-target.js';
import { BYTE_MUTATIONS } from '../mutations.js';

const CLIENT: Parameters<ServerCookies['judge']>[1] = {
  address: '192.0.2.1',
  port: 40_000,
  copyAddress: (to, at) => {
    to.set([192, 0, 2, 1], at);
    return 4;
  },
  answersFrom: () => undefined,
  defer: () => {
    throw new Error('no answer is deferred here');
  },
};

const MAX_STREAM_BYTES = 4_096;

const DSO_NAMES = ['web.default.svc.cluster.local', '4.3.2.10.in-addr.arpa', 'cluster.local'].map(
  encodeKey,
);
/** The smallest parts of a message become objects that are many times larger. */
const MANY = 1_000;
const SUBSCRIBED = subscribedTlv({
  instance: new Uint8Array(8).fill(7),
  serial: 2 ** 40,
  apex: DSO_NAMES[2]!,
});
const CHANGED = [
  changedTlv({ before: 1, after: 2, names: DSO_NAMES }),
  changedTlv({ before: 2 ** 40, after: 2 ** 40 + 1, names: [DSO_NAMES[0]!] }),
  changedTlv({ before: 0, after: 1, names: [] }),
];
const SERIALS = [DSO_TYPE.FLUSH, DSO_TYPE.HEARTBEAT].map((type) => serialTlv(type, 2 ** 33));

/** A line of the query log. */
const PRINTABLE = /^[\x20-\x7e]+\n$/;
/** Both lines as text, and what JSON makes of one. */
const LINES_ALLOWANCE = 64 * 1024;

/** Messages and streams of them, read by one parser each. */
export const ROWS = {
  /** What every listener does first with what comes over UDP and over TCP. */
  query: () => {
    const query = new Query();
    const cookies = new ServerCookies();
    return packetTarget({
      seeds: [
        cookieQuery(),
        ...queriesFor('a.example.com', 'A'),
        ...queriesFor('version.bind', 'TXT', 'CH'),
      ],
      tokens: [],
      maxBytes: 2_048,
      run: (input) => {
        query.read(input, input.length, true, MAX_MESSAGE_BYTES);
        if (query.cookieAt > 0) cookies.judge(query, CLIENT);
        if (query.read(input, input.length, false, SAFE_UDP_BYTES) !== 'answer') return false;
        const refusal = encodeRefusal(relayTargetOf(copyQuery(query)), RCODE.REFUSED);
        if (refusal.length > query.maxAnswerBytes) throw new Error('a refusal does not fit');
        return true;
      },
    });
  },

  /** A TCP stream, of which each message is read as a query. */
  'tcp-frames': () => {
    const query = new Query();
    const frames = [...queriesFor('a.example.com', 'A'), ...queriesFor('b', 'SRV')].map((message) =>
      frameMessage(message),
    );
    const longest = frameMessage(Buffer.alloc(MAX_STREAM_BYTES - 10, 1));
    return streamTarget({
      bodies: [...frames, Buffer.concat(frames), longest],
      chunks: [0, 1, 2, 3, 7, 100, 255],
      tokens: [...frames, '\0\0', '\xff\xff'],
      maxBytes: MAX_STREAM_BYTES,
      createReader: () => {
        const reader = new FrameReader();
        return (piece) => {
          reader.push(piece);
          let isAccepted = false;
          for (let message = reader.next(); message !== undefined; message = reader.next()) {
            const verdict = query.read(message, message.length, true, SAFE_UDP_BYTES);
            isAccepted ||= verdict === 'answer';
          }
          return { isAccepted };
        };
      },
    });
  },

  /** What a reader of dnstap sends back. */
  'dnstap-reader': () => {
    const frames = Object.values(CONTROL).map((control) => Buffer.from(controlFrame(control)));
    return streamTarget({
      bodies: [...frames, Buffer.concat(frames)],
      chunks: [0, 1, 3, 7, 100],
      tokens: [...frames, '\0\0\0\0', '\0\0\x02\0'],
      maxBytes: 2_048,
      createReader: () => {
        const reader = new ControlFrameReader();
        return (piece) => {
          reader.push(piece);
          let isAccepted = false;
          for (let next = reader.next(); next !== 'unfinished'; next = reader.next()) {
            // Nothing is read after it.
            if (next === 'malformed') return { isAccepted, isOver: true };
            isAccepted ||= next === CONTROL.ACCEPT;
          }
          return { isAccepted };
        };
      },
    });
  },

  /** Messages of DNS Stateful Operations, as both ends of a subscription read them. */
  'dso-messages': () => {
    const messageOf = (id: number, ...tlvs: readonly DsoTlv[]) =>
      Buffer.from(writeDso({ id, isResponse: id === 2, rcode: RCODE.NOERROR, tlvs }));
    const subscribe = { type: DSO_TYPE.SUBSCRIBE, data: DSO_NAMES[2]! };
    const keepalive = { type: DSO_TYPE.KEEPALIVE, data: new Uint8Array(8) };
    const seeds = [
      messageOf(1, subscribe),
      messageOf(2, SUBSCRIBED),
      messageOf(1, keepalive, subscribe),
      ...[...CHANGED, ...SERIALS].map((tlv) => messageOf(0, tlv)),
      messageOf(1, ...Array.from({ length: MANY }, () => ({ type: 0, data: new Uint8Array(0) }))),
    ];
    return dsoTarget(seeds, (bytes) => {
      if (!isDso(bytes)) return undefined;
      const message = readDso(bytes);
      if (message !== undefined && writeDso(message).length !== bytes.length) {
        throw new Error('a message has another length when it is written again');
      }
      return message;
    });
  },

  'dso-subscribed': () => dsoTarget(dataOf([SUBSCRIBED]), readSubscribed),

  'dso-changed': () => {
    const names = Array.from({ length: MANY }, () => ROOT_NAME);
    const many = changedTlv({ before: 0, after: 1, names });
    return dsoTarget(dataOf([...CHANGED, many]), (data) => {
      const changed = readChanged(data);
      if (changed !== undefined && changedTlv(changed).data.length !== data.length) {
        throw new Error('names have another length when they are written again');
      }
      return changed;
    });
  },

  'dso-serial': () => dsoTarget(dataOf(SERIALS), readSerialTlv),

  /** Replies to the question for the addresses of a server that is given by name, in both families. */
  'host-replies': () =>
    packetTarget({
      seeds: replySeeds('ok'),
      tokens: ['\xc0\x0c'],
      maxBytes: 4_096,
      run: (input) => {
        const found = [readAddresses(input, 'A'), readAddresses(input, 'AAAA')];
        return found.some(({ failure }) => failure === '');
      },
    }),

  /** Replies to the sidecar's probes and to its questions for dnsmasq's statistics. */
  'sidecar-replies': () => {
    const query = encodeQuery({ id: 0x1234, name: 'n0.ok', type: 'A' });
    return packetTarget({
      seeds: [
        ...replySeeds('ok'),
        ...queriesFor('hits.bind', 'TXT', 'CH'),
        ...['0', '12345', '-1', 'x'].map((data) =>
          responseTo('hits.bind', 'TXT', [{ owner: 'hits.bind', type: 'TXT', data }]),
        ),
      ],
      tokens: ['\xc0\x0c', '\x0599999'],
      maxBytes: 4_096,
      run: (input) => {
        isReplyTo(query, input);
        try {
          const message = readReply(input);
          parseSubscriptions(message);
          for (const statistic of STATISTICS) parseStatistic(statistic, message);
          return true;
        } catch (error) {
          if (error instanceof WireError || error instanceof QueryError) return false;
          throw error;
        }
      },
    });
  },

  /** The lines of the query log for any query; its answer has the same bytes, so that it is any message, too. */
  'query-log-lines': () => {
    const answer = new ObservedAnswer();
    const facts = new AnswerFacts();
    const line = new LineWriter();
    const json = new JsonLines();
    const bytes = new Uint8Array(MAX_LINE_BYTES);
    const lineOf = (put: () => void): string => {
      line.start(bytes, 0);
      put();
      const text = Buffer.from(bytes.subarray(0, line.at)).toString('latin1');
      if (line.at > bytes.length || !PRINTABLE.test(text)) throw new Error(`not a line: ${text}`);
      return text;
    };
    return packetTarget({
      seeds: [
        ...queriesFor('a.example.com', 'A'),
        ...queriesFor('a\\"\\\\\\000\\255.example.com', 'TXT'),
        ...queriesFor('version.bind', 'TXT', 'CH'),
      ],
      tokens: ['\0\x0f\0\x02\0\x16', '"\\\n', '\0\0\x29'],
      maxBytes: 2_048,
      allowance: () => LINES_ALLOWANCE,
      run: (input) => {
        const verdict = answer.query.read(input, input.length, false, SAFE_UDP_BYTES);
        answer.addressBytes = 16;
        answer.message = input;
        answer.length = input.length;
        if (verdict !== 'answer' || input.length < HEADER_BYTES) return false;
        facts.read(input, input.length);
        lineOf(() => putTextLine(line, answer, facts));
        const { qname } = JSON.parse(lineOf(() => json.put(line, answer, facts, 0))) as {
          qname: unknown;
        };
        if (typeof qname !== 'string') throw new Error('a line has no name');
        return true;
      },
    });
  },
} satisfies Readonly<Record<string, CreateTarget>>;

interface StreamTarget {
  readonly bodies: readonly Buffer[];
  /** How many bytes come at a time, 0 for all of them. */
  readonly chunks: readonly number[];
  readonly tokens: readonly (string | Uint8Array)[];
  readonly maxBytes: number;
  /** Begins a stream; what is returned takes its next piece. */
  readonly createReader: () => (piece: Buffer) => { isAccepted: boolean; isOver?: boolean };
}

/** A stream, cut into pieces whose size is its first byte, and read to its end. */
function streamTarget(row: StreamTarget): FuzzTarget {
  const { bodies, chunks, tokens, maxBytes, createReader } = row;
  return packetTarget({
    seeds: bodies.flatMap((body) => chunks.map((size) => Buffer.from([size, ...body]))),
    tokens,
    maxBytes,
    // Of a stream that comes byte by byte each byte is a chunk, which has its views.
    allowance: textAllowance,
    run: (input) => {
      const read = createReader();
      const stream = input.subarray(1);
      const [first = 0] = input;
      const size = first === 0 ? stream.length : first;
      let isAnyAccepted = false;
      for (let at = 0; at < stream.length; at += size) {
        const { isAccepted, isOver = false } = read(stream.subarray(at, at + size));
        isAnyAccepted ||= isAccepted;
        if (isOver) break;
      }
      return isAnyAccepted;
    },
  });
}

function dataOf(tlvs: readonly DsoTlv[]): Buffer[] {
  return tlvs.map(({ data }) => Buffer.from(data));
}

/** A reader of DSO that returns undefined for what is malformed. */
function dsoTarget(seeds: readonly Buffer[], read: (bytes: Uint8Array) => unknown): FuzzTarget {
  return packetTarget({
    seeds,
    tokens: [...DSO_NAMES, '\0\0\0\0', '\xf8\x01'],
    mutations: BYTE_MUTATIONS,
    maxBytes: 4_096,
    run: (input) => read(input) !== undefined,
  });
}
