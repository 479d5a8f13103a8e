import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addressRecords, ask, endPrograms, ScriptedNameServer, statistic } from '@kube-dns/testkit';
import { RCODE } from '@kube-dns/wire';
import { serve, type Serving } from './processes.js';

let upstream: ScriptedNameServer;
let dnsmasq: Serving;
/** Says its statistics as often as it can. */
let talkative: Serving;

beforeAll(async () => {
  upstream = await ScriptedNameServer.start(({ name }) =>
    name.startsWith('x')
      ? { rcode: RCODE.NXDOMAIN }
      : { answers: addressRecords(100, '10.0.0.1', '10.0.0.2') },
  );
  [dnsmasq, talkative] = await Promise.all([
    serve([`--server=${upstream.text}`, '--no-resolv', '--cache-size=100']),
    serve(['--no-resolv'], ['-logInterval=1ns']),
  ]);
});

afterAll(async () => {
  await endPrograms();
  await upstream.close();
});

const numbers = async (...names: string[]) => {
  const values: number[] = [];
  for (const name of names) values.push(await statistic(dnsmasq.port, `${name}.bind`));
  return values;
};

describe('the cache', () => {
  it('counts, in the names of class CHAOS', async () => {
    const { port } = dnsmasq;
    expect(await numbers('cachesize', 'misses', 'insertions', 'evictions')).toEqual([100, 0, 0, 0]);
    for (const name of ['a', 'b', 'a', 'A', 'x', 'x']) await ask(port, name);
    expect(upstream.differentNames).toEqual(['a', 'b', 'x']);
    expect(await numbers('misses', 'insertions')).toEqual([4, 4]);
    // Two hits, and the six statistics before this one.
    expect(await numbers('hits')).toEqual([2 + 6]);
  });

  it('is emptied by SIGHUP, not so the counts of hits and misses', async () => {
    dnsmasq.process.signal('SIGHUP');
    await dnsmasq.process.waitForLine('cleared cache');
    expect(await numbers('insertions', 'misses')).toEqual([0, 4]);
    await ask(dnsmasq.port, 'a');
    expect(await numbers('misses')).toEqual([5]);
  });

  it('drops what is longest unused when it is full', async () => {
    const { port } = dnsmasq;
    for (let i = 0; i < 50; i++) await ask(port, `n${i}`);
    expect(await numbers('insertions', 'evictions')).toEqual([102, 1]);
    const [before = 0] = await numbers('misses');
    await ask(port, 'n49');
    expect(await numbers('misses')).toEqual([before]);
    await ask(port, 'a');
    expect(await numbers('misses')).toEqual([before + 1]);
  });
});

describe('the statistics', () => {
  it('are in the log after SIGUSR1', async () => {
    dnsmasq.process.signal('SIGUSR1');
    await dnsmasq.process.waitForLine(`server ${upstream.text}: queries sent`);
  });

  it('are in the log by themselves with -logInterval', async () => {
    await talkative.process.waitForLine('queries forwarded');
  });
});
