import { createSocket, type Socket } from 'node:dgram';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  decodeMessage,
  ednsText,
  encodeQuery,
  exchange,
  type Question,
  ScriptedNameServer,
  until,
} from '@kube-dns/testkit';
import { decodeName, FLAG, readQuery } from '@kube-dns/wire';
import { AnswererTestbed, TIMEOUT_MS } from './answerer-testbed.js';

/** The text of the Extended DNS Error 0. */
const LOOP = loopText('forwarding loop');
/** A question that comes back changed is in flight twice: when the other flight ends first, the client's has its reason. */
const CHANGED_LOOP = [LOOP, loopText('upstream: forwarding loop')];
/**
 * Of each question, through all relays. It takes 5 to 20: the question, the probe of a loop, and probes of servers that
 * seem silent. A storm has no end: 1.4 million in 4.5 s.
 */
const MAX_PACKETS = 40;
const STEP_MS = 50;

type Change = (query: Buffer) => Buffer | null;

let ring: AnswererTestbed[] = [];
let relays: ScriptedNameServer[] = [];
let sockets: Socket[] = [];

afterEach(async () => {
  await Promise.all(ring.map((each) => each.close()));
  await Promise.all(relays.map((relay) => relay.close()));
  for (const socket of sockets) socket.close();
  ring = [];
  relays = [];
  sockets = [];
});

function loopText(text: string): string {
  return `1232 | 15 0000${Buffer.from(text).toString('hex')}`;
}

/** A ring of answerers, whose clocks stand still; between them are relays that are given each query. */
async function startRing(count: number, change: Change = (query) => query): Promise<void> {
  for (let i = 0; i < count; i++) {
    relays.push(await ScriptedNameServer.start(() => null, { seesProbes: true }));
    ring.push(await AnswererTestbed.create());
  }
  for (const [i, relay] of relays.entries()) {
    const next = ring[(i + 1) % count]!;
    relay.script = ({ query, send }): undefined => {
      const changed = change(query);
      if (changed === null) return;
      const socket = createSocket('udp4');
      sockets.push(socket);
      socket.on('message', send);
      socket.send(changed, next.port, '127.0.0.1');
    };
    await ring[i]!.start({ rules: [relay.text] });
  }
}

const packets = () => relays.reduce((sum, { requests }) => sum + requests.length, 0);

/** Asks a question, which must end as a loop, while this time goes by. */
async function expectLoop(question: Question, texts = [LOOP], withinMs = 0): Promise<void> {
  const before = packets();
  let answer: Buffer | undefined;
  void exchange(ring[0]!.port, encodeQuery({ ...question, options: [] })).then(
    (reply) => (answer = reply),
  );
  await until('the question', () => packets() > before);
  for (let ms = 0; ms < withinMs && answer === undefined; ms += STEP_MS) {
    for (const each of ring) each.pass(STEP_MS);
    // What is sent now has arrived when a later question has its answer.
    await exchange(
      ring[0]!.port,
      encodeQuery({ name: 'hits.bind', class: 'CH', type: 'TXT', ednsBytes: 1_232 }),
    );
  }
  await until('an answer', () => answer !== undefined);
  expect(decodeMessage(answer!).rcode).toBe('SERVFAIL');
  expect(texts).toContain(ednsText(answer!));
  expect(packets() - before).toBeLessThan(MAX_PACKETS);
}

describe('forwarders that point at each other', () => {
  it.each([1, 3])('make few packets of one query, and say so: %d of them', async (count) => {
    await startRing(count);
    await expectLoop({ name: 'in.a.loop.example' });
    await expectLoop({ name: 'chaos.example', class: 'CH' });
  });

  it('notice a loop that changes the question', async () => {
    await startRing(1, (query) => {
      const changed = Buffer.from(query);
      changed.writeUInt16BE(changed.readUInt16BE(2) ^ FLAG.CD, 2);
      return changed;
    });
    await expectLoop({ name: 'changed.example' }, CHANGED_LOOP);
  });

  it('notice a loop that another forwarder ends', async () => {
    const asked = new Set<string>();
    await startRing(1, (query) => {
      // As one that waits for the reply to a question that it has sent.
      const name = decodeName(readQuery(query).name);
      if (!name.endsWith('ended.example')) return query;
      if (name === 'ended.example') return null;
      asked.add(name);
      return query;
    });
    await expectLoop({ name: 'ended.example' }, [LOOP], TIMEOUT_MS);
    expect(asked.size).toBe(1);
  });
});
