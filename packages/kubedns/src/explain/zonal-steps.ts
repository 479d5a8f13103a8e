import type { ExplainedStep } from '@kube-dns/telemetry';
import { TYPE } from '@kube-dns/wire';
import { ZONAL_DIRECTIVES, ZONAL_LABEL } from '../zone/zonal-names.js';
import {
  countOf,
  type EndpointGroup,
  type EndpointSlice,
  IPV4_BYTES,
  IPV6_BYTES,
  type Service,
} from '../watch/projections.js';
import { counted, listed, recordOf } from './words.js';

/** What is known of a question about a name below a service, for the steps of zonal names. */
interface ZonalQuestion {
  /** The labels below the service, nearest first. */
  readonly labels: readonly string[];
  readonly type: number;
  /** Whether `--zonal` is given. */
  readonly isOn: boolean;
  readonly held: {
    readonly service: Service | undefined;
    readonly slices: readonly EndpointSlice[];
  };
}

/** The zone that the labels below a service name, nearest first; undefined where they name none. */
export function zoneNamed(labels: readonly string[]): string | undefined {
  const [label, directive = '', ...zone] = labels;
  const isZonal = label === ZONAL_LABEL && ZONAL_DIRECTIVES.some((one) => one === directive);
  return isZonal && zone.length > 0 ? zone.toReversed().join('.') : undefined;
}

/** Which endpoints a zonal name has, and why it has none; undefined for any other name. */
export function zonalSteps({ labels, ...asked }: ZonalQuestion): ExplainedStep[] | undefined {
  const [label, directive] = labels;
  const { service } = asked.held;
  if (label !== ZONAL_LABEL || service === undefined) return undefined;
  if (!asked.isOn) {
    return [
      leftOut(
        'zonal-off',
        `Names of zones are off: ${ZONAL_LABEL} needs --zonal, of each kubedns.`,
      ),
    ];
  }
  if (service.kind !== 'headless') {
    const text =
      'Names of zones are for headless services. For one with a cluster address, kube-proxy takes endpoints of its zone (trafficDistribution).';
    return [leftOut('not-headless', text)];
  }
  const zone = zoneNamed(labels);
  if (zone !== undefined) return zoneSteps(zone, directive!, asked);
  if (directive === undefined || ZONAL_DIRECTIVES.some((one) => one === directive)) return [];
  const text = `Before ${ZONAL_LABEL} stands pin or prefer, not ${JSON.stringify(directive)}.`;
  return [leftOut('directive', text)];
}

/** How many of a service's endpoints are in each zone; '' is that of those without one. */
function countByZone(groups: readonly EndpointGroup[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const group of groups) {
    const { zone = '' } = group;
    counts.set(zone, (counts.get(zone) ?? 0) + countOf(group));
  }
  return counts;
}

function zoneSteps(
  zone: string,
  directive: string,
  { type, held }: Omit<ZonalQuestion, 'labels'>,
): ExplainedStep[] {
  const groups = held.slices.flatMap((slice) => slice.groups);
  const counts = countByZone(groups);
  const ready = groups.reduce((sum, group) => sum + countOf(group), 0);
  const inZone = counts.get(zone) ?? 0;
  const withoutZone = counts.get('') ?? 0;
  const zones = [...counts.keys()].filter((each) => each !== '').sort();
  const facts = { zone, directive, zones, ready, inZone, withoutZone };
  const step = (text: string) => ({ step: 'zone', text, ...facts });
  if (inZone > 0) {
    const text = `Of its ${counted(ready, 'ready endpoint')} ${inZone} ${inZone === 1 ? 'is' : 'are'} in the zone ${zone}.`;
    const found = groups.filter((group) => group.zone === zone);
    return [step(text), ...typeSteps(found, type)];
  }
  const elsewhere = zones.length === 0 ? '' : `, but in ${listed(zones)}`;
  const without =
    withoutZone === 0 ? '' : `; ${counted(withoutZone, 'endpoint')} in no zone at all`;
  const none = `No ready endpoint is in the zone ${zone}${elsewhere}${without}`;
  if (directive === 'prefer') {
    return [step(`${none}. With prefer the answer has those of all zones then.`)];
  }
  return [
    step(`${none}. With pin that is an empty answer, and no error.`),
    { step: 'advice', text: 'With prefer in place of pin the answer has those of all zones then.' },
  ];
}

/** Why there are no records of a type although the zone has endpoints. */
function typeSteps(groups: readonly EndpointGroup[], type: number): ExplainedStep[] {
  if (type === TYPE.SRV || type === TYPE.ANY) return [];
  if (type !== TYPE.A && type !== TYPE.AAAA) {
    const text = `There is never ${recordOf(type)} for a service: only A, AAAA and SRV.`;
    return [leftOut('type', text)];
  }
  const size = type === TYPE.A ? IPV4_BYTES : IPV6_BYTES;
  if (groups.some((group) => group.size === size)) return [];
  const text = `None of these has ${recordOf(type)}: their addresses are of the other family.`;
  return [leftOut('family', text)];
}

function leftOut(reason: string, text: string): ExplainedStep {
  return { step: 'left-out', text, reason };
}
