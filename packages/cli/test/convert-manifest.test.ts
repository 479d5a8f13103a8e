import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { KNOWN_OPTIONS, PROGRAM as DNSMASQ, UNSUPPORTED_OPTIONS } from '@kube-dns/dnsmasq/internal';
import { PROGRAM as KUBEDNS } from '@kube-dns/kubedns/internal';
import {
  containerOf,
  fieldFaults,
  findObject,
  STOCK_FILE,
  type KubeManifest,
} from '@kube-dns/testkit/manifests';
import { REFUSED_OPTIONS } from '../src/convert/manifest/convert-manifest.js';
import { convertFile, convertText } from './support/converted.js';

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
const stock = readFileSync(STOCK_FILE, 'utf8');

function argsOf(objects: readonly KubeManifest[], container: string): readonly string[] {
  return containerOf(findObject(objects, 'Deployment', 'kube-dns'), container).args ?? [];
}

describe('the manifest of the newest kube-dns', () => {
  it('names an entry of a list without keys that ours does not have', () => {
    const text = stock.replace(
      'dnsPolicy: Default',
      'dnsPolicy: Default\n      topologySpreadConstraints: [{ maxSkew: 7, topologyKey: rack }]',
    );
    expect(convertText(text).lines[0]).toContain('[{"maxSkew":7,"topologyKey":"rack"}]');
  });

  it('retains its domain, address, keys and arguments', () => {
    const text = stock
      .replaceAll('cluster.local', 'k8s.test')
      .replace('10.96.0.10', '10.3.0.10')
      .replace('--cache-size=1000', '--cache-size=5000\n            - --max-ttl=30')
      .replace('EnsureExists\n', 'EnsureExists\ndata:\n  stubDomains: \'{"a.b":["10.0.0.1"]}\'\n');
    const { objects, notes } = convertText(text);
    expect(notes.hasLosses).toBe(false);
    expect(JSON.stringify(objects)).not.toContain('cluster.local');
    expect(argsOf(objects, 'dnsmasq')).toEqual(
      expect.arrayContaining(['--cache-size=5000', '--max-ttl=30']),
    );
    const { env = [] } = containerOf(findObject(objects, 'Deployment', 'kube-dns'), 'sidecar');
    expect(env[0]).toEqual({ name: 'CLUSTER_DOMAIN', value: 'k8s.test' });
    expect(findObject(objects, 'Service', 'kube-dns').spec.clusterIP).toBe('10.3.0.10');
    expect(findObject(objects, 'ConfigMap', 'kube-dns').data).toEqual({
      stubDomains: '{"a.b":["10.0.0.1"]}',
    });
  });

  it('says nothing of what the API server fills in', () => {
    const served = stock
      .replaceAll(
        '      dnsPolicy: Default',
        '      dnsPolicy: Default\n      restartPolicy: Always',
      )
      .replaceAll(
        '  namespace: kube-system',
        '  namespace: kube-system\n  uid: x\n  generation: 4',
      );
    expect(convertText(served).lines).toEqual(convertText(stock).lines);
  });

  it.each([
    [
      '- --v=2\n          env',
      '- --v=2\n            - --bogus=1\n          env',
      'kubedns: --bogus=1',
    ],
    [
      '- -restartDnsmasq=true',
      '- -restartDnsmasq=true\n            - -bogus=1',
      'dnsmasq: -bogus=1',
    ],
    ['- -k', '- -k\n            - --conntrack', 'dnsmasq: --conntrack'],
    ['dnsPolicy: Default', 'dnsPolicy: Default\n      hostNetwork: true', 'hostNetwork: true'],
    [
      '      priorityClassName',
      '      shareProcessNamespace: true\n      priorityClassName',
      'shareProcessNamespace: true',
    ],
    ['clusterIP: 10', 'externalName: x\n  clusterIP: 10', 'Service kube-dns: spec.externalName: x'],
  ])('names what ours has no place for: %j', (old, replacement, message) => {
    const text = stock.replace(old, replacement);
    expect(text).not.toBe(stock);
    const { lines } = convertText(text);
    expect(lines[0]).toMatch(/^not carried over: /);
    expect(lines[0]).toContain(message);
    expect(lines[1]).not.toMatch(/^not carried over: /);
  });
});

describe('the manifest of Kubernetes 1.6', () => {
  const { objects, lines, notes } = convertFile(fixture('kube-dns-1.6.yaml'));
  const deployment = findObject(objects, 'Deployment', 'kube-dns');

  it('loses nothing', () => {
    expect(notes.hasLosses).toBe(false);
    expect(objects.flatMap(fieldFaults)).toEqual([]);
    expect(deployment.apiVersion).toBe('apps/v1');
  });

  it('retains its API server, environment, volumes, node selector and tolerations', () => {
    expect(argsOf(objects, 'kubedns')).toContain('--kube-master-url=https://10.1.1.1:6443');
    expect(containerOf(deployment, 'kubedns').env).toContainEqual({
      name: 'HTTPS_PROXY',
      value: 'http://proxy.example.org',
    });
    expect(containerOf(deployment, 'dnsmasq').volumeMounts?.map(({ name }) => name)).toEqual([
      'kube-dns-config',
      'extra-hosts',
    ]);
    const spec = deployment.spec.template.spec;
    expect(spec.volumes?.map(({ name }) => name)).toContain('extra-hosts');
    expect(spec).toMatchObject({ nodeSelector: { 'kubernetes.io/os': 'linux', pool: 'infra' } });
    expect(spec.tolerations).toContainEqual({ key: 'dedicated', value: 'dns' });
  });

  it('retains the ConfigMap that it mounts, under its name', () => {
    const { data } = findObject(objects, 'ConfigMap', 'dns-settings');
    expect(data?.stubDomains).toContain('acme.local');
    const volumes = JSON.stringify(deployment.spec.template.spec.volumes);
    expect(volumes).toContain('{"name":"dns-settings","optional":true}');
  });

  it('leaves the address to the cluster where no service is there, and says so', () => {
    expect(findObject(objects, 'Service', 'kube-dns').spec).not.toHaveProperty('clusterIP');
    expect(lines.join('\n')).toContain('Service kube-dns: its address is not known here');
  });
});

describe('the ReplicationController of Kubernetes 1.5', () => {
  const { objects, lines } = convertFile(fixture('kube-dns-v20.yaml'));

  it('becomes the three containers, with its domain, address, replicas and federations', () => {
    expect(objects.flatMap(fieldFaults)).toEqual([]);
    const deployment = findObject(objects, 'Deployment', 'kube-dns');
    expect(deployment.spec.replicas).toBe(3);
    expect(deployment.spec.template.metadata.labels).toEqual({ 'k8s-app': 'kube-dns' });
    const names = deployment.spec.template.spec.containers.map(({ name }) => name);
    expect(names).toEqual(['kubedns', 'dnsmasq', 'sidecar']);
    expect(containerOf(deployment, 'kubedns').env).toContainEqual({
      name: 'CLUSTER_DOMAIN',
      value: 'k8s.example.org',
    });
    expect(findObject(objects, 'Service', 'kube-dns').spec.clusterIP).toBe('10.0.0.10');
    expect(findObject(objects, 'ConfigMap', 'kube-dns').data).toEqual({
      federations: 'east=fed.example.com',
    });
  });

  it('has the arguments of its dnsmasq after those of the nanny, with the port that ours asks', () => {
    const args = argsOf(objects, 'dnsmasq');
    expect(args.slice(args.indexOf('--') + 1)).toEqual([
      '--cache-size=2000',
      '--no-resolv',
      '--server=127.0.0.1#10053',
      '--log-facility=-',
    ]);
  });

  it('names what is lost, and what others do now', () => {
    const lost = lines.filter((line) => line.startsWith('not carried over'));
    expect(lost).toEqual([
      'not carried over: dnsmasq: --dnssec: ours refuses it',
      'not carried over: container exporter: ours does not have it',
      expect.stringContaining('containers[kubedns].ports[10054'),
    ]);
    expect(lines).toContain('differs: container healthz: ours has no need of it');
  });
});

describe('older and odder pods', () => {
  const pod = (containers: readonly object[]) =>
    convertText(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'dns' },
        spec: { containers },
      }),
    );

  it('of skydns with etcd have a domain to carry over', () => {
    const { objects, lines } = pod([
      { name: 'etcd', image: 'google_containers/etcd:2.0.9' },
      { name: 'kube2sky', image: 'google_containers/kube2sky:1.11', args: ['-domain=old.test'] },
      { name: 'skydns', image: 'google_containers/skydns:2015', args: ['-domain=old.test.'] },
    ]);
    expect(JSON.stringify(objects)).toContain('"value":"old.test"');
    expect(lines.join('\n')).toContain('container etcd: ours has no need of it');
  });

  it('keep words with blanks whole, and separate words separate', () => {
    const args = ['-kN', '-c', '77', '--txt-record=a.b,some text', '-S', '127.0.0.1#10053'];
    const { objects } = pod([
      { name: 'kubedns', image: 'kubedns' },
      { name: 'dnsmasq', image: 'kube-dnsmasq-amd64:1.4', args },
    ]);
    const made = argsOf(objects, 'dnsmasq');
    expect(made.slice(made.indexOf('--') + 1)).toEqual([
      '--keep-in-foreground',
      '-N',
      '--negcache=push',
      ...args.slice(1),
    ]);
  });

  it('with a domain, a port or a ConfigMap that is none do not stop the conversion', () => {
    const { lines } = pod([
      {
        name: 'kubedns',
        image: 'kubedns',
        args: ['--domain=a(b', '--dns-port=[', '--nameservers=1,2'],
      },
      { name: 'dnsmasq', image: 'dnsmasq', args: ['--server=/a(b/127.0.0.1#['] },
    ]);
    expect(lines.join('\n')).toMatch(
      /ConfigMap kube-dns: upstreamNameservers: "1": not an IP address/,
    );
  });
});

describe('the options of dnsmasq that ours refuses', () => {
  it('are those that it does not know', () => {
    for (const { name } of KNOWN_OPTIONS) {
      expect([name, REFUSED_OPTIONS.test(name)]).toEqual([name, false]);
    }
    for (const { name } of UNSUPPORTED_OPTIONS) {
      expect([name, REFUSED_OPTIONS.test(name)]).toEqual([name, true]);
    }
  });
});

describe('the flags of our own programs', () => {
  const withFlag = (before: string, flag: string) =>
    stock.replace(before, `${flag}\n            ${before}`);

  it('are all carried over from a kubedns, or named', () => {
    const names = Object.keys(KUBEDNS.flags);
    expect(names.length).toBeGreaterThan(20);
    for (const name of names.filter((each) => !['domain', 'config-dir'].includes(each))) {
      const { objects, lines } = convertText(withFlag('- --dns-port=10053', `- --${name}=7`));
      const said = [...argsOf(objects, 'kubedns'), ...lines].join('\n');
      const isMounted = name === 'config-map' && said !== '';
      expect([name, isMounted || said.includes(`--${name}=7`)]).toEqual([name, true]);
    }
  });

  it('are all carried over from a nanny, or named', () => {
    const names = Object.keys(DNSMASQ.flags);
    expect(names).toContain('metrics-addr');
    for (const name of names.filter((each) => each !== 'configDir')) {
      const { objects, lines } = convertText(withFlag('- -restartDnsmasq=true', `- -${name}=7`));
      const said = [...argsOf(objects, 'dnsmasq'), ...lines].join('\n');
      expect([name, said.includes(`-${name}=`)]).toEqual([name, true]);
    }
  });
});
