import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  ask,
  encodeQuery,
  endPrograms,
  exchange,
  heldReply,
  runProgram,
  type Script,
  ScriptedNameServer,
  soaRecord,
  TemporaryFolder,
  until,
} from '@kube-dns/testkit';
import { encodeKey, RCODE, readUint16, writeNotify, writeUint16 } from '@kube-dns/wire';
import { PROGRAM, serve, type Serving } from './processes.js';

const ZONE = 'zone.example';
/** No subscription: that must not be what drops answers. */
const OPTIONS = ['-k', '--no-resolv', '--no-hosts', '--no-subscribe'];

const folder = new TemporaryFolder();
let upstream: ScriptedNameServer;
let plain: Serving;
let address = '10.0.0.1';

const existing: Script = () => ({ answers: addressRecords(300, address) });

beforeAll(async () => {
  upstream = await ScriptedNameServer.start(existing);
  const options = [...OPTIONS, `--server=${upstream.text}`];
  const rules = folder.file(
    'notify.conf',
    `allow-notify=/${ZONE}/192.0.2.0/24,127.0.0.1\nallow-notify=/far.example/192.0.2.0/24\n`,
  );
  plain = await serve([...options, `--conf-file=${rules}`]);
});

beforeEach(() => {
  upstream.script = existing;
  address = '10.0.0.1';
});

afterAll(async () => {
  await endPrograms();
  await upstream.close();
  await folder.close();
});

function notify(name = ZONE): Buffer {
  const soaRdata = new Uint8Array(22);
  const apex = encodeKey(ZONE);
  return Buffer.from(writeNotify({ id: 9, name: encodeKey(name), apex, soaRdata, ttlSeconds: 5 }));
}

const textsOf = async (name: string) => (await ask(plain.port, name)).texts;

/** Puts a name into the cache, then changes it at the server. */
async function change(name: string): Promise<void> {
  address = '10.0.0.1';
  expect(await textsOf(name)).toEqual(['A 10.0.0.1']);
  address = '10.0.0.2';
  expect(await textsOf(name)).toEqual(['A 10.0.0.1']);
}

describe('a NOTIFY', () => {
  it('makes the next answer the new one, without a subscription, and leaves other names', async () => {
    await change(`other.${ZONE}`);
    await change(`x.web.${ZONE}`);
    const reply = await exchange(plain.port, notify(`web.${ZONE}`));
    expect(readUint16(reply, 2)).toBe(0xa400);
    expect(await textsOf(`x.web.${ZONE}`)).toEqual(['A 10.0.0.2']);
    expect(await textsOf(`other.${ZONE}`)).toEqual(['A 10.0.0.1']);
  });

  it('ends NXDOMAIN of the names above', async () => {
    upstream.script = () => ({ rcode: RCODE.NXDOMAIN, authorities: [soaRecord(300, ZONE, 300)] });
    const denied = async () => (await ask(plain.port, `ns.${ZONE}`)).rcode;
    const before = await denied();
    upstream.script = existing;
    expect(await denied()).toBe(before);
    await exchange(plain.port, notify(`web.ns.${ZONE}`));
    expect(await denied()).not.toBe(before);
  });

  it('keeps a reply that was on its way out of the cache', async () => {
    const late = heldReply('10.0.0.1');
    upstream.script = late.script;
    const asked = upstream.requests.length;
    const waiting = textsOf(`late.${ZONE}`);
    await until(() => upstream.requests.length > asked);
    await exchange(plain.port, notify(`late.${ZONE}`));
    late.release();
    expect(await waiting).toEqual(['A 10.0.0.1']);
    upstream.script = existing;
    address = '10.0.0.2';
    expect(await textsOf(`late.${ZONE}`)).toEqual(['A 10.0.0.2']);
  });

  it('drops over TCP, too', async () => {
    await change(`tcp.${ZONE}`);
    expect(
      readUint16(await exchange(plain.port, notify(`tcp.${ZONE}`), { isOverTcp: true }), 2),
    ).toBe(0xa400);
    expect((await ask(plain.port, { name: `tcp.${ZONE}` }, { isOverTcp: true })).texts).toEqual([
      'A 10.0.0.2',
    ]);
  });

  it('never inserts: its records are ignored', async () => {
    const asked = upstream.requests.length;
    await exchange(plain.port, notify());
    await ask(plain.port, { name: ZONE, type: 'SOA' });
    expect(upstream.requests.length).toBeGreaterThan(asked);
  });

  it('for a zone that this source may not speak for is refused and drops nothing', async () => {
    await change('a.far.example');
    const reply = await exchange(plain.port, notify('a.far.example'));
    expect(readUint16(reply, 2)).toBe(0xa400 | RCODE.REFUSED);
    expect(await textsOf('a.far.example')).toEqual(['A 10.0.0.1']);
  });

  const changed = (at: number, value: number): Buffer => {
    const message = notify();
    writeUint16(message, at, value);
    return message;
  };
  const questionEnd = 12 + encodeKey(ZONE).length + 4;
  const withPointer = (pointer: number): Buffer => {
    const message = notify();
    return Buffer.concat([
      message.subarray(0, questionEnd),
      Buffer.from([pointer >> 8, pointer & 0xff]),
      message.subarray(questionEnd + encodeKey(ZONE).length),
    ]);
  };
  const nameless = (): Buffer => {
    const message = notify();
    writeUint16(message, 12, 0xc00c);
    return message;
  };
  it.each<[string, () => Buffer, number]>([
    ['a header alone', () => notify().subarray(0, 12), RCODE.FORMERR],
    ['no question', () => changed(4, 0), RCODE.FORMERR],
    ['two questions', () => changed(4, 2), RCODE.FORMERR],
    ['more records than there are', () => changed(10, 2), RCODE.FORMERR],
    ['many answers', () => changed(6, 9), RCODE.FORMERR],
    ['a question that is cut', () => notify().subarray(0, questionEnd - 2), RCODE.FORMERR],
    ['a record that is cut', () => notify().subarray(0, -1), RCODE.FORMERR],
    ['a pointer to itself as its name', nameless, RCODE.FORMERR],
    ['a pointer to itself as the owner', () => withPointer(0xc000 | questionEnd), RCODE.NOERROR],
    ['another type', () => changed(questionEnd - 4, 1), RCODE.NOTIMP],
    ['another class', () => changed(questionEnd - 2, 3), RCODE.REFUSED],
    ['another opcode', () => changed(2, 5 << 11), RCODE.NOTIMP],
  ])('with %s has its rcode, over UDP and TCP', async (_, message, rcode) => {
    for (const isOverTcp of [false, true]) {
      const reply = await exchange(plain.port, message(), { isOverTcp });
      expect(readUint16(reply, 2) & 0x7f).toBe(rcode);
      expect(readUint16(reply, 2) & 0xf800).toBe(0x8000 | (readUint16(message(), 2) & 0x7800));
    }
  });

  it('that is a response gets no answer', async () => {
    const probe = encodeQuery({ name: `probe.${ZONE}`, id: 0x7777 });
    const first = await exchange(plain.port, changed(2, 0xa400), { after: probe });
    expect(readUint16(first, 0)).toBe(0x7777);
  });

  it('is not implemented without the option, as before', async () => {
    const { port } = await serve(OPTIONS);
    for (const isOverTcp of [false, true]) {
      const reply = await exchange(port, notify(), { isOverTcp });
      expect(reply.toString('hex')).toBe('0009a0040000000000000000');
    }
  });
});

it('a file without a key ends the start', async () => {
  const path = folder.file('no.key', 'x');
  const { end, stderr } = await runProgram(process.execPath, [
    ...[PROGRAM, '--', '-k', '--port=0', '--no-resolv', `--notify-key=${path}`],
  ]);
  expect(stderr).toContain(`${path} is no TSIG key file: the statement key is missing`);
  expect(end).toBe(3);
});
