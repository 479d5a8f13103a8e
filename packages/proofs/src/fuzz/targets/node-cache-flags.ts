import { parseFlags, UsageError } from '@kube-dns/base';
import { StartupError } from '@kube-dns/daemon';
import { FLAGS, readOptions } from '@kube-dns/node-cache/internal';
import type { FuzzTarget } from '../fuzz-target.js';
import { argumentSeeds, argumentsOf } from './argument-lines.js';
import { FLAG_TOKENS } from './flag-texts.js';
import { textTarget } from './text-target.js';

const PROGRAM = { name: 'node-cache', version: '', summary: '', flags: FLAGS };

/** Without one no other flag is looked at. */
const LOCAL = '-localip=::1';

/** The flags of node-cache. */
export function createNodeCacheFlags(): FuzzTarget {
  return textTarget({
    seeds: argumentSeeds([
      ...['-localip', '169.254.20.10,fd00::a', '-conf', '/etc/Corefile', '-upstreamsvc=kube-dns'],
      ...[
        '-syncinterval=60',
        '-metrics-listen-address=127.0.0.1:9353',
        '-dns.port=53',
        '--setup=nft',
      ],
      ...['-interfacename=nodelocaldns', '--drain-time=1m30s', '-setupinterface=false'],
    ]),
    tokens: [...FLAG_TOKENS, ...Object.keys(FLAGS).map((name) => `-${name}=`)],
    parse: (text) => {
      const { request, values } = parseFlags(PROGRAM, [LOCAL, ...argumentsOf(text)]);
      if (request === 'run') readOptions(values);
      return request === 'run';
    },
    isRefusal: (error) => error instanceof UsageError || error instanceof StartupError,
  });
}
