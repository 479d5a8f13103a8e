import { nearZone } from './near-zone.js';
import type { ExplainedStep } from '@kube-dns/telemetry';
import { serverText } from '@kube-dns/transport';
import type { KubednsFlags } from '../config/flags.js';
import type { ServerRule } from '../config/upstreams.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import { listed, nameText } from './words.js';

/** What decides the route of a name, for its sentence. */
export interface RouteFacts {
  readonly flags: Pick<
    KubednsFlags,
    'domain' | 'config-dir' | 'config-map' | 'config-map-namespace'
  >;
  readonly zone: ClusterZone;
}

/** The name is in the zone. */
export function zoneStep(name: string, { zone }: RouteFacts): ExplainedStep {
  const apex = nameText(zone.apex);
  return {
    step: 'route',
    text: `${name} is in the zone of the cluster, ${apex} (--domain): kubedns answers it from the objects of the Kubernetes API.`,
    route: 'zone',
    zone: `${apex}.`,
    rule: '--domain',
  };
}

/** The name is forwarded. `subject` begins the sentence. */
export function forwardStep(subject: string, rule: ServerRule, facts: RouteFacts): ExplainedStep {
  const servers = rule.used.map(serverText);
  const isStub = rule.domain !== '.';
  const which = isStub
    ? `the stub domain ${rule.domain} (${sourceOf('stubDomains', facts)}) matches`
    : 'no stub domain matches';
  const from = isStub ? 'its servers' : `the servers of ${originOf(rule.key, facts)}`;
  const to = servers.length === 0 ? noServers(rule) : `: it goes to ${from}, ${listed(servers)}`;
  return {
    step: 'route',
    text: `${subject}, and ${which}${to}.`,
    route: isStub ? 'stub-domain' : 'upstream',
    domain: rule.domain,
    rule: rule.key,
    servers,
  };
}

/** A name outside of the zone that looks as if it were meant to be in it. */
export function nearZoneSteps(key: Uint8Array, { zone }: RouteFacts): ExplainedStep[] {
  const near = nearZone(nameText(key), zone);
  if (near === undefined) return [];
  return [{ step: 'near', text: `Did you mean ${near}?`, names: [near] }];
}

function noServers({ configured }: ServerRule): string {
  return configured.length === 0
    ? ', but there are no name servers: SERVFAIL'
    : `, but no address of its servers is known (${listed(configured)}): SERVFAIL`;
}

/** Where the default servers come from. */
function originOf(key: string, facts: RouteFacts): string {
  return key === 'upstreamNameservers' ? sourceOf(key, facts) : key;
}

function sourceOf(key: string, { flags }: RouteFacts): string {
  if (flags['config-map'] !== '') {
    return `key ${key} of the ConfigMap ${flags['config-map-namespace']}/${flags['config-map']}`;
  }
  return flags['config-dir'] === '' ? '--nameservers' : `${key} in ${flags['config-dir']}`;
}
