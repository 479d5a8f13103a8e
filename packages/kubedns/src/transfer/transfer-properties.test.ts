import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { Cluster } from '../../test/support/cluster.js';
import { hashLabel } from '../../test/support/hash-label.js';
import {
  type EndpointFields,
  HEADLESS,
  serviceObject,
  sliceObject,
} from '../../test/support/objects.js';
import { textsAt } from '../../test/support/record-text.js';
import { Secondary } from '../../test/support/secondary.js';
import { replayIxfr } from '../../test/support/zone-replay.js';

const ZONE = 'cluster.local';
const REVERSE = '10.in-addr.arpa';
const PORTS = [[], [{ name: 'http', port: 80 }], [{ port: 9 }, { name: 'dns', port: 53 }]];

/** A change of one of a few services, or of a slice; or nothing but time. */
const changes = fc.array(
  fc.record({
    what: fc.constantFrom('service', 'headless', 'name', 'delete', 'slice', 'noSlice', 'time'),
    service: fc.integer({ min: 0, max: 3 }),
    number: fc.integer({ min: 0, max: 3 }),
  }),
  { minLength: 1, maxLength: 6 },
);
type Change = (typeof changes extends fc.Arbitrary<infer T> ? T : never)[number];

function apply(cluster: Cluster, { what, service, number }: Change): void {
  const { services, endpointSlices } = cluster;
  const name = `s${service}`;
  const ports = PORTS[number % PORTS.length]!;
  const sliceName = `${name}-${number % 2}`;
  const named = { addresses: [`10.1.0.${number}`], hostname: `h${number}` };
  const endpoints = [named, `10.1.${service}.${number}`, '10.1.9.9'].slice(number % 2);
  switch (what) {
    case 'service':
      services.put(serviceObject({ name, clusterIPs: [`10.0.0.${number}`], ports }));
      return;
    case 'headless':
      services.put(serviceObject({ name, ...HEADLESS }));
      return;
    case 'name':
      services.put(serviceObject({ name, externalName: `e${number}.example.com` }));
      return;
    case 'delete':
      services.delete(serviceObject({ name }));
      return;
    case 'slice':
      endpointSlices.put(sliceObject({ name: sliceName, service: name, endpoints, ports }));
      return;
    case 'noSlice':
      endpointSlices.delete(sliceObject({ name: sliceName, service: name }));
      return;
    case 'time':
  }
}

describe('whatever changes between transfers', () => {
  it('an IXFR of any older serial leads to the zone that an AXFR has, and a serial is that of one zone', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(changes, { minLength: 2, maxLength: 6 }), async (turns) => {
        let nowMs = 1_700_000_000_000;
        const cluster = new Cluster('hash', () => nowMs);
        const secondary = new Secondary(cluster);
        const older = new Map<string, { serial: number; content: string[] }>();
        for (const [turn, parts] of turns.entries()) {
          for (const part of parts) {
            if (part.what === 'time') nowMs += 500 * part.number;
            apply(cluster, part);
          }
          for (const zone of [ZONE, REVERSE]) {
            const { content, serials } = await secondary.transfer(zone);
            const serial = serials[0]!;
            for (const [key, before] of older) {
              if (!key.startsWith(zone)) continue;
              const { answer, stream } = secondary.ask(zone, 'IXFR', { serial: before.serial });
              await secondary.settle();
              const records = answer === undefined ? stream.records : [`${zone} SOA .`];
              expect(replayIxfr(before.content, records)).toEqual(content);
              if (answer !== undefined) expect(before.serial).toBe(serial);
            }
            older.set(`${zone} ${turn}`, { serial, content });
          }
        }
      }),
      { numRuns: 20 },
    );
  });

  it('each name has the records that it is answered with, and each address of a host leads back to it', async () => {
    await fc.assert(
      fc.asyncProperty(changes, async (parts) => {
        const cluster = new Cluster();
        for (const part of parts) apply(cluster, part);
        await expectConsistent(cluster);
      }),
      { numRuns: 50 },
    );
  });
});

describe('hosts that share a generated label', () => {
  /** Two addresses whose generated label is the same. */
  const SAME = ['10.3.42.200', '10.2.91.207'] as const;
  /** With as many endpoints more. */
  const fill = (endpoints: readonly EndpointFields[], more = 0): Cluster => {
    const cluster = new Cluster();
    const ports = [{ name: 'http', port: 80 }];
    cluster.services.put(serviceObject({ name: 'db', ...HEADLESS }));
    const others = Array.from({ length: more }, (_, i) => `10.9.${i >> 8}.${i & 0xff}`);
    const all = [...others, ...endpoints];
    cluster.endpointSlices.put(sliceObject({ name: 'db-1', service: 'db', endpoints: all, ports }));
    return cluster;
  };

  it('have the records of one name, each once', async () => {
    expect(hashLabel(SAME[0])).toBe(hashLabel(SAME[1]));
    await expectConsistent(fill(SAME));
  });

  it('have those of a large service, too', async () => {
    const { content } = await new Secondary(fill(SAME, 1_100)).transfer(ZONE);
    const name = `${hashLabel(SAME[0])}.db.default.svc.${ZONE}`;
    expect(content.filter((text) => text.startsWith(`${name} `))).toEqual([
      `${name} A ${SAME[1]}`,
      `${name} A ${SAME[0]}`,
      `${name} SRV 10 100 80 ${name}`,
    ]);
    expect(new Set(content).size).toBe(content.length);
  });

  it('with a configured one: the name is that of the configured host', async () => {
    const hostname = hashLabel(SAME[0]);
    const { zone } = fill([{ addresses: ['10.1.0.1'], hostname }, SAME[0]]);
    const { content } = await new Secondary({ zone }).transfer(ZONE);
    const name = `${hostname}.db.default.svc.${ZONE}`;
    expect(content.filter((text) => text.startsWith(`${name} A `))).toEqual([`${name} A 10.1.0.1`]);
    expect(textsAt(zone, name)).toContain('A 10.1.0.1');
    expect(textsAt(zone, name)).not.toContain(`A ${SAME[0]}`);
    expect(new Set(content).size).toBe(content.length);
  });
});

/** The zone and the reverse zone say the same, and what questions get. */
async function expectConsistent(cluster: Cluster): Promise<void> {
  const secondary = new Secondary(cluster);
  const { content } = await secondary.transfer(ZONE);
  const owners = new Map<string, string[]>();
  for (const text of content.filter((each) => each.includes('.svc.'))) {
    const [owner = ''] = text.split(' ');
    owners.set(owner, [...(owners.get(owner) ?? []), text.slice(owner.length + 1)]);
  }
  for (const [owner, texts] of owners)
    expect([owner, texts.sort()]).toEqual([
      owner,
      [...new Set(textsAt(cluster.zone, owner))].sort(),
    ]);
  const names = (await secondary.transfer(REVERSE)).content.filter((text) =>
    text.includes(' PTR '),
  );
  for (const text of names) {
    const [reverse = '', , name = ''] = text.split(' ');
    const address = reverse.split('.').slice(0, 4).reverse().join('.');
    expect([text, owners.get(name)]).toEqual([text, expect.arrayContaining([`A ${address}`])]);
  }
  expect(new Set(content).size).toBe(content.length);
  expect(new Set(names).size).toBe(names.length);
}
