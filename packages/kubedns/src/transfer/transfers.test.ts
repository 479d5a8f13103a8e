import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  checkTsig,
  parseTsigKey,
  RCODE,
  readTsig,
  readUint16,
  type Tsig,
  TSIG_ERROR,
  writeUint16,
} from '@kube-dns/wire';
import { Cluster } from '../../test/support/cluster.js';
import { readAnswer } from '../../test/support/messages.js';
import { serviceObject } from '../../test/support/objects.js';
import {
  FakeStream,
  type Request,
  requestOf,
  Secondary,
  serialsOf,
} from '../../test/support/secondary.js';

const ZONE = 'cluster.local';
const KEY = parseTsigKey('key "k" { algorithm hmac-sha256; secret "AAECAwQFBgcICQoLDA0ODw=="; };');
const OTHER = parseTsigKey(
  'key "k" { algorithm hmac-sha256; secret "AQECAwQFBgcICQoLDA0ODw=="; };',
);
const NOW_SECONDS = 1_700_000_000;

let nowMs: number;
let cluster: Cluster;
let secondary: Secondary;
beforeEach(() => {
  nowMs = NOW_SECONDS * 1_000;
  cluster = new Cluster('hash', () => nowMs);
  for (let i = 0; i < 600; i++) put(`s${i}`);
  secondary = new Secondary(cluster);
});

const put = (name: string) => cluster.services.put(serviceObject({ name }));

/** The rcode of a refusal, which has no record. */
function refusal(name: string, type: string, request?: Request, by = secondary): string {
  const { bytes } = by.ask(name, type, request);
  const { rcode, answers } = readAnswer(bytes);
  expect(answers).toEqual([]);
  return rcode;
}

function tsigOf(message: Uint8Array): Tsig {
  const tsig = readTsig(message);
  if (typeof tsig === 'string') throw new Error(tsig);
  return tsig;
}

describe('a request for a transfer', () => {
  it.each([
    ['from another address', { to: '10.0.0.0/8' }, ZONE, 'AXFR', {}, 'REFUSED', 'refused'],
    [
      'of reverse names from there',
      { to: '10.0.0.0/8' },
      '10.in-addr.arpa',
      'AXFR',
      {},
      'REFUSED',
      'refused',
    ],
    [
      'from there over UDP',
      { to: '10.0.0.0/8' },
      ZONE,
      'IXFR',
      { isOverUdp: true, serial: 1 },
      'REFUSED',
      'refused',
    ],
    ['over UDP', {}, ZONE, 'AXFR', { isOverUdp: true }, 'REFUSED', 'refused'],
    [
      'for a name that is no zone’s',
      {},
      's1.default.svc.cluster.local',
      'AXFR',
      {},
      'NOTAUTH',
      'malformed',
    ],
    ['of a zone of other servers', {}, 'example.com', 'AXFR', {}, 'NOTAUTH', 'malformed'],
    ['of one, to others', { to: '10.0.0.0/8' }, 'example.com', 'IXFR', {}, 'REFUSED', 'refused'],
    ['for one address', {}, '1.0.0.10.in-addr.arpa', 'AXFR', {}, 'NOTAUTH', 'malformed'],
    ['of changes without an SOA', {}, ZONE, 'IXFR', {}, 'FORMERR', 'malformed'],
    ['without a signature', { key: KEY }, ZONE, 'AXFR', {}, 'REFUSED', 'refused'],
    ['of changes without one', { key: KEY }, ZONE, 'IXFR', { serial: 1 }, 'REFUSED', 'refused'],
    [
      'signed by another key',
      { key: KEY },
      ZONE,
      'AXFR',
      { key: OTHER },
      'NOTAUTH',
      'bad_signature',
    ],
    ['signed, where there is no key', {}, ZONE, 'AXFR', { key: KEY }, 'NOTAUTH', 'bad_signature'],
    [
      'signed an hour ago',
      { key: KEY },
      ZONE,
      'AXFR',
      { key: KEY, signedAt: NOW_SECONDS - 3_600 },
      'NOTAUTH',
      'bad_signature',
    ],
  ] as const)('%s is refused', (_, options, name, type, request, rcode, result) => {
    secondary = new Secondary({ zone: cluster.zone, ...options });
    expect(refusal(name, type, request)).toBe(rcode);
    expect(secondary.transfers.results[result]).toBe(1);
  });

  it('says in a signed answer that the clock of the secondary is wrong, and its own time', () => {
    secondary = new Secondary({ zone: cluster.zone, key: KEY });
    const signedAt = NOW_SECONDS - 3_600;
    const { bytes } = secondary.ask(ZONE, 'AXFR', { key: KEY, signedAt });
    const tsig = tsigOf(bytes);
    expect(tsig.error).toBe(TSIG_ERROR.BADTIME);
    const { mac } = tsigOf(requestOf(ZONE, 'AXFR', { key: KEY, signedAt }));
    expect(checkTsig(bytes, tsig, KEY, signedAt, mac)).toBe(RCODE.NOERROR);
    expect(Buffer.from(tsig.other).readUIntBE(0, 6)).toBe(NOW_SECONDS);
  });

  it('gets SERVFAIL until the cluster is listed, and while answers are from a snapshot', () => {
    secondary.isSynced = false;
    expect(refusal(ZONE, 'AXFR')).toBe('SERVFAIL');
    secondary.isSynced = true;
    secondary.isFromSnapshot = true;
    expect(refusal(ZONE, 'IXFR', { serial: 1 })).toBe('SERVFAIL');
    expect(secondary.transfers.results.unavailable).toBe(2);
  });

  it('attack 20: one rule is for all zones, whichever the name is in', () => {
    secondary = new Secondary({ zone: cluster.zone, to: '10.0.0.0/8' });
    for (const name of [ZONE, 'svc.cluster.local', '10.in-addr.arpa', '1.0.0.10.in-addr.arpa'])
      expect([name, refusal(name, 'AXFR')]).toEqual([name, 'REFUSED']);
  });

  it('from another address is logged once a minute', () => {
    secondary = new Secondary({ zone: cluster.zone, to: '10.0.0.1' });
    refusal(ZONE, 'AXFR');
    refusal(ZONE, 'AXFR');
    expect(secondary.log).toEqual([
      '192.0.2.1 may not transfer cluster.local: it is not in --transfer-to',
    ]);
    secondary.nowMs += 61_000;
    refusal(ZONE, 'AXFR');
    expect(secondary.log).toHaveLength(2);
  });
});

describe('IXFR', () => {
  const serial = () => cluster.zone.serial;

  it.each([
    ['the same serial', 0, false],
    ['a newer one', 5, false],
    ['an older one over UDP', -5, true],
    ['the same over UDP', 0, true],
  ])('with %s gets one SOA', (_, difference, isOverUdp) => {
    const { answer, bytes } = secondary.ask(ZONE, 'IXFR', {
      serial: serial() + difference,
      isOverUdp,
    });
    expect(answer).toMatchObject({ rcode: 'NOERROR', answers: [{ name: ZONE, type: 'SOA' }] });
    expect(serialsOf(bytes).at(0)).toBe(serial());
    expect(secondary.transfers.results.soa).toBe(1);
  });

  it('with an older serial gets all of the zone, as RFC 1995 allows', async () => {
    const axfr = await secondary.transfer(ZONE);
    const ixfr = await secondary.transfer(ZONE, 'IXFR', { serial: serial() - 1 });
    expect(ixfr.records).toEqual(axfr.records);
    const wrapped = await secondary.transfer(ZONE, 'IXFR', {
      serial: (serial() + 0x9000_0000) >>> 0,
    });
    expect(wrapped.records).toEqual(axfr.records);
  });

  it('of reverse names is by the serial of the zone', async () => {
    const { answer } = secondary.ask('10.in-addr.arpa', 'IXFR', { serial: serial() });
    expect(answer!.answers).toHaveLength(1);
    expect(
      (await secondary.transfer('10.in-addr.arpa', 'IXFR', { serial: 1 })).records.length,
    ).toBeGreaterThan(3);
  });
});

describe('the serial', () => {
  it('is newer after each change that follows what a secondary was told, also within a second', async () => {
    const serials: number[] = [];
    for (let i = 0; i < 5; i++) {
      put(`more-${i}`);
      serials.push((await secondary.transfer(ZONE)).serials[0]!);
    }
    expect(serials).toEqual(serials.map((_, i) => serials[0]! + i));
    put('one');
    const { bytes } = secondary.ask(ZONE, 'SOA', { isOverUdp: true });
    put('two');
    expect(cluster.zone.serial).toBe(serialsOf(bytes)[0]! + 1);
    nowMs += 60_000;
    put('three');
    expect(cluster.zone.serial).toBe(NOW_SECONDS + 60);
  });

  it('is the time, however much changes, while no secondary asks', () => {
    for (let i = 0; i < 100; i++) put(`many-${i}`);
    expect(cluster.zone.serial).toBe(NOW_SECONDS);
  });
});

describe('other questions', () => {
  it('are passed on, also those of other clients for the SOA of a zone', () => {
    secondary = new Secondary({ zone: cluster.zone, to: '10.0.0.1' });
    for (const [name, type] of [
      [ZONE, 'SOA'],
      ['10.in-addr.arpa', 'SOA'],
      [ZONE, 'A'],
      ['example.com', 'SOA'],
    ] as const)
      expect(() => secondary.ask(name, type)).toThrow('the question is passed on');
  });

  it('for the SOA of a reverse zone have one for a secondary', () => {
    const { answer } = secondary.ask('10.in-addr.arpa', 'SOA', { isOverUdp: true });
    expect(answer).toMatchObject({
      rcode: 'NOERROR',
      answers: [{ name: '10.in-addr.arpa', type: 'SOA' }],
    });
  });

  it('that are signed have a signed answer', () => {
    secondary = new Secondary({ zone: cluster.zone, key: KEY });
    const { bytes } = secondary.ask(ZONE, 'SOA', { key: KEY, isOverUdp: true });
    const { mac } = tsigOf(requestOf(ZONE, 'SOA', { key: KEY }));
    expect(checkTsig(bytes, tsigOf(bytes), KEY, NOW_SECONDS, mac)).toBe(RCODE.NOERROR);
  });
});

describe('a transfer', () => {
  it('is in messages of 16 KiB at most, with the ID and the question of the request, AA and no TC', async () => {
    const { messages } = await secondary.transfer(ZONE);
    expect(messages.length).toBeGreaterThan(1);
    for (const message of messages) {
      expect(message.length).toBeLessThanOrEqual(16 * 1024);
      const { flags, question, rcode } = readAnswer(message);
      expect({ flags, question, rcode }).toEqual({
        flags: 'aa ra',
        question: 'cluster.local AXFR',
        rcode: 'NOERROR',
      });
      expect(readUint16(message, 0)).toBe(0x1234);
    }
    expect(secondary.transfers.results.complete).toBe(1);
    expect(secondary.transfers.running).toBe(0);
  });

  it('is signed message by message, each with the MAC of the one before', async () => {
    secondary = new Secondary({ zone: cluster.zone, key: KEY });
    const { messages } = await secondary.transfer(ZONE, 'AXFR', { key: KEY });
    expect(messages.length).toBeGreaterThan(1);
    const first = messages[0]!;
    const { mac } = tsigOf(requestOf(ZONE, 'AXFR', { key: KEY }));
    expect(checkTsig(first, tsigOf(first), KEY, NOW_SECONDS, mac)).toBe(RCODE.NOERROR);
    for (const message of messages) expect(tsigOf(message).keyName).toEqual(KEY.name);
  });

  it('sends nothing to a secondary that does not read, and ends it', async () => {
    const stream = new FakeStream();
    stream.readsMessages = 2;
    secondary.ask(ZONE, 'AXFR', { stream });
    await secondary.settle();
    expect(stream.messages).toHaveLength(2);
    secondary.nowMs += 9_000;
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(stream.ended).toBe('abort');
    expect(secondary.transfers.results).toMatchObject({ stalled: 1, complete: 0 });
    expect(secondary.transfers.running).toBe(0);
  });

  it('beyond eight, or four of one secondary, gets SERVFAIL', async () => {
    const streams = Array.from({ length: 4 }, () => {
      const stream = new FakeStream();
      stream.readsMessages = 1;
      secondary.ask(ZONE, 'AXFR', { stream });
      return stream;
    });
    expect(refusal(ZONE, 'AXFR')).toBe('SERVFAIL');
    await secondary.settle();
    secondary.transfers.close();
    expect(streams.map(({ ended }) => ended)).toEqual(Array(4).fill('abort'));
    expect(secondary.transfers.running).toBe(0);
    secondary.transfers.close();
  });
});

describe('a request that is broken', () => {
  it('has no effect but an error', () => {
    secondary = new Secondary({ zone: cluster.zone, key: KEY, others: { answer: () => 12 } });
    const message = requestOf(ZONE, 'IXFR', { serial: 1, key: KEY });
    for (let at = 12; at < message.length; at++) {
      const broken = Buffer.from(message);
      writeUint16(broken, Math.min(at, message.length - 2), 0xffff);
      expect(() => secondary.pass(broken)).not.toThrow();
    }
  });
});
