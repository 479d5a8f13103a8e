import type { V1Endpoints, V1EndpointSlice, V1Service } from '@kubernetes/client-node';
import fc from 'fast-check';
import { reverseOf } from '../model/expected-records.js';
import type { Answers } from './answers.js';
import { hashLabel } from './hash-label.js';
import { endpointsObject, HEADLESS, serviceObject, sliceObject } from './objects.js';

/** What the API says of one object: its new state, or that it is gone. */
export type ObjectEvent = { readonly isGone: boolean } & (
  | { readonly kind: 'services'; readonly object: V1Service }
  | { readonly kind: 'endpointSlices'; readonly object: V1EndpointSlice }
  | { readonly kind: 'endpoints'; readonly object: V1Endpoints }
);

/** The names of all services. */
export const SERVICES = ['web', 'db'];
const SLICES = ['s1', 's2', 's3'];
const V4 = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];
const V6 = ['fd00::1', 'fd00::2'];
const HOSTNAMES = ['a', 'b'];
const PORTS = ['http', 'dns'];
const LABELS = [...HOSTNAMES, ...[...V4, ...V6].map(hashLabel)];

/** Every name that the objects of these tests can bring about. */
export const NAMES: readonly string[] = [
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

/** Passes an event on. */
export function tell(answers: Answers, { kind, object, isGone }: ObjectEvent): void {
  const objects = answers.cluster[kind];
  if (isGone) objects.delete(object);
  else objects.put(object);
}

/** What the answers tell about each name. */
export type Contents = Record<string, readonly string[] | undefined>;

/** Everything that the answers tell about the names; undefined for names that do not exist. */
export async function contents(answers: Answers): Promise<Contents> {
  const all: Contents = {};
  for (const name of NAMES) {
    const { rcode } = await answers.ask(name, name.endsWith('arpa') ? 'PTR' : 'CNAME');
    all[name] = rcode === 'NOERROR' ? await answers.records(name) : undefined;
  }
  return all;
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
  .map(({ name, isGone, fields }): ObjectEvent => ({
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
  .map(({ isGone, ...fields }): ObjectEvent => ({
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
  .map(({ isGone, ...fields }): ObjectEvent => ({
    kind: 'endpoints',
    isGone,
    object: endpointsObject(fields),
  }));

/** Slices come most often: of what they may do to each other there is most. */
export const histories = fc.array(fc.oneof(services, { arbitrary: slices, weight: 2 }, endpoints), {
  maxLength: 25,
});
