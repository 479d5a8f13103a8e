import { describe, expect, it } from '@jest/globals';
import { Cluster } from '../../test/support/cluster.js';
import { hashLabel } from '../../test/support/hash-label.js';
import { HEADLESS, serviceObject, sliceObject } from '../../test/support/objects.js';
import { cacheJson } from './cache-json.js';

const ports = [{ name: 'http', port: 80, protocol: 'TCP' }];
const ANY = { priority: 10, weight: 10, ttl: 30 };
interface Node {
  readonly ChildNodes: Readonly<Record<string, Node>>;
  readonly Entries: object;
}

const textOf = (cluster: Cluster) => [...cacheJson(cluster.zone)].join('');

describe('cacheJson', () => {
  it('shows an empty zone as the original does', () => {
    expect(textOf(new Cluster())).toBe('{\n\t"ChildNodes": {},\n\t"Entries": {}\n}');
  });

  it('shows a service to the letter', () => {
    const cluster = new Cluster();
    cluster.services.put(serviceObject({ clusterIPs: ['10.0.0.1'] }));
    const levels = ['local', 'cluster', 'svc', 'default', 'web'];
    const indent = (depth: number) => '\t'.repeat(depth);
    const opening = levels.map(
      (label, i) => `{\n${indent(2 * i + 1)}"ChildNodes": {\n${indent(2 * i + 2)}"${label}": `,
    );
    const closing = levels.map((_label, i) => {
      const depth = 2 * (levels.length - 1 - i);
      return `\n${indent(depth + 1)}},\n${indent(depth + 1)}"Entries": {}\n${indent(depth)}}`;
    });
    const leaf = [
      '{',
      '\t"ChildNodes": {},',
      '\t"Entries": {',
      '\t\t"3234633364383235": {',
      '\t\t\t"host": "10.0.0.1",',
      '\t\t\t"priority": 10,',
      '\t\t\t"weight": 10,',
      '\t\t\t"ttl": 30',
      '\t\t}',
      '\t}',
      '}',
    ].join(`\n${indent(10)}`);
    expect(textOf(cluster)).toBe(opening.join('') + leaf + closing.join(''));
  });

  it('shows hosts, ports and CNAMEs where the original has them', () => {
    const cluster = new Cluster();
    cluster.services.put(serviceObject({ name: 'db', ...HEADLESS }));
    cluster.services.put(serviceObject({ name: 'idle', ...HEADLESS }));
    cluster.services.put(
      serviceObject({ name: 'own', clusterIPs: ['10.0.0.2', 'fd00::2'], ports }),
    );
    cluster.services.put(serviceObject({ name: 'ext', externalName: 'db.example.com' }));
    cluster.services.put(serviceObject({ name: 'lit', externalName: '192.0.2.7' }));
    const endpoints = [
      { addresses: ['10.1.0.1'], hostname: 'a' },
      { addresses: ['10.1.0.2'], hostname: 'a' },
      '10.1.0.3',
    ];
    cluster.endpointSlices.put(sliceObject({ service: 'db', endpoints, ports }));
    const generated = hashLabel('10.1.0.3');
    let node = JSON.parse(textOf(cluster)) as Node;
    for (const label of ['local', 'cluster', 'svc', 'default']) node = node.ChildNodes[label]!;
    const { ChildNodes: nodes, Entries: entries } = node;
    expect(entries).toEqual({
      ext: { host: 'db.example.com.', ...ANY },
      lit: { host: '192.0.2.7', ...ANY },
    });
    const port = (hosts: object) => ({
      _tcp: { ChildNodes: { _http: { ChildNodes: {}, Entries: hosts } }, Entries: {} },
    });
    const self = 'own.default.svc.cluster.local.';
    const target = (label: string) => ({
      host: `${label}.db.default.svc.cluster.local.`,
      port: 80,
      ...ANY,
    });
    expect(nodes).toEqual({
      db: {
        ChildNodes: port({ a: target('a'), [generated]: target(generated) }),
        Entries: {
          a: { host: '10.1.0.1', ...ANY },
          'a#2': { host: '10.1.0.2', ...ANY },
          [generated]: { host: '10.1.0.3', ...ANY },
        },
      },
      own: {
        ChildNodes: port({
          [hashLabel('10.0.0.2')]: { host: self, port: 80, ...ANY },
          [hashLabel('fd00::2')]: { host: self, port: 80, ...ANY },
        }),
        Entries: {
          [hashLabel('10.0.0.2')]: { host: '10.0.0.2', ...ANY },
          [hashLabel('fd00::2')]: { host: 'fd00::2', ...ANY },
        },
      },
    });
  });

  it('shows nothing of endpoints whose service is not there, or is an address', () => {
    const cluster = new Cluster();
    cluster.endpointSlices.put(sliceObject({ endpoints: ['10.0.0.1'] }));
    const dump = () => [...cacheJson(cluster.zone)].join('');
    expect(dump()).not.toContain('10.0.0.1');
    cluster.services.put(serviceObject(HEADLESS));
    expect(dump()).toContain('10.0.0.1');
    cluster.services.put(serviceObject({ externalName: '192.0.2.1' }));
    expect(dump()).toContain('192.0.2.1');
    expect(dump()).not.toContain('10.0.0.1');
    cluster.services.delete(serviceObject());
    expect(dump()).not.toContain('10.0.0.1');
  });

  it('reads a namespace when it gets there, so that the first chunk of a large cluster is soon made', () => {
    const cluster = new Cluster();
    const namespaces = Array.from({ length: 300 }, (_, i) => `team-${i + 100}`);
    for (const namespace of namespaces) cluster.services.put(serviceObject({ namespace }));
    const chunks = cacheJson(cluster.zone);
    expect(chunks.next().value).toContain('"team-100"');
    cluster.services.put(serviceObject({ namespace: namespaces.at(-1)!, name: 'later' }));
    expect([...chunks].join('')).toContain('"later"');
  });

  it('is yielded in chunks of a bounded size', () => {
    const cluster = new Cluster();
    cluster.services.put(serviceObject(HEADLESS));
    const endpoints = Array.from({ length: 5_000 }, (_, i) => `10.1.${i >> 8}.${i & 255}`);
    cluster.endpointSlices.put(sliceObject({ endpoints }));
    const chunks = [...cacheJson(cluster.zone)];
    expect(chunks.length).toBeGreaterThan(5);
    expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThan(70_000);
  });
});
