import { HostsLines, HostsTable } from '@kube-dns/dnsmasq/internal';
import type { FuzzTarget } from '../fuzz-target.js';
import { ErrorLog } from './error-log.js';
import { textTarget } from './text-target.js';

const MAX_NAMES = 20_000;

/** Hosts files, line by line into a table of their own. */
export function createHostsFile(): FuzzTarget {
  const log = new ErrorLog();
  let table = newTable();
  return textTarget({
    encoding: 'latin1',
    seeds: [
      '127.0.0.1\tlocalhost localhost.localdomain # the machine\n::1 localhost ip6-localhost\n',
      '10.0.0.1 a b.c d.e.f\n10.0.0.2 a\nfe80::1%eth0 link\n\n# nothing\n10.0.0.300 bad\n',
      '1.2.3.4 caf\xe9 \\101 a..b -x x- *.x\r\n',
    ],
    tokens: ['127.0.0.1', '::1', 'localhost', 'a.b', '..', ' # ', '::ffff:1.2.3.4'],
    parse: (text) => {
      // A table is made for all files of a reload; what it takes at first is not the line's.
      if (table.size > MAX_NAMES) table = newTable();
      const lines = new HostsLines(table, 'hosts', 'x.y', log);
      for (const line of text.split('\n')) {
        for (const name of lines.begin(line)) lines.add(name);
      }
      lines.finish();
      return true;
    },
  });
}

function newTable(): HostsTable {
  const table = new HostsTable();
  table.beginFile('hosts');
  return table;
}
