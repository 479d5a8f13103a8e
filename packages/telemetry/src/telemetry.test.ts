import { describe, expect, it } from '@jest/globals';
import { type AddressedClient, SOURCE } from '@kube-dns/transport';
import { CLASS, decodeName, encodeQuery, Query } from '@kube-dns/wire';
import type { ObservedAnswer } from './observed-answer.js';
import { Telemetry } from './telemetry.js';

const SERVER = { address: '192.0.2.53', port: 53 };
const ANSWER = Uint8Array.of(1, 2, 3, 4);

function clientAt(last: number, port: number): AddressedClient {
  return {
    address: `10.0.0.${last}`,
    port,
    copyAddress: (to, at) => {
      to.set([10, 0, 0, last], at);
      return 4;
    },
    answersFrom: () => undefined,
    defer: () => {
      throw new Error('not here');
    },
  };
}

function queryFor(name: string, type: 'A' | 'TXT' = 'A'): Query {
  const query = new Query();
  const bytes = encodeQuery({ id: 1, name, type });
  query.read(bytes, bytes.length, false, 1_232);
  return query;
}

/** What a sink keeps of an answer: it is another one afterwards. */
function noted(): { rows: unknown[]; answered: (answer: ObservedAnswer) => void } {
  const rows: unknown[] = [];
  return {
    rows,
    answered: ({
      query,
      address,
      addressBytes,
      port,
      startedMs,
      endedMs,
      length,
      source,
      server,
    }) => {
      const client = `${address.subarray(0, addressBytes).join('.')}:${port}`;
      rows.push([decodeName(query.name), client, endedMs - startedMs, length, source, server]);
    },
  };
}

describe('Telemetry', () => {
  it('leaves the questions of the sidecar out of the lists and of what sinks get', () => {
    const telemetry = new Telemetry();
    const sink = noted();
    telemetry.add(sink);
    const loopback: AddressedClient = {
      ...clientAt(1, 1_000),
      copyAddress: (to, at) => {
        to.set([127, 0, 0, 1], at);
        return 4;
      },
    };
    const probe = new Query();
    const bytes = encodeQuery({ id: 1, name: 'kubernetes.default.svc.a.test', type: 'SRV' });
    probe.read(bytes, bytes.length, false, 1_232);
    const ofChaos = (type: 'A' | 'TXT') => {
      const query = queryFor('hits.bind', type);
      query.class = CLASS.CH;
      return query;
    };
    for (const [query, client] of [
      [probe, loopback],
      [ofChaos('TXT'), loopback],
      [ofChaos('A'), loopback],
      [probe, clientAt(2, 1_000)],
      [queryFor('kubernetes.default.svc.a.test'), loopback],
    ] as const) {
      telemetry.begin(query, client);
      telemetry.answered(ANSWER, 4, SOURCE.CACHE);
    }
    expect(telemetry.bySource[SOURCE.CACHE]).toBe(5);
    expect(sink.rows).toHaveLength(3);
    expect(telemetry.top.sections()).toMatchObject({
      'Top names': [
        { name: 'kubernetes.default.svc.a.test', questions: 2 },
        { name: 'hits.bind', questions: 1 },
      ],
      'Not in the top lists': { questionsOfTheSidecarSinceTheStart: 2 },
    });
  });

  it('counts answers by source, with and without sinks', () => {
    const telemetry = new Telemetry();
    const answer = (): void => {
      telemetry.begin(queryFor('a.test'), clientAt(1, 1_000));
      telemetry.answered(ANSWER, 4, SOURCE.CACHE);
      telemetry.begin(queryFor('b.test'), clientAt(1, 1_000));
      telemetry.retain().answered(ANSWER, 4, SOURCE.UPSTREAM, SERVER);
    };
    answer();
    telemetry.add(noted());
    answer();
    expect(telemetry.bySource).toEqual([0, 0, 0, 2, 0, 2, 0]);
  });

  it('passes each answer to every sink, with its query, its client and its time', () => {
    let now = 0;
    const telemetry = new Telemetry({ now: () => now });
    const [first, second] = [noted(), noted()];
    telemetry.add(first);
    telemetry.add(second);
    telemetry.begin(queryFor('A.test'), clientAt(1, 1_000));
    const later = telemetry.retain();
    now = 3;
    telemetry.begin(queryFor('b.test'), clientAt(2, 2_000));
    now = 5;
    telemetry.answered(ANSWER, 4, SOURCE.CACHE);
    now = 40;
    later.answered(ANSWER, 3, SOURCE.UPSTREAM, SERVER);
    const rows = [
      ['b.test', '10.0.0.2:2000', 2, 4, SOURCE.CACHE, undefined],
      ['a.test', '10.0.0.1:1000', 40, 3, SOURCE.UPSTREAM, SERVER],
    ];
    expect([first.rows, second.rows]).toEqual([rows, rows]);
  });

  it('keeps a query until its answer, whatever is read or retained after it', () => {
    const telemetry = new Telemetry({ now: () => 0 });
    const sink = noted();
    telemetry.add(sink);
    const query = queryFor('first.test');
    telemetry.begin(query, clientAt(1, 1));
    const first = telemetry.retain();
    query.bytes.fill(0);
    telemetry.begin(queryFor('second.test'), clientAt(2, 2));
    const second = telemetry.retain();
    second.answered(ANSWER, 4, SOURCE.JOINED, SERVER);
    telemetry.begin(queryFor('third.test'), clientAt(3, 3));
    const third = telemetry.retain();
    first.answered(ANSWER, 4, SOURCE.UPSTREAM, SERVER);
    third.answered(ANSWER, 0, SOURCE.NONE, undefined);
    expect(sink.rows.map((row) => (row as unknown[]).slice(0, 2))).toEqual([
      ['second.test', '10.0.0.2:2'],
      ['first.test', '10.0.0.1:1'],
      ['third.test', '10.0.0.3:3'],
    ]);
  });

  it('passes no answer to a sink whose query came before it, or that is removed', () => {
    const telemetry = new Telemetry();
    const sink = noted();
    telemetry.begin(queryFor('a.test'), clientAt(1, 1));
    const before = telemetry.retain();
    telemetry.add(sink);
    before.answered(ANSWER, 4, SOURCE.UPSTREAM, SERVER);
    telemetry.begin(queryFor('a.test'), clientAt(1, 1));
    const open = telemetry.retain();
    telemetry.remove(sink);
    open.answered(ANSWER, 4, SOURCE.UPSTREAM, SERVER);
    expect(sink.rows).toEqual([]);
  });

  it.each([[false], [true]])('counts slow answers, with sinks: %p', (isWatched) => {
    let now = 0;
    const telemetry = new Telemetry({ now: () => now });
    telemetry.slowMs = 250;
    if (isWatched) telemetry.add(noted());
    for (const ms of [249, 250, 4_000]) {
      telemetry.begin(queryFor('a.test'), clientAt(1, 1));
      const later = telemetry.retain();
      now += ms;
      later.answered(ANSWER, 4, SOURCE.UPSTREAM, SERVER);
    }
    expect(telemetry.slow).toBe(2);
  });
});
