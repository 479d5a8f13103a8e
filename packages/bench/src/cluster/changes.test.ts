import { describe, expect, it } from '@jest/globals';
import { changesOf, ChangeSource, nameChangedBy, togglesOf } from './changes.js';
import { ClusterPlan, type ClusterSize } from './cluster-plan.js';

const PLAN = new ClusterPlan({ services: 100, slices: 100, endpointsPerSlice: 1, headless: 0.1 });

describe('the toggles', () => {
  it('have the changes that users wait for', () => {
    expect(changesOf(togglesOf(PLAN))).toEqual([
      'service deleted',
      'service created',
      'address changed',
      'headless endpoint removed',
      'headless endpoint added',
      'PTR changed',
      'namespace created',
      'namespace deleted',
    ]);
  });

  it('have one question each, and two answers', () => {
    for (const [first, second] of togglesOf(PLAN)) {
      const { name, type, ...before } = first.expectation;
      expect(second.expectation).toMatchObject({ name, type });
      expect(second.expectation).not.toMatchObject(before);
    }
  });
});

const SIZE: ClusterSize = { services: 100, slices: 300, endpointsPerSlice: 2, headless: 0.2 };

function sourceOf(size: Partial<ClusterSize> = {}): ChangeSource {
  return new ChangeSource(new ClusterPlan({ ...SIZE, ...size }));
}

describe('the source of changes', () => {
  it.each([
    [{}, ['endpoint', 'port', 'new service']],
    [{ headless: 0 }, ['port', 'new service']],
    [{ headless: 1 }, ['endpoint', 'new service']],
    [{ slices: 0 }, ['port', 'new service']],
  ])('has the kinds of changes that a cluster with %j allows', (size, kinds) => {
    expect(sourceOf(size).kinds).toEqual(kinds);
  });

  it('has a new value with each change', () => {
    const source = sourceOf();
    const seen = source.kinds.flatMap((kind) =>
      Array.from({ length: 50 }, () => JSON.stringify(source.timed(kind).expectation)),
    );
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('has no noise in the services whose changes are timed', () => {
    const source = sourceOf();
    const services = Array.from({ length: 1_000 }, () => {
      const { name, labels = {} } = source.noise().metadata;
      return Number((labels['kubernetes.io/service-name'] ?? name).slice('web-'.length));
    });
    expect(Math.max(...services)).toBeLessThan(90);
    expect(Math.min(...services)).toBe(0);
  });

  it('makes noise of all kinds, half of it about headless services', () => {
    const source = sourceOf();
    const noise = Array.from({ length: 1_000 }, () => source.noise());
    const ofKind = (kind: string) => noise.filter((object) => object.kind === kind);
    const headless = ofKind('EndpointSlice').filter(
      ({ metadata }) => metadata.labels?.['service.kubernetes.io/headless'] !== undefined,
    );
    expect(ofKind('Service').length).toBeGreaterThan(200);
    expect(headless.length).toBeGreaterThan(430);
    expect(headless.length).toBeLessThan(570);
    const changed = noise.filter((object) => nameChangedBy(object) !== undefined);
    expect(changed.length).toBe(ofKind('Service').length + headless.length);
    const names = new Set(Array.from({ length: 100 }, (_, i) => new ClusterPlan(SIZE).dnsName(i)));
    for (const object of changed) expect(names).toContain(nameChangedBy(object));
  });

  it('reuses services once a thousand were added', () => {
    const source = sourceOf();
    const names = Array.from({ length: 1_001 }, () => source.timed('new service').expectation);
    expect(names[0]).toMatchObject({ type: 'A', address: '10.96.2.100' });
    expect(names[1_000]?.type).toBe('SRV');
    expect(names[1_000]?.name).toContain(names[0]?.name);
  });
});
