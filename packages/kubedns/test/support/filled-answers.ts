import { Answers } from './answers.js';
import { HEADLESS, namespaceObject, serviceObject, sliceObject } from './objects.js';

/** The zone's SOA in negative answers. */
export const SOA = 'cluster.local SOA ns.dns.cluster.local hostmaster.cluster.local 5';
/** Where services are. */
export const ZONE = 'svc.cluster.local';
/** A headless service with two endpoints. */
export const DB = `db.default.${ZONE}`;

/** Answers about a cluster with a service of each kind, in namespaces that are known. */
export function filledAnswers(): Answers {
  const answers = new Answers();
  const { services, endpointSlices, namespaces } = answers.cluster;
  for (const name of ['default', 'empty']) namespaces.put(namespaceObject(name));
  answers.cluster.zone.hasAllNamespaces = true;
  const ports = [{ name: 'http', port: 80, protocol: 'TCP' }];
  services.put(serviceObject({ ports }));
  services.put(serviceObject({ name: 'six', clusterIPs: ['fd00::6'] }));
  services.put(serviceObject({ name: 'db', ...HEADLESS }));
  services.put(serviceObject({ name: 'idle', ...HEADLESS }));
  services.put(serviceObject({ name: 'lit', externalName: '192.0.2.7' }));
  endpointSlices.put(
    sliceObject({
      name: 'db-1',
      service: 'db',
      endpoints: [
        { addresses: ['10.1.0.1'], hostname: 'db-0' },
        { addresses: ['10.1.0.2'], hostname: 'db-1' },
      ],
      ports,
    }),
  );
  return answers;
}
