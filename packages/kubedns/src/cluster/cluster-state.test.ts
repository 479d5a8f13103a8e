import { describe, expect, it } from '@jest/globals';
import type { V1Endpoints, V1EndpointSlice, V1Service } from '@kubernetes/client-node';
import fc from 'fast-check';
import { expectedRecords, reverseOf } from '../../test/model/expected-records.js';
import { Answers } from '../../test/support/answers.js';
import { hashLabel } from '../../test/support/hash-label.js';
import {
  endpointsObject,
  HEADLESS,
  namespaceObject,
  serviceObject,
  sliceObject,
} from '../../test/support/objects.js';

/** What the API says of one object: its new state, or that it is gone. */
type Event = { readonly isGone: boolean } & (
  | { readonly kind: 'services'; readonly object: V1Service }
  | { readonly kind: 'endpointSlices'; readonly object: V1EndpointSlice }
  | { readonly kind: 'endpoints'; readonly object: V1Endpoints }
);

const SERVICES = ['web', 'db'];
const SLICES = ['s1', 's2', 's3'];
const V4 = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];
const V6 = ['fd00::1', 'fd00::2'];
const HOSTNAMES = ['a', 'b'];
const PORTS = ['http', 'dns'];
const LABELS = [...HOSTNAMES, ...[...V4, ...V6].map(hashLabel)];

/** Every name that the objects of these tests can bring about. */
const NAMES: readonly string[] = [
  'default.svc.cluster.local',
  ...SERVICES.map((name) => `${name}.default.svc.cluster.local`).flatMap((service) => [
    service,
    `_tcp.${service}`,
    ...PORTS.map((port) => `_${port}._tcp.${service}`),
    ...LABELS.flatMap((label) => [
      `${label}.${service}`,
      ...PORTS.map((port) => `${label}._${port}._tcp.${service}`),
    ]),
  ]),
  ...[...V4, ...V6].map(reverseOf),
];

function tell(answers: Answers, { kind, object, isGone }: Event): void {
  const objects = answers.cluster[kind];
  if (isGone) objects.delete(object);
  else objects.put(object);
}

/** Everything that the answers tell about the names; undefined for names that do not exist. */
async function contents(answers: Answers): Promise<object> {
  const all: Record<string, string[] | undefined> = {};
  for (const name of NAMES) {
    const { rcode } = await answers.ask(name, name.endsWith('arpa') ? 'PTR' : 'CNAME');
    all[name] = rcode === 'NOERROR' ? await answers.records(name) : undefined;
  }
  return all;
}

/** The same, computed from the last state of each object. */
function expected(events: readonly Event[]): object {
  const last = new Map(
    events.map((event) => [`${event.kind} ${event.object.metadata?.name}`, event]),
  );
  const alive = [...last.values()].filter(({ isGone }) => !isGone);
  const records = expectedRecords({
    services: alive.flatMap((event) => (event.kind === 'services' ? [event.object] : [])),
    slices: alive.flatMap((event) => (event.kind === 'endpointSlices' ? [event.object] : [])),
    endpoints: alive.flatMap((event) => (event.kind === 'endpoints' ? [event.object] : [])),
  });
  return Object.fromEntries(
    NAMES.map((name) => {
      const found = records.get(name);
      return [name, found && [...found].sort()];
    }),
  );
}

const ports = fc
  .subarray(PORTS)
  .chain((names) => fc.tuple(fc.constant(names), fc.integer({ min: 1, max: 3 })))
  .map(([names, first]) => names.map((name, i) => ({ name, port: first + i })));

const services = fc
  .record({
    name: fc.constantFrom(...SERVICES),
    isGone: fc.boolean(),
    fields: fc.oneof(
      { arbitrary: fc.constant(HEADLESS), weight: 2 },
      fc.record({ clusterIPs: fc.subarray([...V4, ...V6], { minLength: 1, maxLength: 2 }), ports }),
      fc.record({ externalName: fc.constantFrom('unknown.example.com', '192.0.2.1') }),
    ),
  })
  .map(({ name, isGone, fields }): Event => ({
    kind: 'services',
    isGone,
    object: serviceObject({ name, ...fields }),
  }));

const slices = fc
  .record({
    name: fc.constantFrom(...SLICES),
    isGone: fc.boolean(),
    service: fc.constantFrom(...SERVICES, ''),
    ports,
    endpoints: fc.array(
      fc.record(
        {
          addresses: fc.subarray([...V4, ...V6], { minLength: 1, maxLength: 1 }),
          hostname: fc.constantFrom(...HOSTNAMES),
          isReady: fc.boolean(),
        },
        { requiredKeys: ['addresses'] },
      ),
      { maxLength: 4 },
    ),
  })
  .map(({ isGone, ...fields }): Event => ({
    kind: 'endpointSlices',
    isGone,
    object: sliceObject(fields),
  }));

const endpoints = fc
  .record({
    name: fc.constantFrom(...SERVICES),
    isGone: fc.boolean(),
    subsets: fc.array(
      fc.record({
        addresses: fc.array(
          fc.record(
            { ip: fc.constantFrom(...V4, ...V6), hostname: fc.constantFrom(...HOSTNAMES) },
            { requiredKeys: ['ip'] },
          ),
          { maxLength: 3 },
        ),
        ports,
      }),
      { maxLength: 2 },
    ),
  })
  .map(({ isGone, ...fields }): Event => ({
    kind: 'endpoints',
    isGone,
    object: endpointsObject(fields),
  }));

/** Slices come most often: of what they may do to each other there is most. */
const histories = fc.array(fc.oneof(services, { arbitrary: slices, weight: 2 }, endpoints), {
  maxLength: 25,
});

describe('ClusterState', () => {
  it('ends with the records of the last objects, for any history and order', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (events) => {
        const answers = new Answers();
        for (const event of events) tell(answers, event);
        expect(await contents(answers)).toEqual(expected(events));
      }),
      { numRuns: 300 },
    );
  });

  it('is right after every single event as well, with questions in between', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (events) => {
        const answers = new Answers();
        for (const [i, event] of events.entries()) {
          tell(answers, event);
          expect(await contents(answers)).toEqual(expected(events.slice(0, i + 1)));
        }
      }),
      { numRuns: 40 },
    );
  });

  it('is empty when every object was deleted', () => {
    fc.assert(
      fc.property(histories, (events) => {
        const answers = new Answers();
        const { zone } = answers.cluster;
        for (const event of events) tell(answers, event);
        for (const event of events) tell(answers, { ...event, isGone: true });
        expect(zone.namespaces.size).toBe(0);
        expect(zone.addressCount).toBe(0);
      }),
    );
  });

  it('assigns the endpoints of a slice to the service that its label names now', async () => {
    const answers = new Answers();
    const { services: objects, endpointSlices } = answers.cluster;
    for (const name of SERVICES) objects.put(serviceObject({ name, ...HEADLESS }));
    const hostNames = async () => {
      const found: string[] = [];
      for (const name of NAMES.filter((each) => each.startsWith('a.'))) {
        if ((await answers.ask(name, 'A')).rcode === 'NOERROR') found.push(name);
      }
      return found;
    };
    const slice = (service: string) =>
      sliceObject({ name: 's1', service, endpoints: [{ addresses: ['10.0.0.1'], hostname: 'a' }] });
    endpointSlices.put(slice('web'));
    expect(await hostNames()).toEqual(['a.web.default.svc.cluster.local']);
    endpointSlices.put(slice('db'));
    expect(await hostNames()).toEqual(['a.db.default.svc.cluster.local']);
    endpointSlices.put(slice(''));
    expect(await hostNames()).toEqual([]);
  });

  it('separates slices and services of one name in two namespaces', async () => {
    const answers = new Answers();
    for (const namespace of ['one', 'two']) {
      answers.cluster.services.put(serviceObject({ namespace, ...HEADLESS }));
    }
    const endpoints = ['10.0.0.1'];
    answers.cluster.endpointSlices.put(sliceObject({ namespace: 'one', endpoints }));
    const rcode = async (namespace: string) =>
      (await answers.ask(`web.${namespace}.svc.cluster.local`, 'A')).rcode;
    expect([await rcode('one'), await rcode('two')]).toEqual(['NOERROR', 'NXDOMAIN']);
  });

  it('lets a namespace exist below svc and below pod', async () => {
    const answers = new Answers();
    answers.cluster.zone.hasAllNamespaces = true;
    const rcodes = () =>
      Promise.all(
        ['svc', 'pod'].map(
          async (parent) => (await answers.ask(`empty.${parent}.cluster.local`, 'A')).rcode,
        ),
      );
    answers.cluster.namespaces.put(namespaceObject('empty'));
    expect(await rcodes()).toEqual(['NOERROR', 'NOERROR']);
    answers.cluster.namespaces.delete(namespaceObject('empty'));
    expect(await rcodes()).toEqual(['NXDOMAIN', 'NXDOMAIN']);
  });

  it('does not let endpoints of a service that is not there make a namespace', async () => {
    const answers = new Answers();
    answers.cluster.endpointSlices.put(sliceObject({ endpoints: ['10.0.0.1'] }));
    expect((await answers.ask('default.svc.cluster.local', 'A')).rcode).toBe('NXDOMAIN');
  });
});
