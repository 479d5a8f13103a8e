import { parseServersFile } from '@kube-dns/dnsmasq/internal';
import type { FuzzTarget } from '../fuzz-target.js';
import { optionAllowance, SERVER_TOKENS } from './option-texts.js';
import { textTarget } from './text-target.js';

/** dnsmasq's `--servers-file`. */
export function createServersFile(): FuzzTarget {
  return textTarget({
    allowance: optionAllowance,
    seeds: [
      'server=/a.b/c/10.0.0.1#5353\nserver=/x/\nserver=//10.0.0.2\nserver=1.2.3.4@eth0#1024\n',
      'rev-server=10.0.0.0/8,10.0.0.1\nrev-server=fd00::/17,::1#53\n# comment\nserver="/q r/1.1.1.1"\n',
      'server=/*.x/#\nserver=/x/10.0.0.1@10.0.0.2#53\nlocal=/l/\naddress=/a/1.2.3.4\nfrob\n',
    ],
    tokens: SERVER_TOKENS,
    parse: (text) => parseServersFile(text, 'servers').rules.length > 0,
  });
}
