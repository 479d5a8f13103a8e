import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { encodeKey, FLAG, writeUint16 } from '@kube-dns/wire';
import { DirectServers } from '../../test/direct-servers.js';
import {
  answered,
  ForwarderFixture,
  TIMEOUT_MS,
  WaitingClient,
} from '../../test/forwarder-fixture.js';
import {
  queryFor,
  queryMessage,
  queryWithOption,
  type Question,
  readQuery,
  responseWith,
} from '../../test/questions.js';
import { held, says, silent } from '../../test/scripts.js';
import type { ServerGroup } from './servers.js';

let fixture: ForwarderFixture;

beforeEach(() => {
  fixture = new ForwarderFixture();
});

afterEach(() => fixture.close());

const from = (port: number) => new WaitingClient(port);

describe('the same question of several clients', () => {
  it('is sent once, and each gets the answer with its own ID and spelling', async () => {
    const { script, release } = held('10.0.0.1');
    const { group } = await fixture.groupOf([script]);
    const spellings = ['a.example', 'A.EXAMPLE', 'a.eXample'];
    const clients = spellings.map((name, i) =>
      fixture.ask(group, { name, id: 100 + i }, from(i + 1)),
    );
    expect(fixture.forwarder).toMatchObject({
      inFlight: 1,
      counters: { sentForUdp: 1, joined: 2 },
    });
    await fixture.asked(1);
    release();
    await answered(...clients);
    expect(clients.map(({ answer }) => answer!.id)).toEqual([100, 101, 102]);
    expect(clients.map(({ answer }) => answer!.questions[0]!.name)).toEqual(spellings);
    expect(clients.map(({ result }) => result)).toEqual(Array(3).fill('A 10.0.0.1'));
    expect(await fixture.asked(1)).toEqual([1]);
  });

  it('is sent apart when type, class, RD, CD or DO change the answer', async () => {
    const { group } = await fixture.groupOf([silent]);
    const others: Partial<Question>[] = [
      {},
      { type: 'AAAA' },
      { class: 'CH' },
      { isCheckingDisabled: true },
      { isRecursionDesired: false },
      { ednsBytes: 1232, isDnssecOk: true },
    ];
    others.forEach((other, i) => fixture.ask(group, { name: 'a', ...other }, from(i + 1)));
    expect(fixture.forwarder).toMatchObject({ counters: { sentForUdp: others.length, joined: 0 } });
  });

  it('is one, whatever else they send: EDNS, its size, its options, AD', async () => {
    const { script, release } = held('10.0.0.1');
    const { group, own } = await fixture.groupOf([script]);
    const plain = fixture.ask(group, { name: 'a' }, from(1));
    const small = fixture.ask(group, { name: 'a', ednsBytes: 512 }, from(2));
    const cookies = [3, 4].map((i) =>
      fixture.pass(queryWithOption({ name: 'a', ednsBytes: 4096 }, 10, i), group, from(i)),
    );
    const wide = queryWithOption({ name: 'a', ednsBytes: 4096 }, 12, 5, 2_000);
    const long = fixture.pass(wide, group, from(5));
    const asking = queryFor({ name: 'a' });
    asking.flags |= FLAG.AD;
    const validating = fixture.pass(asking, group, from(6));
    expect(fixture.forwarder).toMatchObject({
      inFlight: 1,
      counters: { sentForUdp: 1, joined: 5 },
    });
    await fixture.asked(1);
    release();
    const clients = [plain, small, ...cookies, long, validating];
    await answered(...clients);
    expect(own[0]!.requests).toHaveLength(1);
    expect(clients.map(({ result }) => result)).toEqual(Array(6).fill('A 10.0.0.1'));
    const opts = clients.map(({ answer }) =>
      answer!.additionals.some(({ type }) => type === 'OPT'),
    );
    expect(opts).toEqual([false, true, true, true, true, false]);
  });

  it('leaves with an OPT of ours and no option of the client', async () => {
    const { group, own } = await fixture.groupOf([silent]);
    fixture.pass(queryWithOption({ name: 'aB', ednsBytes: 4096 }, 10, 1), group);
    const options = { bytes: Buffer.from('fdea000101', 'hex'), hasClientSubnet: false };
    const query = queryFor({ name: 'c', ednsBytes: 512, isDnssecOk: true });
    fixture.forwarder.forward(query, new Uint8Array(512), from(2), group, undefined, options);
    await fixture.asked(2);
    const sent = own[0]!.requests.map((request) => Buffer.from(request.query).toString('hex', 2));
    // The header, the question with the client's letters, and OPT of 1,232 bytes.
    const head = '0100' + '0001' + '0000' + '0000' + '0001';
    expect(sent).toEqual([
      head + '02614200' + '00010001' + '000029' + '04d0' + '00000000' + '0000',
      head + '016300' + '00010001' + '000029' + '04d0' + '00008000' + '0005' + 'fdea000101',
    ]);
  });

  it('is sent unchanged, and for its client alone, when it has other records', async () => {
    const { group, own } = await fixture.groupOf([silent]);
    const signature = Buffer.from('0000fa00ff000000000000', 'hex');
    const message = Buffer.concat([queryMessage({ name: 'a', ednsBytes: 1000 }), signature]);
    writeUint16(message, 10, 2);
    for (const port of [1, 2]) fixture.pass(readQuery(message), group, from(port));
    await fixture.asked(2);
    expect(own[0]!.requests.map(({ query }) => Buffer.from(query).subarray(2))).toEqual(
      Array(2).fill(message.subarray(2)),
    );
  });

  it('is asked again for a client that joins after two seconds', async () => {
    const { group } = await fixture.groupOf([silent]);
    fixture.ask(group, 'a', from(1));
    fixture.wait(900);
    fixture.ask(group, 'a', from(2));
    expect(await fixture.asked(1)).toEqual([1]);
    fixture.wait(600);
    await fixture.asked(2);
    fixture.wait(600);
    fixture.ask(group, 'a', from(3));
    await fixture.asked(3);
    // dnsmasq counts each query that made it send (src/forward.c, forward_query).
    expect(fixture.forwarder.counters.sentForUdp).toBe(2);
  });
});

describe('a client that asks again', () => {
  it('makes us ask all servers, and gets one answer', async () => {
    const { group, own } = await fixture.groupOf([says('10.0.0.1'), silent]);
    await answered(fixture.ask(group, 'first'));
    own[0]!.script = silent;
    own[1]!.script = says('10.0.0.2');
    const client = fixture.ask(group, { name: 'a', id: 5 });
    fixture.ask(group, { name: 'a', id: 5 }, client);
    await answered(client);
    expect(client.result).toBe('A 10.0.0.2');
    expect(client.waiting).toBe(0);
    expect(fixture.forwarder).toMatchObject({ counters: { sentForUdp: 3, joined: 0 } });
  });

  it('in strict order makes us ask the next server', async () => {
    const { group } = await fixture.groupOf([silent, silent, silent], 'strict');
    const client = fixture.ask(group, { name: 'a', id: 5 });
    await fixture.asked(1);
    fixture.ask(group, { name: 'a', id: 5 }, client);
    expect(await fixture.asked(2)).toEqual([1, 1, 0]);
  });
});

describe('what outsiders can send', () => {
  let servers: DirectServers;
  let group: ServerGroup;

  beforeEach(async () => {
    await fixture.close();
    servers = new DirectServers();
    fixture = new ForwarderFixture({}, false, servers.engine);
    group = fixture.groupAt([{ address: '192.0.2.53', port: 53 }]).group;
  });

  it('leaves nothing behind: three thousand questions without an answer', () => {
    for (let i = 0; i < 3_000; i++) {
      fixture.ask(group, `n${i}`, from(1 + i));
      if (i % 50 === 0) fixture.wait(TIMEOUT_MS / 2);
      expect(fixture.forwarder.remembered).toBeLessThanOrEqual(200);
    }
    expect(fixture.sockets.size).toBeLessThanOrEqual(513);
    fixture.wait(TIMEOUT_MS);
    fixture.wait(10_000);
    expect(fixture.forwarder).toMatchObject({ inFlight: 0, remembered: 0 });
  });

  it('leaves nothing behind: ten thousand forged replies, none of which is believed', () => {
    const client = fixture.ask(group, 'name.example');
    const sent = servers.sent[0]!;
    const query = readQuery(sent.query);
    const forged = responseWith(query, { addresses: ['6.6.6.6'] });
    for (let i = 0; i < 10_000; i++) {
      const copy = Buffer.from(forged);
      if (i % 2 === 0) writeUint16(copy, 0, query.id + 1 + (i % 60_000));
      else copy[14]! ^= 1;
      servers.reply(sent, copy);
    }
    expect(client.result).toBe('');
    servers.reply(sent, responseWith(query, { addresses: ['10.0.0.1'] }));
    expect(client.result).toBe('A 10.0.0.1');
    expect(fixture.forwarder).toMatchObject({ inFlight: 0, remembered: 0 });
  });
});

describe('a forwarder that ends', () => {
  it('settles when the questions in flight are answered, regardless of later ones', async () => {
    const { script, release } = held('10.0.0.1');
    const { group } = await fixture.groupOf([script]);
    const client = fixture.ask(group, 'a');
    let isSettled = false;
    const settled = fixture.forwarder.settle().then(() => (isSettled = true));
    fixture.now += 10;
    fixture.ask(group, 'b');
    await fixture.asked(2);
    fixture.forwarder.tick();
    await Promise.resolve();
    expect(isSettled).toBe(false);
    release();
    await answered(client);
    await settled;
    expect(isSettled).toBe(true);
  });

  it('gives back the handles of those who still wait', async () => {
    const { group } = await fixture.groupOf([silent]);
    const client = fixture.ask(group, 'a');
    fixture.forwarder.close();
    expect(client.waiting).toBe(0);
    expect(client.result).toBe('');
  });
});

describe('a question on its way', () => {
  it('is joined by no client that asks after its name has changed', async () => {
    const { script, release } = held('10.0.0.1');
    const { group, own } = await fixture.groupOf([script]);
    const early = fixture.ask(group, 'a');
    await fixture.asked(1);
    fixture.forwarder.forgetQuestions(encodeKey('a'));
    own[0]!.script = says('10.0.0.2');
    const late = fixture.ask(group, 'a');
    await answered(late);
    expect(late.result).toBe('A 10.0.0.2');
    release();
    await answered(early);
    expect(early.result).toBe('A 10.0.0.1');
  });
});
