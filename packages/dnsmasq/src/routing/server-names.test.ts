import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseDnsConfig } from '@kube-dns/daemon';
import {
  addressRecords,
  encodeQuery,
  type Script,
  ScriptedNameServer,
  until,
} from '@kube-dns/testkit';
import { serverText, UpstreamServers, UpstreamSockets } from '@kube-dns/transport';
import { RCODE, readQuery } from '@kube-dns/wire';
import { type RecordedLog, recordedLog } from '../../test/recorded-log.js';
import { parseServerRule } from '../options/server-value.js';
import { ServerStatistics } from '@kube-dns/resolver';
import { Router } from './router.js';

const PACE = { minMs: 20, maxMs: 50, retryMs: 20, deadlineMs: 60_000 };

/** A script that answers every name with one IPv4 address. */
const at =
  (address: string): Script =>
  ({ type }) =>
    type === 'A' ? { answers: addressRecords(0, address) } : {};

let kubedns: ScriptedNameServer;
let others: ScriptedNameServer;
let log: RecordedLog;
let sockets: UpstreamSockets;
let router: Router;

beforeEach(async () => {
  kubedns = await ScriptedNameServer.start(at('10.0.0.1'));
  others = await ScriptedNameServer.start(at('10.0.0.2'));
  log = recordedLog();
  sockets = new UpstreamSockets();
});

afterEach(async () => {
  router.close();
  sockets.close();
  await Promise.all([kubedns.close(), others.close()]);
});

/** A router whose ConfigMap sends `corp` to a server with this name. */
function routeTo(host: string, ...rules: string[]): void {
  router = new Router({
    rules: [...rules, others.text].map(parseServerRule),
    upstreams: new UpstreamServers(sockets, new ServerStatistics()),
    log,
    kubednsServer: { address: '127.0.0.1', port: kubedns.port },
    hostPace: PACE,
  });
  const stubDomains = JSON.stringify({ corp: [host] });
  router.configure(parseDnsConfig(new Map([['stubDomains', stubDomains]])));
  router.load();
}

const servers = () => {
  const { servers: found } = router.routes.find(readQuery(encodeQuery({ name: 'x.corp' })));
  return found.map((server) => serverText(server));
};

/** The names that were looked up: a server that is slow is also asked for the SOA of its domain, which is a probe. */
const lookups = ({ requests }: ScriptedNameServer) =>
  requests.filter(({ type }) => type !== 'SOA').map(({ name }) => name);

describe('the name of a stub domain’s server', () => {
  it.each<[string, string, (() => string[])?]>([
    ['ns.dns.svc.cluster.local', 'kubedns'],
    ['cluster.local', 'kubedns'],
    ['ns.notcluster.local', 'the default servers'],
    ['ns.example.com', 'the default servers'],
    ['ns.dns.svc.k8s.test', 'kubedns', () => [`/k8s.test/${kubedns.text}`]],
    ['ns.k8s.test', 'kubedns', () => [`/a.test/k8s.test/${kubedns.text}`]],
    ['ns.k8s.test', 'the default servers', () => ['/k8s.test/127.0.0.1#1']],
    [
      'ns.out.k8s.test',
      'the default servers',
      () => [`/k8s.test/${kubedns.text}`, '/out.k8s.test/127.0.0.1#1'],
    ],
    [
      'ns.out.k8s.test',
      'the default servers',
      () => [`/k8s.test/${kubedns.text}`, '/out.k8s.test/#'],
    ],
    ['ns.example.com', 'the default servers', () => [`/k8s.test/${kubedns.text}`]],
  ])('%s is looked up at %s', async (host, where, rules = () => []) => {
    routeTo(host, ...rules());
    const [asked, idle] = where === 'kubedns' ? [kubedns, others] : [others, kubedns];
    await until(() => servers().length > 0);
    expect(servers()).toEqual([asked === kubedns ? '10.0.0.1#53' : '10.0.0.2#53']);
    expect(new Set(lookups(asked))).toEqual(new Set([host]));
    expect(lookups(idle)).toEqual([]);
  });

  it('leaves its domain without servers until it is resolved, and is tried again', async () => {
    kubedns.script = () => ({ rcode: RCODE.NXDOMAIN });
    routeTo('ns.cluster.local');
    await until(() => kubedns.requests.length >= 6);
    expect(servers()).toEqual([]);
    // No other server gets the questions of the domain meanwhile.
    expect(router.routes.find(readQuery(encodeQuery({ name: 'x.corp' }))).domain).toBe('corp');
    kubedns.script = at('10.0.0.3');
    await until(() => servers()[0] === '10.0.0.3#53');
    const warnings = log.messages.filter((line) => line.includes('cannot resolve'));
    expect(warnings).toHaveLength(1);
  });
});
