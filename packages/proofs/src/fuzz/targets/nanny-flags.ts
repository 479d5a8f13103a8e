import { parseFlags, UsageError } from '@kube-dns/base';
import { PROGRAM } from '@kube-dns/dnsmasq/internal';
import type { FuzzTarget } from '../fuzz-target.js';
import { argumentSeeds, argumentsOf } from './argument-lines.js';
import { FLAG_TOKENS } from './flag-texts.js';
import { textTarget } from './text-target.js';

/** The nanny's half of dnsmasq's command line. */
export function createNannyFlags(): FuzzTarget {
  return textTarget({
    seeds: argumentSeeds([
      ...[
        '-v=2',
        '-logtostderr',
        '-configDir=/etc/x',
        '-restartDnsmasq=true',
        '--syncInterval=1h2m',
      ],
      ...['--logInterval', '10s', '--metrics-addr=[::1]:10057', '-kubednsServer=127.0.0.1:10053'],
      ...['--version=raw', '--coredns-metrics', '-dnsmasqExec', '/x', '--'],
    ]),
    tokens: [...FLAG_TOKENS, ...Object.keys(PROGRAM.flags).map((name) => `--${name}=`)],
    parse: (text) => parseFlags(PROGRAM, argumentsOf(text)).request === 'run',
    isRefusal: (error) => error instanceof UsageError,
  });
}
