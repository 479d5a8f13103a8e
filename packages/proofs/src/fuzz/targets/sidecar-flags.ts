import { parseFlags, UsageError } from '@kube-dns/base';
import { FLAGS, readOptions } from '@kube-dns/sidecar/internal';
import type { FuzzTarget } from '../fuzz-target.js';
import { argumentSeeds, argumentsOf } from './argument-lines.js';
import { FLAG_TOKENS } from './flag-texts.js';
import { textTarget } from './text-target.js';

const PROGRAM = { name: 'sidecar', version: 'dev', summary: '', flags: FLAGS };

/** The flags of the sidecar, the grammar of its probes among them. */
export function createSidecarFlags(): FuzzTarget {
  return textTarget({
    seeds: argumentSeeds([
      '--probe=kubedns,127.0.0.1:10053,kubernetes.default.svc.cluster.local,5,SRV',
      '--probe=dnsmasq,[::1]:53,kubernetes.default.svc.cluster.local.,5,A',
      ...['--probe=a_1,10.0.0.1,example.com', '--dnsmasq-addr=::1', '--dnsmasq-port=53', '--v=2'],
      ...[
        '--dnsmasq-poll-interval-ms=5000',
        '--prometheus-addr=0.0.0.0',
        '--prometheus-port=10054',
      ],
      ...['--prometheus-path=/metrics', '--prometheus-namespace=kubedns'],
    ]),
    tokens: [
      ...FLAG_TOKENS,
      ...Object.keys(FLAGS).map((name) => `--${name}=`),
      ',5,SRV',
      '/healthz',
    ],
    parse: (text) => {
      const { request, values } = parseFlags(PROGRAM, argumentsOf(text));
      readOptions(values);
      return request === 'run';
    },
    isRefusal: (error) => error instanceof UsageError,
  });
}
