import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  encodeQuery,
  endPrograms,
  exchange,
  freePort,
  statistic,
  UdpClient,
} from '@kube-dns/testkit';
import { writeUint16 } from '@kube-dns/wire';
import { serve, type Serving } from './processes.js';
import { describeBesideReal, serveReal } from './real-dnsmasq.js';

const PROBE = encodeQuery({ name: 'hits.bind', type: 'TXT', class: 'CH', id: 0x7777 });

const plain = () => encodeQuery({ name: 'a.x', ednsBytes: 1232 });
const QUESTION_END = encodeQuery({ name: 'a.x' }).length;

function changed(at: number, value: number): Buffer {
  const message = plain();
  writeUint16(message, at, value);
  return message;
}

/** What each answers: an rcode, or that a later query is answered first. */
interface Row {
  readonly message: () => Buffer;
  readonly ours: string;
  readonly real: string;
}

const LATER = 'nothing, or later';

const ROWS: Readonly<Record<string, Row>> = {
  'eleven bytes: dropped': { message: () => plain().subarray(0, 11), ours: LATER, real: LATER },
  'a response: dropped': { message: () => changed(2, 0x8100), ours: LATER, real: LATER },
  'a question that is cut: FORMERR; dnsmasq says nothing, and counts it as a hit': {
    message: () => plain().subarray(0, QUESTION_END - 3),
    ours: '1',
    real: LATER,
  },
  'a label of unknown kind: FORMERR; dnsmasq refuses': {
    message: () => changed(12, 0x4161),
    ours: '1',
    real: '5',
  },
  'several questions: FORMERR; dnsmasq forwards them': {
    message: () => changed(4, 2),
    ours: '1',
    real: LATER,
  },
  'another opcode: NOTIMP; dnsmasq forwards it': {
    message: () => changed(2, 0x2100),
    ours: '4',
    real: LATER,
  },
  'options of EDNS beyond the end: FORMERR; dnsmasq forwards them': {
    message: () => changed(QUESTION_END + 9, 4),
    ours: '1',
    real: LATER,
  },
};

describeBesideReal('malformed queries beside the real dnsmasq', () => {
  let ours: Serving;
  let real: Serving;

  beforeAll(async () => {
    // No server answers what is forwarded.
    const unreachable = `--server=127.0.0.1#${await freePort()}`;
    const options = ['-k', '--no-resolv', '--log-facility=-', unreachable];
    [ours, real] = await Promise.all([serve(options), serveReal(options)]);
  });

  afterAll(() => endPrograms());

  async function see({ port }: Serving, message: Buffer): Promise<string> {
    const answer = await exchange(port, message, { after: PROBE });
    const isProbe = answer.subarray(0, 2).equals(PROBE.subarray(0, 2));
    return isProbe ? LATER : String(answer[3]! & 0xf);
  }

  it.each(Object.entries(ROWS))('%s', async (_what, row) => {
    expect(await see(ours, row.message())).toBe(row.ours);
    expect(await see(real, row.message())).toBe(row.real);
  });

  it('are no hits; dnsmasq counts those that it does not answer', async () => {
    const cut = plain().subarray(0, QUESTION_END - 3);
    const hitsOf = async ({ port }: Serving) => {
      const before = await statistic(port, 'hits.bind');
      const client = await UdpClient.connect(port);
      client.send(cut);
      const after = await statistic(port, 'hits.bind');
      await client.close();
      return after - before;
    };
    // The reading before is one.
    expect(await hitsOf(ours)).toBe(1);
    expect(await hitsOf(real)).toBe(2);
  });
});
