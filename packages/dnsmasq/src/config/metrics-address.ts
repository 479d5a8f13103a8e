import { type FlagDefinition, formatHostPort, type HostPort, parseHostPort } from '@kube-dns/base';

/** The address that metrics are served on; without a host every address. */
export interface MetricsAddress extends HostPort {
  readonly port: number;
}

/** A flag of `[HOST]:PORT`; empty serves no metrics. Throws for anything else, with the reason. */
export function metricsAddressFlag(help: string): FlagDefinition<MetricsAddress | null> {
  return {
    parse: (text) => (text === '' ? null : parseMetricsAddress(text)),
    initial: null,
    help,
    valueName: '[host]:port',
    formatDefault: (address) => (address === null ? '' : formatHostPort(address)),
  };
}

function parseMetricsAddress(text: string): MetricsAddress {
  const { host, port } = parseHostPort(text);
  if (port === null) throw new Error('the port is missing');
  return { host, port };
}
