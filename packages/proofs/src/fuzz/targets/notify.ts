import { NotifyAnswerer, parseNotifyRule } from '@kube-dns/dnsmasq/internal';
import { NotifyMessages } from '@kube-dns/kubedns/internal';
import {
  encodeKey,
  encodeRdata,
  FLAG,
  MAX_MESSAGE_BYTES,
  OPCODE_NOTIFY,
  parseTsigKey,
  Query,
  RCODE_MASK,
  readUint16,
  SAFE_UDP_BYTES,
  signMessage,
  writeNotify,
  writeUint16,
} from '@kube-dns/wire';
import { withAdditional } from '../dns-seeds.js';
import type { FuzzTarget } from '../fuzz-target.js';
import { MESSAGE_MUTATIONS } from '../message-mutations.js';
import { checkAnswer } from './checked-answer.js';

const KEY = parseTsigKey('key "k" { algorithm hmac-sha256; secret "AAECAwQFBgcICQoLDA0ODw=="; };');
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
/** More than the limit allows in this time would have no answer. */
const STEP_MS = 20;
const CLIENT = {
  address: '127.0.0.1',
  port: 53,
  answersFrom: () => undefined,
  defer: (): never => {
    throw new Error('a NOTIFY is answered later');
  },
};

/** NOTIFY messages with and without TSIG: at dnsmasq without a key and with one, and as replies at kubedns. */
export function createNotify(): FuzzTarget {
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
  const answerers = [undefined, KEY].map((key) => new NotifyAnswerer({ ...options, key }));
  const query = new Query();
  const zone = { apex: APEX, soaRdata: SOA_RDATA };
  const sent = new NotifyMessages(zone, 30, KEY, wallNow).write(APEX);
  return {
    seeds: seedsOf(),
    tokens: ['\x01k\0', '\x0bhmac-sha256\0', '\0\xfa\0\xff', 'cluster'].map((text) =>
      Buffer.from(text, 'latin1'),
    ),
    mutations: MESSAGE_MUTATIONS,
    maxBytes: 2_048,
    run: (input) => {
      nowMs += STEP_MS;
      let isAccepted = sent.isReply(input);
      if (query.read(input, input.length, false, SAFE_UDP_BYTES) !== 'notimp') return isAccepted;
      if ((query.flags & ~(FLAG.AA | FLAG.RD)) !== OPCODE_NOTIFY) return isAccepted;
      if (query.readBody() !== 'answer') return isAccepted;
      for (const answerer of answerers) {
        const length = answerer.answer(query, out, CLIENT);
        checkAnswer(out.subarray(0, length), query.id);
        isAccepted ||= (readUint16(out, 2) & RCODE_MASK) === 0;
      }
      return isAccepted;
    },
  };
}

function seedsOf(): Buffer[] {
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
  return out.subarray(0, signMessage(out, message.length, KEY, { timeSeconds: NOW_SECONDS }));
}
