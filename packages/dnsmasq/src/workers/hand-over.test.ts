import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Answerer, ListenerCounters, NO_ANSWER_YET, type Reply } from '@kube-dns/transport';
import { addressRecords, queryFor, responseTo } from '../../test/messages.js';
import { WaitingClient } from '../../test/waiting-client.js';
import { HandOver } from './hand-over.js';
import { HandedQueries } from './handed-queries.js';
import type { HandedBack } from './worker-messages.js';

let counters: ListenerCounters;
let errors: unknown[];
let asked: string[];
let parcels: Uint8Array[];
let backs: HandedBack[];
beforeEach(() => {
  counters = new ListenerCounters();
  errors = [];
  asked = [];
  parcels = [];
  backs = [];
});

/** A leader that answers so, and whose messages wait until they are delivered. */
function connect(answerer: Answerer) {
  const worker = new HandOver((parcel) => parcels.push(structuredClone(parcel)));
  const leader = new HandedQueries({
    answerer: {
      answer(query, out, client) {
        asked.push(`${client.address} ${client.port} ${query.id}`);
        return answerer.answer(query, out, client);
      },
    },
    counters,
    maxUdpBytes: 1232,
    onFailure: (error) => errors.push(error),
    say: (back) => backs.push(structuredClone(back)),
  });
  return {
    worker,
    leader,
    deliver: () => {
      for (const parcel of parcels.splice(0)) leader.take(parcel);
      for (const back of backs.splice(0)) worker.take(back);
    },
  };
}

const atOnce: Answerer = {
  answer(query, out) {
    const message = responseTo(query, { answers: addressRecords(30, '10.0.0.1') });
    out.set(message);
    return message.length;
  },
};

describe('queries that are handed over', () => {
  it('come with their client, and go back as if the leader had the socket', async () => {
    const { worker, deliver } = connect(atOnce);
    const clients = [
      new WaitingClient(4_001, '192.0.2.1'),
      new WaitingClient(65_535, 'fe80::1%eth0'),
    ];
    clients.forEach((client, id) => worker.ask(queryFor({ name: 'a.example', id }), client));
    await turn();
    expect(parcels).toHaveLength(1);
    deliver();
    expect(asked).toEqual(['192.0.2.1 4001 0', 'fe80::1%eth0 65535 1']);
    expect(clients.map(({ result }) => result)).toEqual(['A 10.0.0.1', 'A 10.0.0.1']);
    expect(clients.map(({ answer }) => answer!.id)).toEqual([0, 1]);
  });

  it('wait for one another while the leader is busy, so that it gets them together', async () => {
    const { worker, deliver } = connect(atOnce);
    const clients = Array.from({ length: 5 }, () => new WaitingClient());
    for (const client of clients) {
      worker.ask(queryFor({ name: 'a.example' }), client);
      await turn();
    }
    expect(parcels).toHaveLength(1);
    deliver();
    expect(parcels).toHaveLength(1);
    deliver();
    expect(clients.map(({ waiting }) => waiting)).toEqual([0, 0, 0, 0, 0]);
    expect(asked).toHaveLength(5);
  });

  it('are lost beyond a bound, like those that a socket has no room for', async () => {
    const { worker, deliver } = connect(atOnce);
    const client = new WaitingClient();
    const name = `${'a'.repeat(60)}.`.repeat(4);
    for (let i = 0; i < 2_000; i++) worker.ask(queryFor({ name }), client);
    const taken = client.waiting;
    expect(taken).toBeGreaterThan(500);
    expect(taken).toBeLessThan(1_100);
    await turn();
    deliver();
    expect(client.waiting).toBe(0);
    worker.ask(queryFor({ name }), client);
    await turn();
    deliver();
    expect(asked).toHaveLength(taken + 1);
  });

  it('are answered later, together with others', async () => {
    const replies: Reply[] = [];
    const { worker, deliver } = connect({
      answer(_query, _out, client) {
        replies.push(client.defer());
        return NO_ANSWER_YET;
      },
    });
    const clients = [new WaitingClient(1), new WaitingClient(2)];
    for (const client of clients) worker.ask(queryFor({ name: 'a.example' }), client);
    await turn();
    deliver();
    expect(clients.map(({ waiting }) => waiting)).toEqual([1, 1]);
    expect(replies.map(({ port }) => port)).toEqual([1, 2]);
    const message = responseTo(queryFor({ name: 'a.example' }), {
      answers: addressRecords(30, '10.0.0.2'),
    });
    // Only the first of several answers counts.
    for (const reply of [...replies, ...replies]) reply.send(message, message.length);
    await turn();
    expect(backs).toHaveLength(1);
    deliver();
    expect(clients.map(({ result }) => result)).toEqual(['A 10.0.0.2', 'A 10.0.0.2']);
  });

  it('give their way back free when they are met with silence, or given up', async () => {
    const { worker, deliver } = connect({
      answer(query, _out, client) {
        if (query.id === 1) client.defer().abandon();
        return NO_ANSWER_YET;
      },
    });
    const client = new WaitingClient();
    for (const id of [0, 1]) worker.ask(queryFor({ name: 'a.example', id }), client);
    await turn();
    deliver();
    await turn();
    deliver();
    expect(client.waiting).toBe(0);
    expect(client.answer).toBeUndefined();
  });

  it('get SERVFAIL where a defect leaves them without another answer', async () => {
    const defect = new Error('a defect');
    const { worker, deliver } = connect({
      answer() {
        throw defect;
      },
    });
    const client = new WaitingClient();
    worker.ask(queryFor({ name: 'a.example' }), client);
    await turn();
    deliver();
    expect(client.result).toBe('SERVFAIL');
    expect(errors).toEqual([defect]);
    expect(counters.failures).toBe(1);
  });
});
