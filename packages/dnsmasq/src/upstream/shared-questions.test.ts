import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { writeUint16 } from '@kube-dns/wire';
import {
  answered,
  ForwarderBed,
  held,
  says,
  silent,
  TIMEOUT_MS,
} from '../../test/forwarder-bed.js';
import { addressRecords, type Question, queryFor, responseTo } from '../../test/messages.js';
import { until } from '../../test/until.js';
import { WaitingClient } from '../../test/waiting-client.js';

let bed: ForwarderBed;

beforeEach(() => {
  bed = new ForwarderBed();
});

afterEach(() => bed.close());

const from = (port: number) => new WaitingClient(port);

describe('the same question of several clients', () => {
  it('is sent once, and each gets the answer with its own ID and spelling', async () => {
    const { script, release } = held('10.0.0.1');
    const { group } = await bed.groupOf([script]);
    const spellings = ['a.example', 'A.EXAMPLE', 'a.eXample'];
    const clients = spellings.map((name, i) => bed.ask(group, { name, id: 100 + i }, from(i + 1)));
    expect(bed.forwarder).toMatchObject({ sentForUdp: 1, joined: 2, inFlight: 1 });
    await bed.asked(1);
    release();
    await answered(...clients);
    expect(clients.map(({ answer }) => answer!.id)).toEqual([100, 101, 102]);
    expect(clients.map(({ answer }) => answer!.questions[0]!.name)).toEqual(spellings);
    expect(clients.map(({ result }) => result)).toEqual(Array(3).fill('A 10.0.0.1'));
    expect(await bed.asked(1)).toEqual([1]);
  });

  it('is sent apart when anything about it changes the answer', async () => {
    const { group } = await bed.groupOf([silent]);
    const others: Partial<Question>[] = [
      {},
      { type: 'AAAA' },
      { class: 'CH' },
      { isCheckingDisabled: true },
      { isRecursionDesired: false },
      { ednsBytes: 1232 },
      { ednsBytes: 1232, isDnssecOk: true },
    ];
    others.forEach((other, i) => bed.ask(group, { name: 'a', ...other }, from(i + 1)));
    expect(bed.forwarder).toMatchObject({ sentForUdp: others.length, joined: 0 });
    bed.ask(group, { name: 'a', ednsBytes: 512 }, from(50));
    expect(bed.forwarder.joined).toBe(1);
  });

  it('is sent apart for each set of EDNS options', async () => {
    const { group } = await bed.groupOf([silent]);
    const withCookie = (cookie: number) => {
      const query = queryFor({ name: 'a', ednsBytes: 1232 });
      const option = Buffer.from([0, 10, 0, 8, cookie, 2, 3, 4, 5, 6, 7, 8]);
      const bytes = Buffer.concat([query.bytes, option]);
      writeUint16(bytes, query.length - 2, option.length);
      query.read(bytes, bytes.length, false, 1232);
      return query;
    };
    const out = new Uint8Array(512);
    [1, 2, 1].forEach((cookie, i) => {
      bed.forwarder.forward(withCookie(cookie), out, from(i + 1), group);
    });
    expect(bed.forwarder.sentForUdp).toBe(2);
  });

  it('is asked again for who joins after two seconds', async () => {
    const { group } = await bed.groupOf([silent]);
    bed.ask(group, 'a', from(1));
    bed.pass(900);
    bed.ask(group, 'a', from(2));
    expect(await bed.asked(1)).toEqual([1]);
    bed.pass(600);
    await bed.asked(2);
    bed.pass(600);
    bed.ask(group, 'a', from(3));
    await bed.asked(3);
    // dnsmasq counts each query that made it send (src/forward.c, forward_query).
    expect(bed.forwarder.sentForUdp).toBe(2);
  });

  it('ends for each client at its own time', async () => {
    const { group } = await bed.groupOf([silent]);
    const first = bed.ask(group, 'a', from(1));
    bed.pass(1_000);
    const second = bed.ask(group, 'a', from(2));
    bed.pass(TIMEOUT_MS - 1_000);
    expect([first.result, second.result]).toEqual(['SERVFAIL', '']);
    bed.pass(1_000);
    expect(second.result).toBe('SERVFAIL');
    expect(bed.forwarder.inFlight).toBe(0);
  });
});

describe('a client that asks again', () => {
  it('makes us ask all servers, and gets one answer', async () => {
    const { group, own } = await bed.groupOf([says('10.0.0.1'), silent]);
    await answered(bed.ask(group, 'first'));
    own[0]!.script = silent;
    own[1]!.script = says('10.0.0.2');
    const client = bed.ask(group, { name: 'a', id: 5 });
    bed.ask(group, { name: 'a', id: 5 }, client);
    await answered(client);
    expect(client.result).toBe('A 10.0.0.2');
    expect(client.waiting).toBe(0);
    expect(bed.forwarder).toMatchObject({ sentForUdp: 3, joined: 0 });
  });

  it('in strict order makes us ask the next server', async () => {
    const { group } = await bed.groupOf([silent, silent, silent], 'strict');
    const client = bed.ask(group, { name: 'a', id: 5 });
    await bed.asked(1);
    bed.ask(group, { name: 'a', id: 5 }, client);
    expect(await bed.asked(2)).toEqual([1, 1, 0]);
  });
});

describe('too many questions', () => {
  beforeEach(async () => {
    await bed.close();
    bed = new ForwarderBed(3);
  });

  it('are refused at once, group by group, until there is room again', async () => {
    const { script, release } = held('10.0.0.1');
    const { group } = await bed.groupOf([script]);
    const { group: other } = await bed.groupOf([says('10.0.0.2')], 'preferred', 'corp');
    const waiting = ['a', 'b', 'c'].map((name, i) => bed.ask(group, name, from(i + 1)));
    expect(bed.ask(group, 'd').result).toBe('REFUSED');
    expect(bed.forwarder).toMatchObject({ overflows: 1, sentForUdp: 3 });
    await answered(bed.ask(other, 'd'));
    await bed.asked(4);
    release();
    await answered(...waiting);
    bed.ask(group, 'e');
    expect(bed.forwarder.overflows).toBe(1);
  });

  it('are refused also when they join others', async () => {
    const { group } = await bed.groupOf([silent]);
    const clients = [1, 2, 3, 4, 5].map((port) => bed.ask(group, 'a', from(port)));
    expect(clients.map(({ result }) => result)).toEqual(['', '', '', '', 'REFUSED']);
  });

  it('are refused in the group that they joined, not in others', async () => {
    const { group } = await bed.groupOf([silent]);
    const { script, release } = held('10.0.0.2');
    const { group: other } = await bed.groupOf([script], 'preferred', 'corp');
    for (const port of [1, 2, 3, 4, 5]) bed.ask(group, 'a', from(port));
    const clients = [6, 7].map((port) => bed.ask(other, 'b', from(port)));
    await bed.asked(2);
    release();
    await answered(...clients);
    expect(clients.map(({ result }) => result)).toEqual(['A 10.0.0.2', 'A 10.0.0.2']);
    bed.pass(TIMEOUT_MS);
    expect([group.joiners, other.joiners]).toEqual([0, 0]);
  });

  it('are said in the log every five seconds at most, with the domain', async () => {
    const { group } = await bed.groupOf([silent]);
    const { group: corp } = await bed.groupOf([silent], 'preferred', 'corp');
    const flood = (to: typeof group) => {
      for (let i = 0; i < 10; i++) bed.ask(to, `n${i}`);
    };
    flood(group);
    bed.pass(4_000);
    flood(corp);
    bed.now += 1_001;
    flood(corp);
    expect(bed.log.messages).toEqual([
      'Maximum number of concurrent DNS queries reached (max: 3)',
      'Maximum number of concurrent DNS queries to corp reached (max: 3)',
    ]);
  });
});

describe('what outsiders can send', () => {
  it('leaves nothing behind: ten thousand questions without an answer', async () => {
    const { group } = await bed.groupOf([silent]);
    for (let i = 0; i < 10_000; i++) {
      bed.ask(group, `n${i}`, from(1 + (i % 60_000)));
      if (i % 50 === 0) bed.pass(TIMEOUT_MS / 2);
      expect(bed.forwarder.remembered).toBeLessThanOrEqual(200);
    }
    expect(bed.sockets.size).toBeLessThanOrEqual(513);
    bed.pass(TIMEOUT_MS);
    bed.pass(10_000);
    expect(bed.forwarder).toMatchObject({ inFlight: 0, remembered: 0 });
  });

  it('leaves nothing behind: ten thousand forged replies, none of which is believed', async () => {
    const { group } = await bed.groupOf([
      (query) => {
        const forged = responseTo(query, { answers: addressRecords(30, '6.6.6.6') });
        const forgeries = Array.from({ length: 10_000 }, (_none, i) => {
          const copy = Buffer.from(forged);
          if (i % 2 === 0) writeUint16(copy, 0, query.id + 1 + (i % 60_000));
          else copy[14]! ^= 1;
          return copy;
        });
        return [...forgeries, responseTo(query, { answers: addressRecords(30, '10.0.0.1') })];
      },
    ]);
    const client = bed.ask(group, 'name.example');
    await bed.asked(1);
    // Where the system drops some of the flood, the last one may be among them: it is asked for again.
    await until(() => {
      if (client.result === '') bed.pass(20);
      return client.result !== '';
    });
    expect(['A 10.0.0.1', 'SERVFAIL']).toContain(client.result);
    expect(client.result).not.toContain('6.6.6.6');
    bed.pass(20_000);
    expect(bed.forwarder).toMatchObject({ inFlight: 0, remembered: 0 });
  });
});

describe('a forwarder that ends', () => {
  it('settles when what was under way is answered, whatever comes later', async () => {
    const { script, release } = held('10.0.0.1');
    const { group } = await bed.groupOf([script]);
    const client = bed.ask(group, 'a');
    let isSettled = false;
    const settled = bed.forwarder.settle().then(() => (isSettled = true));
    bed.now += 10;
    bed.ask(group, 'b');
    await bed.asked(2);
    bed.forwarder.tick();
    await Promise.resolve();
    expect(isSettled).toBe(false);
    release();
    await answered(client);
    await settled;
    expect(isSettled).toBe(true);
  });

  it('gives back the handles of those who still wait', async () => {
    const { group } = await bed.groupOf([silent]);
    const client = bed.ask(group, 'a');
    bed.forwarder.close();
    expect(client.waiting).toBe(0);
    expect(client.result).toBe('');
  });

  it('answers REFUSED when there is no way to send', async () => {
    const { group } = await bed.groupOf([silent]);
    group.servers[0]!.sockets.send = () => undefined;
    expect(bed.ask(group, 'a').result).toBe('REFUSED');
    expect(bed.forwarder).toMatchObject({ inFlight: 0, remembered: 0, sentForUdp: 0 });
  });
});
