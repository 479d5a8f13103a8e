import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLog } from '@kube-dns/daemon';
import type { DecodedMessage } from '@kube-dns/wire';
import { FakePacing } from '../test/fake-pacing.js';
import { addressRecord, replyWith } from '../test/replies.js';
import { healthJson, parseProbeSpec, Probe } from './probe.js';

const OK = { isOk: true, latencySeconds: 0.0125, error: '' };

let pacing: FakePacing;
let lines: string[];
let ask: (signal: AbortSignal) => Promise<DecodedMessage>;
let probe: Probe;

beforeEach(() => {
  pacing = new FakePacing();
  lines = [];
  ask = () => {
    pacing.timeMs += 12.5;
    return Promise.resolve(replyWith(addressRecord));
  };
  probe = new Probe({
    spec: parseProbeSpec('sample,127.0.0.1,example.com,5,A'),
    ask: (signal) => ask(signal),
    pacing,
    log: createLog({ name: 'test', verbosity: 3, write: (line) => lines.push(line) }),
  });
});
afterEach(() => probe.close());

const failWith = (message: string) => () => Promise.reject(new Error(message));
const failed = (error: string) => ({ isOk: false, latencySeconds: 0, error });

describe('Probe', () => {
  it('is not healthy before its first result, which follows after a random part of the interval', async () => {
    probe.start();
    expect(await pacing.paused()).toBe(2_500);
    expect(probe.health()).toEqual(failed('waiting for first probe'));
    await pacing.next();
    expect(probe.health()).toEqual(OK);
  });

  it('observes the latency of a success and asks again one interval after the query', async () => {
    probe.start();
    expect(await pacing.next()).toBe(5_000 - 12.5);
    expect(probe.latencyMs.count).toBe(1);
    expect(probe.latencyMs.sum).toBe(12.5);
    expect(probe.errors).toBe(0);
    await pacing.next();
    expect(probe.latencyMs.count).toBe(2);
  });

  it('has the buckets of the original', () => {
    expect(probe.latencyMs.bounds).toEqual([
      0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192,
    ]);
  });

  it('counts a failure, leaves the histogram alone, and recovers with the next success', async () => {
    const succeed = ask;
    ask = failWith('no reply');
    probe.start();
    expect(await pacing.next()).toBe(5_000);
    expect(probe.health()).toEqual(failed('no reply'));
    expect(probe.errors).toBe(1);
    expect(probe.latencyMs.count).toBe(0);
    ask = succeed;
    await pacing.next();
    expect(probe.health()).toEqual(OK);
    expect(probe.errors).toBe(1);
  });

  it('counts a reply without answer records as a failure', async () => {
    ask = () => Promise.resolve(replyWith());
    probe.start();
    await pacing.next();
    expect(probe.health()).toEqual(failed('no RRs for domain "example.com."'));
  });

  it('asks again immediately when a reply takes longer than the interval', async () => {
    ask = () => {
      pacing.timeMs += 6_000;
      return Promise.resolve(replyWith(addressRecord));
    };
    probe.start();
    expect(await pacing.next()).toBe(0);
  });

  it('returns the age of its last result, good or bad, and none before the first', async () => {
    probe.start();
    await pacing.paused();
    expect(probe.ageMs()).toBeNull();
    await pacing.next();
    pacing.timeMs += 700;
    expect(probe.ageMs()).toBe(700);
    ask = failWith('no reply');
    await pacing.next();
    expect(probe.ageMs()).toBe(0);
  });

  it('is not healthy any more once its last result is older than three intervals', async () => {
    probe.start();
    await pacing.next();
    pacing.timeMs += 15_000;
    expect(probe.health()).toEqual(OK);
    pacing.timeMs += 1;
    expect(probe.health()).toEqual(failed('last probe was 15 s ago'));
  });

  it('logs once that it fails or succeeds, and each failure with -v=3', async () => {
    const succeed = ask;
    probe.start();
    await pacing.next();
    await pacing.next();
    ask = failWith('no reply');
    await pacing.next();
    await pacing.next();
    ask = succeed;
    await pacing.next();
    expect(lines.map((line) => line[0]! + ' ' + line.trim().split('] ')[1]!)).toEqual([
      'I probe sample: ok',
      'W probe sample: failing: no reply',
      'I probe sample: still failing: no reply',
      'I probe sample: ok',
    ]);
  });

  it('cancels the query in flight when it is closed, and counts nothing', async () => {
    const asked = new Promise<AbortSignal>((resolve) => {
      ask = (signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('canceled')));
          resolve(signal);
        });
    });
    probe.start();
    await pacing.paused();
    void pacing.next();
    const signal = await asked;
    probe.close();
    probe.close();
    await new Promise((resolve) => setImmediate(resolve));
    expect(signal.aborted).toBe(true);
    expect(probe.errors).toBe(0);
    expect(lines).toEqual([]);
  });
});

describe('healthJson', () => {
  it('writes the keys in the order of the original', () => {
    expect(healthJson({ isOk: true, latencySeconds: 0.000512, error: '' })).toBe(
      '{"IsOk":true,"LatencySeconds":0.000512,"Err":""}',
    );
  });

  it('escapes as Go does', () => {
    const json = healthJson({ isOk: false, latencySeconds: 0, error: '<a> & "b"\n\u2028' });
    expect(json).toBe(
      '{"IsOk":false,"LatencySeconds":0,"Err":"\\u003ca\\u003e \\u0026 \\"b\\"\\n\\u2028"}',
    );
    expect((JSON.parse(json) as { Err: string }).Err).toBe('<a> & "b"\n\u2028');
  });
});

const FORMAT = 'must be <label>,<server>,<name>[,<interval>[,<type>]]';
const LABEL = 'the label must be letters, digits and _';
const INTERVAL = 'the interval must be whole seconds from 1 to 2147483';
const TYPE = 'the type must be one of A, AAAA, ANY, SRV';

describe('parseProbeSpec', () => {
  it('reads the probe of the stock manifest', () => {
    expect(
      parseProbeSpec('kubedns,127.0.0.1:10053,kubernetes.default.svc.cluster.local,5,SRV'),
    ).toEqual({
      label: 'kubedns',
      server: { host: '127.0.0.1', port: 10_053 },
      name: 'kubernetes.default.svc.cluster.local.',
      intervalMs: 5_000,
      type: 'SRV',
    });
  });

  it('asks port 53 for ANY every 5 s by default', () => {
    expect(parseProbeSpec('a_1,10.0.0.1,example.com.')).toEqual({
      label: 'a_1',
      server: { host: '10.0.0.1', port: 53 },
      name: 'example.com.',
      intervalMs: 5_000,
      type: 'ANY',
    });
  });

  it('reads an empty name as the root', () => {
    expect(parseProbeSpec('a,b,').name).toBe('.');
  });

  it.each([['A'], ['AAAA'], ['ANY'], ['SRV']])('accepts the type %s', (type) => {
    expect(parseProbeSpec(`a,b,c,1,${type}`).type).toBe(type);
  });

  it.each([
    ['', FORMAT],
    ['a,b', FORMAT],
    ['a,b,c,5,A,x', FORMAT],
    ['dn$m@s#,b,c', LABEL],
    [',b,c', LABEL],
    [' a,b,c', LABEL],
    ['a,b,c,0.5', INTERVAL],
    ['a,b,c,abc', INTERVAL],
    ['a,b,c,', INTERVAL],
    ['a,b,c,99999999999999999999', INTERVAL],
    ['a,b,c,0', INTERVAL],
    ['a,b,c,-3,A', INTERVAL],
    ['a,b,c,2147484', INTERVAL],
    ['a,b,c,x,y', INTERVAL],
    ['a,b,c,5,BogusType', TYPE],
    ['a,b,c,5,a', TYPE],
    ['a,b,c,5,', TYPE],
    ['a,b:c,d', 'port "c" is not a number up to 65535'],
  ])('refuses %j', (text, message) => {
    expect(() => parseProbeSpec(text)).toThrow(expect.objectContaining({ message }));
  });

  it('refuses a name that no query can hold', () => {
    expect(() => parseProbeSpec(`a,b,${'x'.repeat(64)}.com`)).toThrow('label longer than 63 bytes');
  });
});
