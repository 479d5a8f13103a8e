import { describe, expect, it } from '@jest/globals';
import { decodeName } from '@kube-dns/wire';
import { parseServersFile } from './servers-file.js';

describe('a servers file', () => {
  it('has servers of both kinds, and comments', () => {
    const text = '# ours\nserver=/a.x/1.2.3.4#53 # here\n\nrev-server=10.0.0.0/8,1.2.3.5\n';
    const { rules, complaints } = parseServersFile(text, '/f');
    expect(rules.map(({ domains }) => decodeName(domains[0]!))).toEqual(['a.x', '10.in-addr.arpa']);
    expect(complaints).toEqual([]);
  });

  it('has lines that cannot be obeyed, each of which is complained of while the others hold', () => {
    const lines = [
      'port=5',
      'frob=1',
      'server',
      'server=1.2.3.4#x',
      'no-resolv',
      'no-resolv=1',
      'server="',
      'local=/a.x/',
      'address=/a.x/1.2.3.4',
      'dhcp-range=1',
      'port',
      'rev-server=10.0.0.0/99,1.1.1.1',
      'server=1.1.1.1',
    ];
    const { rules, complaints } = parseServersFile(lines.join('\n'), '/f');
    expect(rules).toHaveLength(1);
    expect(complaints).toEqual([
      'illegal option at line 1 of /f',
      'bad option at line 2 of /f (unknown option "frob")',
      'missing parameter at line 3 of /f',
      'bad port at line 4 of /f (bad port "x")',
      'illegal option at line 5 of /f',
      'extraneous parameter at line 6 of /f',
      'missing " at line 7 of /f (a quote does not end)',
      'illegal option at line 8 of /f',
      'illegal option at line 9 of /f',
      'illegal option at line 10 of /f',
      'missing parameter at line 11 of /f',
      'bad IPv4 prefix length at line 12 of /f (bad number "99")',
    ]);
  });
});
