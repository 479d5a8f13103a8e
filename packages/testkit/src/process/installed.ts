import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { delimiter, join } from 'node:path';

/** `dnsmasq` on the PATH of an npm script is ours. */
const DNSMASQ_PATHS = ['/usr/sbin/dnsmasq', '/usr/bin/dnsmasq'];

/** The programs that tests look for, each with what installs it. */
const INSTALLED_BY: Readonly<Record<string, string>> = {
  'apt-get': 'a Debian',
  catatonit: 'apt-get install catatonit',
  chromium: 'apt-get install chromium',
  conntrack: 'apt-get install conntrack',
  containerd: 'apt-get install containerd',
  coredns: 'put it into the PATH, or COREDNS=PATH names it',
  ctr: 'apt-get install containerd',
  curl: 'apt-get install curl',
  dig: 'apt-get install dnsutils',
  dnsdist: 'apt-get install dnsdist',
  dnsperf: 'apt-get install dnsperf',
  'dnstap-read': 'apt-get install dnsutils',
  'dpkg-deb': 'a Debian',
  fish: 'apt-get install fish',
  fstrm_capture: 'apt-get install fstrm-bin',
  helm: '.ci/run fetches it',
  ip: 'apt-get install iproute2',
  iptables: 'apt-get install iptables',
  knotc: 'apt-get install knot',
  knotd: 'apt-get install knot',
  kresd: 'apt-get install knot-resolver',
  kubectl: '.ci/run fetches it',
  kzonecheck: 'apt-get install knot-dnssecutils',
  named: 'apt-get install bind9',
  'named-checkzone': 'apt-get install bind9-utils',
  nft: 'apt-get install nftables',
  nsd: 'apt-get install nsd',
  'nsd-checkconf': 'apt-get install nsd',
  'nsd-checkzone': 'apt-get install nsd',
  nsenter: 'apt-get install util-linux',
  pdns_recursor: 'apt-get install pdns-recursor',
  podman: 'apt-get install podman netavark',
  runc: 'apt-get install runc',
  setpriv: 'apt-get install util-linux',
  setsid: 'apt-get install util-linux',
  ss: 'apt-get install iproute2',
  unbound: 'apt-get install unbound',
  'unbound-checkconf': 'apt-get install unbound',
  unshare: 'apt-get install util-linux',
  zsh: 'apt-get install zsh',
};

/** The path of a program of this machine; undefined where it is not installed. */
export function findProgram(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** The first of these programs that is not installed, and what installs it; undefined where none is missing. */
export function needsPrograms(...names: readonly string[]): string | undefined {
  const name = names.find((each) => findProgram(each) === undefined);
  if (name === undefined) return undefined;
  const how = INSTALLED_BY[name];
  return `needs ${name}${how === undefined ? '' : `: ${how}`}`;
}

/** The program of CoreDNS: the one that COREDNS names, or on the PATH. */
export function findCoreDns(): string | undefined {
  const { COREDNS = '' } = process.env;
  return COREDNS === '' ? findProgram('coredns') : COREDNS;
}

/** Why no test runs CoreDNS here; undefined where it can. */
export function needsCoreDns(): string | undefined {
  return findCoreDns() === undefined ? needsPrograms('coredns') : undefined;
}

/** The program of the real node-cache, which NODE_CACHE names: `node-cache` on the PATH of an npm script is ours. */
export function findRealNodeCache(): string | undefined {
  const { NODE_CACHE = '' } = process.env;
  return NODE_CACHE === '' ? undefined : NODE_CACHE;
}

/** Why no test runs the real node-cache here; undefined where it can. */
export function needsRealNodeCache(): string | undefined {
  return findRealNodeCache() === undefined
    ? 'needs the real node-cache: NODE_CACHE=PATH names it'
    : undefined;
}

/** Why no test uses the address ::1 here; undefined where it can. */
export function needsIpv6(): string | undefined {
  const addresses = Object.values(networkInterfaces()).flat();
  return addresses.some((each) => each?.address === '::1') ? undefined : 'needs the address ::1';
}

/** Why no test makes a network or a mount of its own here; undefined where it can. */
export function needsNamespaces(): string | undefined {
  const { status } = spawnSync('unshare', ['--net', '--mount', 'true'], { stdio: 'ignore' });
  return status === 0 ? undefined : 'needs root that may make namespaces';
}

/** Binds port 53 of an address of loopback that no resolver has; prints the code of the error. */
const BIND_53 = `require('node:dgram').createSocket('udp4').once('error', ({ code }) => {
  process.stdout.write(code);
  process.exit(1);
}).bind(53, '127.83.97.53', () => process.exit(0));`;

/** Why no test serves port 53 here; undefined where it can. */
export function needsPort53(): string | undefined {
  const { status, stdout } = spawnSync(process.execPath, ['-e', BIND_53], { encoding: 'utf8' });
  if (status === 0) return undefined;
  return stdout === 'EADDRINUSE' ? 'needs port 53, which is in use' : 'needs the right to port 53';
}

/** Why no test starts programs as another user here; undefined where it can. */
export function needsOtherUsers(): string | undefined {
  const { status } = spawnSync('true', { uid: 65_534, gid: 65_534, stdio: 'ignore' });
  return status === 0 ? undefined : 'needs the right to start programs as another user';
}

/** The version of the dnsmasq at this path, for example `2.90`. */
export function realDnsmasqVersion(path: string): string {
  const text = execFileSync(path, ['--version'], { encoding: 'utf8' });
  return /version (\S+)/.exec(text)?.[1] ?? 'of unknown version';
}

/** The path of the real dnsmasq, of this version if given; undefined where it is not installed. */
export function findRealDnsmasq(version?: string): string | undefined {
  return DNSMASQ_PATHS.find(
    (path) => existsSync(path) && (version === undefined || realDnsmasqVersion(path) === version),
  );
}

/** Why no test runs the real dnsmasq here, of this version if given; undefined where it can. */
export function needsRealDnsmasq(version?: string): string | undefined {
  if (findRealDnsmasq(version) !== undefined) return undefined;
  const wanted = version === undefined ? 'the real dnsmasq' : `the real dnsmasq ${version}`;
  return `needs ${wanted}: apt-get install dnsmasq-base`;
}
