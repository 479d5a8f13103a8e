import { addressBytes, reverseName } from '@kube-dns/wire';
import { answerText, recordText } from './answer-text.js';
import { serverOf } from './pod-config.js';
import { type ServiceState, serviceState } from './service-state.js';
import { worldAnswer, type WorldServer } from './world-names.js';

/** The subject whose versions an answer depends on: a service, the configuration, or none. */
export type Subject =
  | { readonly kind: 'service'; readonly index: number }
  | { readonly kind: 'config' }
  | { readonly kind: 'none' };

/** A question, and the right answer for each version of its subject. */
export interface Question {
  readonly name: string;
  readonly type: 'A' | 'AAAA' | 'PTR' | 'SRV';
  readonly subject: Subject;
  readonly expected: (version: number) => string;
}

const NXDOMAIN = answerText('NXDOMAIN', []);
const NODATA = answerText('NOERROR', []);

/** The name of a service in DNS. */
export function dnsName({ name, namespace }: ServiceState): string {
  return `${name}.${namespace}.svc.cluster.local`;
}

function worldRecords(name: string, server: WorldServer): string {
  const { address } = worldAnswer(name, server);
  return address === undefined ? NXDOMAIN : answerText('NOERROR', [recordText(name, 'A', address)]);
}

/** The address of a name outside the cluster. */
export function askWorld(name: string, type: 'A' | 'AAAA' = 'A'): Question {
  const isNodata = type === 'AAAA' && worldAnswer(name, 'world').address !== undefined;
  const text = isNodata ? NODATA : worldRecords(name, 'world');
  return { name, type, subject: { kind: 'none' }, expected: () => text };
}

/** The address of a name in a domain that the configuration gives to one server or another. */
export function askStub(host: string, domain: 'corp.test' | 'lab.test'): Question {
  const name = `${host}.${domain}`;
  const expected = (version: number) => worldRecords(name, serverOf(domain, version));
  return { name, type: 'A', subject: { kind: 'config' }, expected };
}

/** The addresses of a service, or of one of its hosts. */
export function askAddress(index: number, host?: string): Question {
  const subject = { kind: 'service', index } as const;
  const service = dnsName(serviceState(index, 0));
  const name = host === undefined ? service : `${host}.${service}`;
  const expected = (version: number) => {
    const { kind, isThere, clusterIP, ready, target } = serviceState(index, version);
    if (!isThere) return NXDOMAIN;
    if (kind === 'alias') {
      if (host !== undefined) return NXDOMAIN;
      const address = worldAnswer(target, 'world').address!;
      const cname = recordText(name, 'CNAME', target);
      return answerText('NOERROR', [cname, recordText(target, 'A', address)]);
    }
    if (kind === 'address' && host === undefined) {
      return answerText('NOERROR', [recordText(name, 'A', clusterIP)]);
    }
    const found = ready.filter(({ hostname }) => host === undefined || hostname === host);
    const records = found.map(({ address }) => recordText(name, 'A', address));
    return records.length === 0 ? NXDOMAIN : answerText('NOERROR', records);
  };
  return { name, type: 'A', subject, expected };
}

/** The port `web` of a service, which it does not always have. */
export function askPort(index: number): Question {
  const subject = { kind: 'service', index } as const;
  const service = dnsName(serviceState(index, 0));
  const name = `_web._tcp.${service}`;
  const expected = (version: number) => {
    const { kind, isThere, portName, port, ready } = serviceState(index, version);
    if (!isThere || kind === 'alias' || portName !== 'web') return NXDOMAIN;
    const targets =
      kind === 'address' ? [service] : ready.map(({ hostname }) => `${hostname}.${service}`);
    return answerText(
      'NOERROR',
      targets.map((target) => recordText(name, 'SRV', `${port} ${target}`)),
    );
  };
  return { name, type: 'SRV', subject, expected };
}

/** The name of an address that a service has, or had, at a version. */
export function askReverse(index: number, version: number): Question {
  const subject = { kind: 'service', index } as const;
  const address = ownAddress(serviceState(index, version));
  const name = reverseName(addressBytes(address));
  const expected = (now: number) => {
    const state = serviceState(index, now);
    if (!state.isThere || ownAddress(state) !== address) return NXDOMAIN;
    const [first] = state.ready;
    const owner = dnsName(state);
    const target = state.kind === 'headless' ? `${first!.hostname}.${owner}` : owner;
    return answerText('NOERROR', [recordText(name, 'PTR', target)]);
  };
  return { name, type: 'PTR', subject, expected };
}

/** Of a headless service that of its first endpoint, which moves. */
function ownAddress({ kind, clusterIP, ready }: ServiceState): string {
  return kind === 'headless' ? ready[0]!.address : clusterIP;
}

/** A name of the cluster that does not exist. */
export function askNothing(name: string): Question {
  return { name, type: 'A', subject: { kind: 'none' }, expected: () => NXDOMAIN };
}
