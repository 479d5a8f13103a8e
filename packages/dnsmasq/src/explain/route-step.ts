import { type LoopDetector, type ServerFacts, serverFactsText } from '@kube-dns/resolver';
import { serverText } from '@kube-dns/transport';
import type { ExplainedStep } from '@kube-dns/telemetry';
import type { Route } from '../routing/route.js';
import type { Routes } from '../routing/routes.js';
import type { RuleSource } from '../routing/rule-sources.js';

/** A route as it is found for a name. */
export interface RouteLook {
  readonly route: Route;
  readonly routes: Pick<Routes, 'defaultServers'>;
  readonly loops: Pick<LoopDetector, 'isLooping'>;
  /** The rules that it was made of. */
  readonly sources: readonly RuleSource[];
  /** Its servers as they are now. */
  readonly servers: readonly ServerFacts[];
  /** Whether they answer for the cluster. */
  readonly isOfCluster: boolean;
}

/** More rules than this are counted, not listed. */
const MAX_SOURCES = 10;

/** Which rule chose the servers of a name, and how these are. */
export function routeStep(look: RouteLook): ExplainedStep {
  const { route, servers, sources, isOfCluster } = look;
  const looping = loopingServers(look);
  const texts = [domainText(route), sourcesText(sources)];
  if (servers.length > 0) texts.push(`Its servers: ${servers.map(serverFactsText).join(', ')}.`);
  else texts.push('It has no servers: nothing is asked.');
  if (looping.length > 0) {
    texts.push(`Not asked, as it forwards back to this server: ${looping.join(', ')}.`);
  }
  if (isOfCluster) {
    texts.push('That is the DNS of the cluster, kubedns: its own explanation tells the rest.');
  }
  return {
    step: 'route',
    text: texts.filter((text) => text !== '').join(' '),
    domain: route.domain,
    rules: sources.slice(0, MAX_SOURCES),
    servers,
    ...(looping.length > 0 && { looping }),
    isOfCluster,
  };
}

function domainText({ domain }: Route): string {
  if (domain === '.')
    return 'No rule names a domain that it is in: it goes to the default servers.';
  if (domain === '') return 'It is a name of one label, for which there is a rule.';
  if (domain.startsWith('*')) return `It matches the rule for ${domain}.`;
  return `The longest domain with a rule that it is in is ${domain}.`;
}

function sourcesText(sources: readonly RuleSource[]): string {
  if (sources.length === 0) return '';
  const shown = sources.slice(0, MAX_SOURCES).map(({ rule, place }) => `${rule} (${place})`);
  const more = sources.length - shown.length;
  return `It is from ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
}

function loopingServers({ route, routes, loops }: RouteLook): string[] {
  if (route.domain !== '.') return [];
  const looping = routes.defaultServers.filter(({ server }) => loops.isLooping(server));
  return looping.map(({ server }) => serverText(server));
}
