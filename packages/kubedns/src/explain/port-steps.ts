import { nearest } from '@kube-dns/base';
import type { ExplainedStep } from '@kube-dns/telemetry';
import { TYPE } from '@kube-dns/wire';
import type { Port, Service } from '../watch/projections.js';
import type { AskedPart } from './left-out.js';
import type { SeenService } from './service-steps.js';
import { listed, portText } from './words.js';

/** Which ports are not in an answer about a service, and why. */
export function portSteps(
  { held }: SeenService,
  service: Service,
  { labels, type, exists }: AskedPart,
): ExplainedStep[] {
  const [protocol, port] = labels.map((label) => label.replace(/^_/, ''));
  const all = portsOf(service, held?.slices ?? []);
  if (protocol === undefined || !labels[0]!.startsWith('_')) {
    if (type !== TYPE.SRV || all.length > 0 || !exists) return [];
    return [
      { step: 'left-out', text: 'It has no port, so its SRV record has port 0.', reason: 'port' },
    ];
  }
  if (exists) return [];
  const texts = all.map(portText);
  const has =
    texts.length === 0
      ? 'It has no ports.'
      : `Its ${texts.length === 1 ? 'port is' : 'ports are'} ${listed(texts)}.`;
  const reason = 'port';
  if (port === undefined) {
    return [
      {
        step: 'left-out',
        text: `No port is over ${protocol.toUpperCase()}. ${has}`,
        reason,
        ports: texts,
      },
    ];
  }
  const other = all.find(({ name }) => name === port);
  const near = nearest(
    port,
    all.map(({ name }) => name).filter((name) => name !== ''),
  );
  const isNumber = all.find((each) => String(each.port) === port);
  let more = '';
  if (!labels[1]!.startsWith('_'))
    more = ' The labels of port and protocol begin with an underscore.';
  else if (other !== undefined) more = ` The port ${port} is over ${other.protocol.toUpperCase()}.`;
  else if (isNumber !== undefined) more = ' A port is asked by its name, not by its number.';
  else if (near !== undefined) more = ` Did you mean _${near}?`;
  const steps: ExplainedStep[] = [
    {
      step: 'left-out',
      text: `No port is named ${port} over ${protocol.toUpperCase()}. ${has}${more}`,
      reason,
      ports: texts,
    },
  ];
  if (all.some(({ name }) => name === '')) {
    steps.push({
      step: 'advice',
      text: 'A port without a name has no SRV name of its own: give it one in the service, or ask SRV of the service itself.',
    });
  }
  return steps;
}

/** Those of a headless service are its endpoints'. */
function portsOf(service: Service, slices: NonNullable<SeenService['held']>['slices']): Port[] {
  if (service.kind !== 'headless') return [...service.ports.ports];
  const all = new Map<string, Port>();
  for (const { groups } of slices) {
    for (const { ports } of groups) {
      for (const port of ports.ports) all.set(portText(port), port);
    }
  }
  return [...all.values()];
}
