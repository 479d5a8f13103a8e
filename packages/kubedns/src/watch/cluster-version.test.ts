import { beforeEach, describe, expect, it } from '@jest/globals';
import { changedOf, hasSameIdentity, knownOf, seenOf } from '@kube-dns/wire';
import { ClusterVersion } from './cluster-version.js';

const [SERVICES, ENDPOINTS, NAMESPACES] = [0, 1, 2];

let version: ClusterVersion;
beforeEach(() => void (version = identified()));

function identified(shape: readonly unknown[] = []): ClusterVersion {
  const one = new ClusterVersion(shape);
  one.listenerOf('services').onIdentity('a-uid');
  return one;
}

const numbers = (resource: number) =>
  [knownOf, seenOf, changedOf].map((of) => of(version.bytes!, 0, resource));
const isSame = (other: ClusterVersion) => hasSameIdentity(version.bytes!, 0, other.bytes!);

describe('the version of the cluster', () => {
  it('follows a list, then events and bookmarks', () => {
    const { onObject, onList, onKnown } = version.listenerOf('namespaces');
    onObject('30');
    onObject('20');
    expect(numbers(NAMESPACES)).toEqual([0, 30, 30]);
    onList('50');
    expect(numbers(NAMESPACES)).toEqual([0, 30, 50]);
    onKnown('50');
    expect(numbers(NAMESPACES)).toEqual([50, 30, 50]);
    onObject('60');
    onKnown('60');
    onKnown('70');
    expect(numbers(NAMESPACES)).toEqual([70, 60, 60]);
    expect(numbers(SERVICES)).toEqual([0, 0, 0]);
  });

  it('has the endpoints of the source that is used, and of no other one', () => {
    const endpoints = version.listenerOf('endpoints', 'endpoints');
    const slices = version.listenerOf('endpoints', 'endpointslices');
    slices.onKnown('40');
    expect(numbers(ENDPOINTS)).toEqual([0, 0, 0]);
    version.useEndpoints('endpointslices', '50');
    slices.onObject('60');
    slices.onKnown('60');
    endpoints.onKnown('99');
    expect(numbers(ENDPOINTS)).toEqual([60, 60, 60]);
    const before = Uint8Array.from(version.bytes!);
    version.useEndpoints('endpoints', '70');
    expect(numbers(ENDPOINTS)).toEqual([70, 0, 70]);
    expect(hasSameIdentity(before, 0, version.bytes!)).toBe(false);
  });

  it.each([
    ['is a number, at most 2^53 - 1', '9007199254740991', true],
    ['is larger', '9007199254740992', false],
    ['has zeros before it', '07', false],
    ['is 0, which no object has', '0', false],
    ['is no number', 'abc', false],
    ['is empty', '', false],
  ])('is one where the API server’s %s', (_, text, isComparable) => {
    version.listenerOf('services').onKnown(text);
    expect(version.bytes !== undefined).toBe(isComparable);
    version.listenerOf('services').onKnown('8');
    expect(version.bytes !== undefined).toBe(isComparable);
  });

  it('is one once it is known which cluster it is, by the service kubernetes', () => {
    const unknown = new ClusterVersion();
    expect(unknown.bytes).toBeUndefined();
    unknown.listenerOf('endpoints').onIdentity('another-uid');
    expect(unknown.bytes).toBeUndefined();
    unknown.listenerOf('services').onIdentity('a-uid');
    expect(isSame(unknown)).toBe(true);
    unknown.listenerOf('services').onIdentity('');
    expect(unknown.bytes).toBeUndefined();
    unknown.listenerOf('services').onIdentity('another-uid');
    expect(isSame(unknown)).toBe(false);
  });

  it('is compared with that of a process whose answers have the same shape', () => {
    expect(isSame(identified(['cluster.local', 5]))).toBe(false);
    version = identified(['cluster.local', 5]);
    expect(isSame(identified(['cluster.local', 5]))).toBe(true);
    const other = identified(['cluster.local', 5]);
    other.depend('federations', '[]');
    expect(isSame(other)).toBe(false);
    version.depend('federations', '[]');
    expect(isSame(other)).toBe(true);
  });

  it('is that of this process alone once the cluster was restored', () => {
    const { onObject, onList, onKnown } = version.listenerOf('services');
    onObject('900');
    onKnown('900');
    version.restore();
    expect(numbers(SERVICES)).toEqual([0, 0, 0]);
    const other = identified();
    other.restore();
    expect([isSame(identified()), isSame(other)]).toEqual([false, false]);
    onList('500');
    onKnown('500');
    expect(numbers(SERVICES)).toEqual([500, 0, 500]);
  });
});
