import { parseFlags } from '@kube-dns/base';
import { DnsmasqServer, parseOptions, PROGRAM } from '@kube-dns/dnsmasq/internal';
import { ErrorLog } from './error-log.js';
import { MemoryEngine } from '../memory-engine.js';

/** Every kind of rule that looks at names, records or options of what comes. */
const OPTIONS = [
  ...['--no-resolv', '--no-hosts', '--listen-address=127.0.0.1', '--server=192.0.2.53'],
  ...['--cache-size=1000', '--cache-rr=ANY', '--neg-ttl=9', '--max-ttl=3600'],
  ...['--stop-dns-rebind', '--rebind-domain-ok=/ok/', '--rebind-localhost-ok'],
  ...[
    '--bogus-nxdomain=192.0.2.66',
    '--ignore-address=192.0.2.77',
    '--alias=198.51.100.1,10.9.9.9',
  ],
  ...['--filter-rr=NAPTR', '--cname=alias.x,host.x', '--host-record=host.x,10.1.1.1,fd00::1'],
  ...['--txt-record=txt.x,one,two', '--srv-host=_s._udp.x,host.x,53', '--mx-host=x,host.x,5'],
  ...['--ptr-record=1.1.1.10.in-addr.arpa,host.x', '--local=/local/', '--address=/block/0.0.0.0'],
  ...['--synth-domain=synth.x,10.2.0.0/24,ip-', '--bogus-priv', '--domain-needed'],
];
/** The same with what writes texts of the packets, and changes their EDNS options. */
const TALKATIVE = [
  ...['--log-queries=extra', '--add-subnet=24,56', '--add-mac', '--proxy-dnssec'],
  ...['--use-stale-cache=60', '--filter-A', '--umbrella'],
];

/** A whole dnsmasq without sockets, which answers each query immediately. */
export interface DnsmasqTestbed {
  readonly engine: MemoryEngine;
  readonly log: ErrorLog;
  close(): Promise<void>;
}

export async function startDnsmasq(isTalkative: boolean): Promise<DnsmasqTestbed> {
  const engine = new MemoryEngine();
  const log = new ErrorLog();
  const options = parseOptions([...OPTIONS, ...(isTalkative ? TALKATIVE : [])]);
  const { values } = parseFlags(PROGRAM, ['--configDir=/nonexistent/kube-dns']);
  const server = new DnsmasqServer(values, options, engine, log);
  await server.start();
  return { engine, log, close: () => server.close() };
}
