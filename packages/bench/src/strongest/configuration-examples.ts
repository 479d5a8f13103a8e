import type { PeerWord, StartPlan, Task } from './configurations.js';

const UPSTREAM = { port: 5_353 };
const TLS = { name: 'dns.example', caFile: '/etc/ssl/certs/ca-certificates.crt' };

const CACHE: Task = { kind: 'cache', upstream: UPSTREAM };
const FORWARD: Task = { kind: 'forward', upstream: UPSTREAM };
const OVER_TLS: Task = { kind: 'forward', upstream: { ...UPSTREAM, tls: TLS } };
const ZONE: Task = {
  kind: 'zone',
  zone: '$TTL 30\n@ SOA ns hostmaster 1 7200 1800 86400 30\n@ NS ns\nns A 127.0.0.1\n',
};

/** What tests compare and check: the name of the expected file, the server, and what it does. */
export const EXAMPLES: readonly (readonly [string, PeerWord, Task])[] = [
  ['unbound-cache.conf', 'unbound', CACHE],
  ['unbound-forward.conf', 'unbound', FORWARD],
  ['unbound-tls.conf', 'unbound', OVER_TLS],
  ['pdns-recursor-cache.conf', 'pdns-recursor', CACHE],
  ['pdns-recursor-forward.conf', 'pdns-recursor', FORWARD],
  ['knot-resolver-cache.conf', 'knot-resolver', CACHE],
  ['knot-resolver-forward.conf', 'knot-resolver', FORWARD],
  ['knot-resolver-tls.conf', 'knot-resolver', OVER_TLS],
  ['dnsdist-cache.conf', 'dnsdist', CACHE],
  ['dnsdist-forward.conf', 'dnsdist', FORWARD],
  ['dnsdist-tls.conf', 'dnsdist', OVER_TLS],
  ['nsd.conf', 'nsd', ZONE],
  ['knot.conf', 'knot', ZONE],
];

/** A server of one core at port 5300. */
export function examplePlan(task: Task, folder: string): StartPlan {
  return { task, port: 5_300, folder, threads: 1 };
}
