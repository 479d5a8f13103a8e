import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { expectedRecords } from '../../test/model/expected-records.js';
import { Answers } from '../../test/support/answers.js';
import {
  contents,
  histories,
  NAMES,
  type ObjectEvent,
  SERVICES,
  tell,
} from '../../test/support/object-histories.js';
import {
  HEADLESS,
  namespaceObject,
  serviceObject,
  sliceObject,
} from '../../test/support/objects.js';

/** What `contents` is to be, computed from the last state of each object. */
function expected(events: readonly ObjectEvent[]): object {
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
        expect(zone.addresses.size).toBe(0);
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
