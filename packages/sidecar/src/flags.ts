import { intFlag, listFlag, MAX_TIMER_MS, portFlag, stringFlag } from '@kube-dns/base';
import { STATUS_FLAG } from '@kube-dns/daemon';

import { parseProbeSpec, PROBE_FORMAT } from './probe/probe-spec.js';

/** The sidecar's flags: kubernetes/dns pkg/sidecar/options.go, names and defaults unchanged. */
export const FLAGS = {
  'dnsmasq-addr': stringFlag('127.0.0.1', 'host of dnsmasq, for its statistics'),
  'dnsmasq-port': portFlag(53, 'port of dnsmasq', { min: 1 }),
  'dnsmasq-poll-interval-ms': intFlag(
    5_000,
    'pause between two polls of the statistics of dnsmasq, in milliseconds',
    { min: 1, max: MAX_TIMER_MS },
  ),
  probe: listFlag(
    parseProbeSpec,
    'DNS probe: its label (in /healthcheck/<label> and in metric names), the server to ask (default ' +
      'port 53), the name, the interval (seconds, default 5) and the type (A, AAAA, ANY or SRV, ' +
      'default ANY); may be repeated',
    PROBE_FORMAT,
  ),
  'prometheus-addr': stringFlag(
    '0.0.0.0',
    'address to serve HTTP on; 0.0.0.0 and [::]: all addresses, IPv4 and IPv6',
  ),
  'prometheus-port': portFlag(10_054, 'port to serve HTTP on'),
  'prometheus-path': stringFlag('/metrics', 'path of the metrics'),
  'prometheus-namespace': stringFlag('kubedns', 'first part of the metric names'),
  status: STATUS_FLAG,
};
