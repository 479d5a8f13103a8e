import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  ask,
  cnameRecord,
  endPrograms,
  type RunningProgram,
  ScriptedNameServer,
  soaRecord,
  statistic,
  until,
} from '@kube-dns/testkit';
import { RCODE } from '@kube-dns/wire';
import { serve } from './processes.js';

const SERVICE = 'kubernetes.default.svc.cluster.local';
const OTHER_DOMAIN = 'www.other.test';

let cluster: ScriptedNameServer;
let stub: ScriptedNameServer;
let others: ScriptedNameServer;
let process: RunningProgram;
let port: number;

/** A server that leads the names `to-…` to another name, and says what that is. */
const leading = () =>
  ScriptedNameServer.start(({ name }) => {
    const target = /^(?:to|negative-to)-(\w+)\./.exec(name)?.[1];
    if (target === undefined) return { answers: addressRecords(100, '10.6.6.6') };
    const owner = { cluster: SERVICE, other: OTHER_DOMAIN, own: 'own.stub.test' }[target]!;
    const cname = cnameRecord(name, owner, 100);
    return name.startsWith('negative')
      ? { rcode: RCODE.NXDOMAIN, answers: [cname], authorities: [soaRecord(60, '.')] }
      : { answers: [cname, { name: owner, type: 'A', ttl: 100, data: '10.6.6.6' }] };
  });

beforeAll(async () => {
  cluster = await ScriptedNameServer.start(() => ({ answers: addressRecords(100, '10.0.0.1') }));
  [stub, others] = await Promise.all([leading(), leading()]);
  ({ process, port } = await serve([
    '--no-resolv',
    `--server=/cluster.local/${cluster.text}`,
    `--server=/stub.test/${stub.text}`,
    `--server=${others.text}`,
  ]));
});

/** Nothing is cached, and no server was asked. */
beforeEach(async () => {
  const clears = () => process.stderr.split('cleared cache').length;
  const before = clears();
  process.signal('SIGHUP');
  await until('an empty cache', () => clears() > before);
  for (const upstream of [cluster, stub, others]) upstream.requests.length = 0;
});

afterAll(async () => {
  await endPrograms();
  await Promise.all([cluster, stub, others].map((upstream) => upstream.close()));
});

const misses = () => statistic(port, 'misses.bind');
const texts = async (name: string) => (await ask(port, name)).texts;

describe('the target of a CNAME that has another route than the question', () => {
  it.each([
    ['a stub domain', 'to-cluster.stub.test'],
    ['the default servers', 'to-cluster.example'],
  ])('is answered to the question of %s only: its own route is asked for it', async (_of, name) => {
    const before = await misses();
    const chain = [`CNAME ${SERVICE}`, 'A 10.6.6.6'];
    expect(await texts(name)).toEqual(chain);
    expect(await texts(SERVICE)).toEqual(['A 10.0.0.1']);
    // The chain is cached as a whole, under the question.
    expect(await texts(name)).toEqual(chain);
    expect(await texts(SERVICE)).toEqual(['A 10.0.0.1']);
    expect([...stub.differentNames, ...others.differentNames]).toEqual([name]);
    expect(cluster.differentNames).toEqual([SERVICE]);
    expect(await misses()).toBe(before + 2);
  });

  it('does not become NXDOMAIN by it', async () => {
    const before = await misses();
    expect((await ask(port, 'negative-to-cluster.stub.test')).rcode).toBe('NXDOMAIN');
    expect(await texts(SERVICE)).toEqual(['A 10.0.0.1']);
    expect((await ask(port, 'negative-to-cluster.stub.test')).rcode).toBe('NXDOMAIN');
    expect(await misses()).toBe(before + 2);
  });

  it('stays what its own route said', async () => {
    const before = await misses();
    expect(await texts(SERVICE)).toEqual(['A 10.0.0.1']);
    await texts('to-cluster.stub.test');
    await ask(port, 'negative-to-cluster.stub.test');
    expect(await texts(SERVICE)).toEqual(['A 10.0.0.1']);
    expect(await misses()).toBe(before + 3);
  });

  it('may be a name of the default servers', async () => {
    await texts('to-other.stub.test');
    await texts(OTHER_DOMAIN);
    expect(others.differentNames).toEqual([OTHER_DOMAIN]);
  });
});

describe('the target of a CNAME that has the route of the question', () => {
  it.each([
    ['to-own.stub.test', 'own.stub.test', () => stub],
    ['to-other.example', OTHER_DOMAIN, () => others],
  ])('is cached with it: %s', async (name, target, server) => {
    await texts(name);
    expect(await texts(target)).toEqual(['A 10.6.6.6']);
    expect(server().differentNames).toEqual([name]);
  });
});
