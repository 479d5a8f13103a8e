import type { Field } from './field.js';

/** A declared container port; `name` is empty when it has none. */
export interface PortSpec {
  readonly name: string;
  readonly containerPort: number;
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
}

const PROTOCOLS = ['TCP', 'UDP', 'SCTP'] as const;

/** Reads one item of a container's `ports`; throws a StartError when it is malformed. */
export function parsePort(field: Field): PortSpec {
  const text = field.get('protocol').string('TCP');
  const protocol = PROTOCOLS.find((known) => known === text);
  return {
    name: field.get('name').string(''),
    containerPort: field.get('containerPort').integer({ min: 1, max: 65_535 }),
    protocol: protocol ?? field.get('protocol').fail(`must be one of ${PROTOCOLS.join(', ')}`),
  };
}
