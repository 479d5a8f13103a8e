import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ExchangeError, type ExchangeDone, type ExchangeRequest } from '@kube-dns/transport';
import { decodeName, encodeKey, readUint16, skipName } from '@kube-dns/wire';
import { NotifyMessages, NotifyTarget } from './notify-sender.js';

const ZONES = ['cluster.local', 'in-addr.arpa'];
const zone = { apex: encodeKey('cluster.local'), soaRdata: new Uint8Array(22) };
const nameOf = (label: string) => `${label}.default.svc.cluster.local`;

/** A message at the server; it waits for its reply until its time is over. */
interface Sent {
  readonly atMs: number;
  readonly id: number;
  readonly name: string;
  readonly reply: () => void;
  readonly fail: (reason: string) => void;
}

let sent: Sent[];
let log: string[];
let target: NotifyTarget;

/** In place of a socket. */
function ask({ query, timeoutMs }: ExchangeRequest, done: ExchangeDone) {
  let isOver = false;
  const end = (error: ExchangeError | null, reply: Buffer | null) => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    done(error, reply);
  };
  const fail = (reason: string) => end(new ExchangeError('timeout', reason), null);
  const timer = setTimeout(() => fail(`no reply within ${timeoutMs} ms`), timeoutMs);
  sent.push({
    atMs: performance.now(),
    id: readUint16(query, 0),
    name: decodeName(query.subarray(12, skipName(query, 12, query.length))),
    reply: () => end(null, Buffer.from(query)),
    fail,
  });
  const cancel = () => {
    isOver = true;
    clearTimeout(timer);
  };
  return { cancel };
}

beforeEach(() => {
  jest.useFakeTimers();
  sent = [];
  log = [];
  target = new NotifyTarget({
    server: { address: '192.0.2.1', port: 53 },
    messages: new NotifyMessages(zone, 30, undefined),
    log: { warn: (text) => log.push(text) },
    ask,
  });
});
afterEach(() => {
  target.close();
  jest.useRealTimers();
});

const notify = (...names: string[]) => {
  for (const name of names) target.notify(encodeKey(name));
};
const names = () => sent.map(({ name }) => name);
/** Every message so far has its reply. */
const replyToAll = () => {
  for (const { reply } of sent) reply();
};

describe('a target of --notify', () => {
  it('gets a name again after 0.1, 0.4 and 1.6 s, under the same ID, then is given up and logged', () => {
    const startMs = performance.now();
    notify(nameOf('web'));
    jest.advanceTimersByTime(4_000);
    const tenths = sent.map(({ atMs }) => Math.floor((atMs - startMs) / 100));
    expect(tenths).toEqual([0, 1, 5, 21]);
    expect(new Set(sent.map(({ id }) => id)).size).toBe(1);
    expect(target.results.given_up).toBe(0);
    jest.advanceTimersByTime(200);
    expect(target).toMatchObject({ sent: 4, results: { given_up: 1 } });
    expect(log).toEqual(['192.0.2.1#53 does not reply to NOTIFY: no reply within 2000 ms']);
  });

  it('that is a secondary gets the zone in place of each name', () => {
    target = new NotifyTarget({
      server: { address: '192.0.2.1', port: 53 },
      messages: new NotifyMessages(zone, 30, undefined),
      log: { warn: (text) => log.push(text) },
      isSecondary: true,
      ask,
    });
    notify(nameOf('web'), nameOf('db'), '1.0.0.10.in-addr.arpa');
    expect(names()).toEqual(ZONES);
  });

  it('is logged once a minute', () => {
    for (let i = 0; i < 17; i++) {
      notify(nameOf('web'));
      jest.advanceTimersByTime(4_200);
    }
    expect(log).toHaveLength(2);
  });

  it('is not asked sooner, nor given up, because its port is closed at first', () => {
    notify(nameOf('web'));
    sent[0]!.fail('connection refused');
    jest.advanceTimersByTime(99);
    expect(sent).toHaveLength(1);
    jest.advanceTimersByTime(1);
    sent[1]!.reply();
    expect(target.results).toEqual({ acknowledged: 1, refused: 0, given_up: 0 });
    expect(log).toEqual([]);
  });

  it('gets a name that changes all the time once in 50 ms, the last change included', () => {
    for (let ms = 0; ms < 200; ms += 10) {
      notify(nameOf('web'));
      replyToAll();
      jest.advanceTimersByTime(10);
    }
    jest.advanceTimersByTime(50);
    const startMs = sent[0]!.atMs;
    expect(sent.map(({ atMs }) => atMs - startMs)).toEqual([0, 50, 100, 150, 200]);
  });

  it('gets the zone in place of more than 16 names, and of reverse names theirs', () => {
    notify(...Array.from({ length: 16 }, (_, i) => nameOf(`s${i}`)));
    expect(sent).toHaveLength(16);
    for (let i = 0; i < 1_000; i++) notify(nameOf(`t${i}`), `${i}.0.0.10.in-addr.arpa`);
    expect(names().slice(16)).toEqual(ZONES);
  });

  it('is sent no more than 100 messages a second, however much changes', () => {
    const SECONDS = 3;
    let count = 0;
    for (let ms = 0; ms < SECONDS * 1_000; ms += 5) {
      for (let i = 0; i < 50; i++) notify(nameOf(`s${++count}`), `${i}.0.0.10.in-addr.arpa`);
      replyToAll();
      jest.advanceTimersByTime(5);
    }
    // 16 at first, 40 names and 20 of each zone a second.
    expect(sent.length).toBeLessThanOrEqual(16 + 80 * SECONDS + 3);
    expect(sent.length).toBeGreaterThan(40 * SECONDS);
  });
});
