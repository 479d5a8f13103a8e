import type { Trace } from '@kube-dns/base';
import type { ExplainedStep } from '@kube-dns/telemetry';
import { EXTERNAL_FOUND, type ExternalFinding } from '../outside/external-zone.js';
import { HOST_FOUND, type HostFinding } from '../outside/route-names.js';
import { STATIC_HOST_FOUND } from '../outside/static-hosts.js';
import { listed, nameText } from './words.js';

/** What a name from outside led to; nothing where the question was for none. */
export function outsideSteps(trace: Trace): ExplainedStep[] {
  const external = trace.first(EXTERNAL_FOUND);
  const host = trace.first(HOST_FOUND);
  return [
    ...(trace.first(STATIC_HOST_FOUND) === true ? [CONFIGURED] : []),
    ...(external === undefined ? [] : [externalStep(external)]),
    ...(host === undefined ? [] : hostSteps(host)),
  ];
}

const CONFIGURED: ExplainedStep = {
  step: 'hosts',
  text: 'The key hosts of the configuration has this name or address, so no other server is asked.',
};

/** Of a name that is forwarded, and is above one that is not. */
export const ABOVE: ExplainedStep = {
  step: 'above',
  text: 'It is above a name that is answered here, so it exists: where another server says NXDOMAIN, the answer is NOERROR without records.',
};

function externalStep({ kind, service }: ExternalFinding): ExplainedStep {
  const key = service?.key;
  return {
    step: 'external',
    text: externalText(kind, service),
    kind,
    ...(key && { service: key }),
  };
}

function externalText(kind: ExternalFinding['kind'], service: ExternalFinding['service']): string {
  const named =
    service && `the service ${service.key}, which has an address outside of the cluster`;
  switch (kind) {
    case 'apex':
      return 'It is the zone of --external-domain itself.';
    case 'name-server':
      return 'It is the name server of the zone of --external-domain.';
    case 'interior':
      return 'It is a name in the zone of --external-domain that only has names below it.';
    case 'reverse':
      return 'It is the reverse name of a private address that a service has outside of the cluster.';
    case 'absent':
      return named === undefined
        ? 'It is in the zone of --external-domain, where only services with an address outside of the cluster have names: <service>.<namespace>. kubectl get service shows that address as EXTERNAL-IP.'
        : `There is no such name below that of ${named}: the port or the protocol is another one.`;
    default:
      return `It is in the zone of --external-domain, the name of ${named!}: ${nameText(service!.name)}.`;
  }
}

function hostSteps({ host, owner, others }: HostFinding): ExplainedStep[] {
  const step: ExplainedStep = {
    step: 'host',
    text: `The host ${host} is that of ${owner} (--route-names), so no other server is asked.`,
    host,
    owner,
  };
  if (others.length === 0) return [step];
  const text = `${listed(others)} ${others.length === 1 ? 'has' : 'have'} this host, too: the oldest object has the name.`;
  return [step, { step: 'host-conflict', text, others }];
}
