import { parseResolvConf } from '@kube-dns/transport';
import type { FuzzTarget } from '../fuzz-target.js';
import { textTarget } from './text-target.js';

/** resolv.conf(5), as dnsmasq and kubedns read it. */
export function createResolvFile(): FuzzTarget {
  return textTarget({
    seeds: [
      'nameserver 10.0.0.10\nsearch default.svc.cluster.local svc.cluster.local\noptions ndots:5\n',
      '; comment\n# comment\nnameserver ::1\nnameserver fe80::1%eth0\n\tnameserver\t192.0.2.1 x\r\n',
      'nameserver\nnameserver 1.2.3\nnameserver a.b\n',
    ],
    tokens: ['nameserver ', 'search ', 'options ', '10.0.0.1', '%', '\t', ' '],
    parse: (text) => parseResolvConf(text).length > 0,
  });
}
