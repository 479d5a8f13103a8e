import { textAllowance } from './text-target.js';

/** What servers of dnsmasq are made of. */
export const SERVER_TOKENS = [
  ...[
    'server=',
    'rev-server=',
    'local=',
    '/a.b/',
    '//',
    '/#/',
    '/*.x/',
    '10.0.0.1',
    '#53',
    '@eth0',
  ],
  ...['@10.0.0.2#1024', '::1', '/0', '/8', '/31', '/128', ',', '"', '\\"', '#'],
];

/** Options of dnsmasq with values that it takes, without dashes. */
export const OPTION_SEEDS = [
  ...['port=53', 'listen-address=127.0.0.1,::1', 'interface=eth0', 'no-resolv', 'cache-size=1000'],
  ...['server=/a.b/10.0.0.1#53', 'rev-server=10.0.0.0/8,10.0.0.1', 'local=/l/', 'neg-ttl=60'],
  ...['address=/x/1.2.3.4', 'cname=a,b,60', 'host-record=h,h.x,10.0.0.1,fd00::1,30'],
  ...['txt-record=t,one,"two, three"', 'srv-host=_s._tcp,h,80,1,2', 'mx-host=x,y,5'],
  ...['naptr-record=n,1,2,s,SIP+D2U,!^.*$!sip:x!,r', 'caa-record=c,0,issue,ca.x', 'ptr-record=p,q'],
  ...['dns-rr=r,65280,0a:0b:0c', 'synth-domain=s.x,10.0.0.0/24,ip-', 'dynamic-host=d,0.0.0.9,eth0'],
  ...[
    'add-subnet=24,56',
    'add-mac=base64',
    'umbrella=deviceid:0123456789abcdef,orgid:7',
    'local-ttl=9',
  ],
  ...[
    'alias=10.0.0.0-10.0.0.9,192.0.2.0,255.255.255.0',
    'bogus-nxdomain=192.0.2.0/24',
    'filter-rr=TXT',
  ],
  ...[
    'max-cache-ttl=90',
    'dns-forward-max=9',
    'log-queries=extra',
    'log-facility=-',
    'no-negcache',
  ],
  ...[
    'rebind-domain-ok=/a/b/',
    'edns-packet-max=4096',
    'fast-dns-retry=500,2000',
    'cache-rr=ANY,HTTPS',
  ],
  ...[
    'interface-name=i,eth0/4',
    'expand-hosts',
    'domain=dom.x',
    'addn-hosts=/etc/hosts.x',
    'user=root',
  ],
];

/** A file that is named is read, and a script is run: that is for no fuzzer. */
export function namesFiles(text: string): boolean {
  return /conf|-[^-\n]*[C7]/.test(text);
}

/** Memory of the up to 128 reverse zones that one `--rev-server` adds. */
const RANGE_BYTES = 384 * 1024;

/** A domain of two characters becomes a rule of more than a KiB, in code that is not compiled yet. */
const TIMES_A_TEXT = 2;

/** See FuzzTarget. */
export function optionAllowance(input: Buffer): number {
  return (
    TIMES_A_TEXT * textAllowance(input) +
    RANGE_BYTES * (input.toString('latin1').split('rev').length - 1)
  );
}
