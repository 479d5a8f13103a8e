import { parseFlags, UsageError } from '@kube-dns/base';
import { PROGRAM } from '@kube-dns/kubedns/internal';
import type { FuzzTarget } from '../fuzz-target.js';
import { argumentSeeds, argumentsOf } from './argument-lines.js';
import { FLAG_TOKENS } from './flag-texts.js';
import { textTarget } from './text-target.js';

/** The flags of kubedns. */
export function createKubednsFlags(): FuzzTarget {
  return textTarget({
    seeds: argumentSeeds([
      ...['--domain=cluster.local.', '--dns-port=10053', '--config-dir=/kube-dns-config', '--v=2'],
      ...['--federations=a=b.c,d=e', '--nameservers=10.0.0.1,[::1]:53', '--config-map=kube-dns'],
      ...[
        '--kube-master-url=https://10.0.0.1:6443/x',
        '--drain-time=1m30s',
        '--reuse-port',
        '--ptr=all',
      ],
      ...['--endpoint-names', 'hash', '--pods=disabled', '--udp-engine=dgram', '--negative-ttl=5'],
    ]),
    tokens: [...FLAG_TOKENS, ...Object.keys(PROGRAM.flags).map((name) => `--${name}=`)],
    parse: (text) => parseFlags(PROGRAM, argumentsOf(text)).request === 'run',
    isRefusal: (error) => error instanceof UsageError,
  });
}
