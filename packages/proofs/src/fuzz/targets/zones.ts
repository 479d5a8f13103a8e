import { ClientNetworks } from '@kube-dns/base';
import { ClusterZones, Transfer, Transfers } from '@kube-dns/kubedns/internal';
import {
  copyQuery,
  encodeQuery,
  FLAG,
  MAX_MESSAGE_BYTES,
  parseTsigKey,
  Query,
  QUESTION_OFFSET,
  RecordCursor,
  SAFE_UDP_BYTES,
  SECTION,
  signMessage,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';
import { queriesFor, replySeeds, responseTo, withAdditional } from '../dns-seeds.js';
import { type CreateTarget, packetTarget } from '../fuzz-target.js';
import { smallZone } from './api.js';
import {
  checkAnswer,
  hasNoError,
  NAMES_IN_TURN,
  plainReply,
  replyWith,
  startDnsmasq,
} from './servers.js';

const KEY = parseTsigKey('key "k" { algorithm hmac-sha256; secret "AAECAwQFBgcICQoLDA0ODw=="; };');
const NOW_SECONDS = 1_700_000_000;
const MAC_BYTES = 32;
const APEXES = ['cluster.local', '10.in-addr.arpa', '1.10.in-addr.arpa', 'd.f.ip6.arpa'];
/** A small zone has fewer records than this one of requests; a transfer without an end has more. */
const MAX_RECORDS = 1_000;
/** The writer of each transfer has its own message. */
const TRANSFER_ALLOWANCE = 256 * 1024;

const SOA = {
  mname: 'ns.example',
  rname: 'root.example',
  serial: 1,
  refresh: 1,
  retry: 1,
  expire: 1,
  minimum: 60,
};

/** Two replies: of the type AAAA, and of A. */
const LENGTH_BYTES = 2;
const MAPPED = Buffer.from('00000000000000000000ffff', 'hex');

/** What secondaries and servers of IPv4 addresses send. */
export const ROWS = {
  /** Requests for transfers over TCP and UDP, with and without TSIG, and each transfer that begins, to its end. */
  'transfer-requests': () => {
    const out = new Uint8Array(MAX_MESSAGE_BYTES);
    const zones = new ClusterZones({
      zone: smallZone(),
      ttlSeconds: 30,
      negativeTtlSeconds: 5,
      ptr: 'all',
      ownAddresses: [Uint8Array.of(10, 9, 9, 9)],
    });
    const shared = {
      zones,
      networks: new ClientNetworks('192.0.2.1'),
      ttlSeconds: 30,
      isSynced: () => true,
      isFromSnapshot: () => false,
      log: { warn: () => undefined, verbose: () => undefined },
      wallNow: () => NOW_SECONDS * 1_000,
    };
    const others = { answer: () => 0 };
    const [open, closed] = [undefined, KEY].map((key) => {
      const transfers = new Transfers({ ...shared, key });
      return { transfers, answerer: transfers.before(others) };
    });
    const stream = {
      address: '192.0.2.1',
      port: 40_000,
      onDrain: undefined,
      onClose: undefined,
      write: () => true,
      end: () => undefined,
      abort: () => undefined,
    };
    let begun = 0;
    const client = {
      address: '192.0.2.1',
      port: 40_000,
      answersFrom: () => undefined,
      defer: (): never => {
        throw new Error('a request for a transfer is answered later');
      },
    };
    const overTcp = {
      ...client,
      stream: () => {
        begun++;
        return stream;
      },
    };
    const query = new Query();
    const seeds = requests();
    const macs = seeds.filter((seed) => seed.length > MAC_BYTES).flatMap(macOf);
    return packetTarget({
      seeds,
      tokens: [...macs, '\x01k\0', '\0\xfc\0\x01', '\0\xfb\0\x01', '\0\xfa\0\xff', '\x02ip6\0'],
      maxBytes: 2_048,
      allowance: () => TRANSFER_ALLOWANCE,
      run: (input) => {
        let isAccepted = false;
        for (const isOverTcp of [true, false]) {
          for (const { transfers, answerer } of [open!, closed!]) {
            if (query.read(input, input.length, isOverTcp, SAFE_UDP_BYTES) !== 'answer') continue;
            const before = begun;
            const length = answerer.answer(query, out, isOverTcp ? overTcp : client);
            if (length > 0) checkAnswer(out.subarray(0, length), query.id);
            if (begun === before) continue;
            transfers.close();
            if (transfers === closed!.transfers && !macs.some((mac) => input.includes(mac)))
              throw new Error('a transfer without a signature');
            runTransfer(zones, query);
            isAccepted = true;
          }
        }
        return isAccepted;
      },
    });
  },

  /** Replies of an upstream server that has no AAAA records, and A records of which these are made. */
  'dns64-replies': async () => {
    const server = await startDnsmasq(['--dns64', '--dns64-exclude=2001:db8:1::/48']);
    const { engine, check } = server;
    const query = queriesFor('n00000.ok', 'AAAA')[1]!;
    let count = 0;
    return packetTarget({
      seeds: replyPairs(),
      tokens: ['\x02ok\0', '\xc0\x0c', '\0\x1c\0\x01', '\0\x01\0\x01', MAPPED],
      maxBytes: 4_096,
      run: (input) => {
        count = (count + 1) % NAMES_IN_TURN;
        query.write(String(count).padStart(5, '0'), QUESTION_OFFSET + 2, 'latin1');
        const end = LENGTH_BYTES + (input.length < LENGTH_BYTES ? 0 : input.readUInt16BE(0));
        const parts = { first: input.subarray(LENGTH_BYTES, end), second: input.subarray(end) };
        engine.deliver(query);
        const answers = [...engine.answers];
        let asked = 0;
        for (let sent = engine.sent.shift(); sent; sent = engine.sent.shift()) {
          engine.answers.length = 0;
          const before = engine.sent.length;
          const part = asked++ === 0 ? parts.first : parts.second;
          sent.owner.onDatagram(replyWith(sent.query, part), sent.from);
          const isTaken = engine.answers.length > 0 || engine.sent.length > before;
          if (!isTaken) sent.owner.onDatagram(plainReply(sent), sent.from);
          answers.push(...engine.answers);
        }
        check();
        if (answers.length !== 1) throw new Error(`${answers.length} answers to one question`);
        checkAnswer(answers[0]!, query.readUInt16BE(0));
        checkMade(answers[0]!);
        return hasNoError(answers[0]!);
      },
      close: () => server.close(),
    });
  },
} satisfies Readonly<Record<string, CreateTarget>>;

/** The whole transfer of the zone of a request. Throws where it is none, or has no end. */
function runTransfer(zones: ClusterZones, query: Query): void {
  const messages: Buffer[] = [];
  const transfer = new Transfer({
    query: copyQuery(query),
    stream: {
      address: '',
      port: 0,
      onDrain: undefined,
      onClose: undefined,
      write: (message, length) => {
        messages.push(Buffer.from(message.subarray(0, length)));
        return true;
      },
      end: () => undefined,
      abort: () => undefined,
    },
    view: zones.find(query.name, query.nameLength)!.openView(),
    ttlSeconds: 30,
    signer: undefined,
    now: () => 0,
    wallSeconds: () => NOW_SECONDS,
  });
  while (!transfer.goOn(1)) {
    if (transfer.records > MAX_RECORDS) throw new Error('a transfer has no end');
  }
  transfer.close();
  for (const message of messages) checkAnswer(message, query.id);
}

/** Throws where an answer has an address that leads nowhere (RFC 6147 section 5.1.4), or AD beside one that is made. */
function checkMade(answer: Buffer): void {
  if ((answer.readUInt16BE(2) & FLAG.TC) !== 0) return;
  const cursor = new RecordCursor().reset(answer, answer.length);
  while (cursor.next() && cursor.section === SECTION.ANSWER) {
    const { type, rdataStart, end } = cursor;
    if (type !== TYPE.AAAA || end - rdataStart !== 16) continue;
    if (answer.subarray(rdataStart, rdataStart + MAPPED.length).equals(MAPPED))
      throw new Error('a mapped address is in the answer');
  }
}

/** AXFR, IXFR and SOA, and the same signed. */
function requests(): Buffer[] {
  const plain = APEXES.flatMap((name) => [
    Buffer.from(encodeQuery({ id: 0x1234, name, type: 'AXFR' })),
    Buffer.from(encodeQuery({ id: 0x1234, name, type: 'SOA' })),
    ixfrOf(name),
  ]);
  return [...plain, ...plain.map(signed)];
}

function ixfrOf(name: string): Buffer {
  const soa = { owner: name, type: 'SOA', data: SOA, section: 'authority' } as const;
  const message = responseTo(name, 'IXFR', [soa]);
  writeUint16(message, 2, 0);
  return message;
}

function signed(message: Buffer): Buffer {
  const out = Buffer.alloc(1_000);
  message.copy(out);
  const options = { timeSeconds: NOW_SECONDS };
  return out.subarray(0, signMessage(out, message.length, KEY, options));
}

/** The MAC of a signed seed: before the ID, the error and the length of the rest, which are its end. */
function macOf(message: Buffer): Buffer[] {
  const end = message.length - 6;
  const hasMac = message.readUInt16BE(10) > 0;
  return hasMac ? [message.subarray(end - MAC_BYTES, end)] : [];
}

/** Each kind of reply to AAAA with each kind of reply to A. */
function replyPairs(): Buffer[] {
  const name = 'n0.ok';
  const soa = { owner: 'ok', type: 'SOA', data: SOA, section: 'authority' } as const;
  const first = [
    responseTo(name, 'AAAA', [soa]),
    responseTo(name, 'AAAA', []),
    responseTo(name, 'AAAA', [], 2),
    responseTo(name, 'AAAA', [{ owner: name, type: 'AAAA', data: '::ffff:192.0.2.1' }]),
    responseTo(name, 'AAAA', [
      { owner: name, type: 'AAAA', data: '2001:db8:1::1' },
      { owner: name, type: 'AAAA', data: '2001:db8:2::1' },
    ]),
    ...replySeeds('ok').slice(0, 6),
  ];
  const opt = Buffer.from([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
  const second = replySeeds('ok').flatMap((reply) => [reply, withAdditional(reply, opt)]);
  return first.flatMap((one) =>
    second.map((other) => {
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt16BE(one.length);
      return Buffer.concat([length, one, other]);
    }),
  );
}
