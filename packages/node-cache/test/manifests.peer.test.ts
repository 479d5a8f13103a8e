import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseFlags } from '@kube-dns/base';
import { needsPrograms, ownedBy, TemporaryFolder, unless } from '@kube-dns/testkit';
import { containerOf, findObject, MANIFESTS, render } from '@kube-dns/testkit/manifests';
import { FLAGS, readOptions } from '../src/config/options.js';
import { blocksOf } from './support/served-blocks.js';

unless(needsPrograms('kubectl'), describe)('cluster.yaml of manifests/node-cache', () => {
  const opened = ownedBy(afterEach);
  let folder: TemporaryFolder;
  beforeEach(() => {
    folder = opened(new TemporaryFolder());
  });

  /** What node-cache is started with: kubelet's part is the variables and the addresses of the pod. */
  function startOf(overlay: string, settings: object, podAddresses: readonly string[]) {
    cpSync(MANIFESTS, folder.path, { recursive: true });
    const file = join(folder.path, 'node-cache', 'cluster.yaml');
    const text = Object.entries(settings).reduce(
      (done, [key, value]) => done.replace(new RegExp(`^  ${key}: .*$`, 'm'), `  ${key}: ${value}`),
      readFileSync(file, 'utf8'),
    );
    writeFileSync(file, text);
    const objects = render(join(folder.path, 'overlays', `node-cache-${overlay}`));
    const fields: NodeJS.ProcessEnv = {
      'status.podIP': podAddresses[0],
      'status.podIPs': podAddresses.join(),
    };
    const set = findObject(objects, 'DaemonSet', 'node-local-dns');
    const { args = [], env = [], livenessProbe, readinessProbe } = containerOf(set, 'node-cache');
    const variables = Object.fromEntries(
      env.map(({ name, value, valueFrom }) => [
        name,
        value ?? fields[valueFrom?.fieldRef?.fieldPath ?? ''],
      ]),
    );
    const expanded = args.map((arg) =>
      arg.replaceAll(/\$\((\w+)\)/g, (whole, name: string) => variables[name] ?? whole),
    );
    const program = { name: 'node-cache', version: '1.2.3', summary: '', flags: FLAGS };
    const { localAddresses, metricsAddress, corefile } = readOptions(
      parseFlags(program, expanded).values,
    );
    const { data } = findObject(objects, 'ConfigMap', 'node-local-dns');
    const { prometheusAddress } = corefile;
    const [block] = blocksOf(data?.Corefile ?? '', localAddresses, variables, prometheusAddress);
    const probed = [livenessProbe, readinessProbe].map((probe) => probe?.httpGet.host);
    return { localAddresses, metricsAddress, block, probed };
  }

  const V4 = { localIP: '169.254.20.10', clusterIP: '10.96.0.10' };
  const V6 = { localIP: 'fd00:10::10', clusterIP: 'fd00:96::a' };
  const [POD_V4, POD_V6] = ['10.0.0.1', 'fd00:a::1'];
  const both = { ...V4, moreIPs: "',fd00:10::10,fd00:96::a'" };
  const bothFromV6 = { ...V6, moreIPs: "',169.254.20.10,10.96.0.10'" };

  it.each([
    ['nftables', V4, [POD_V4], '169.254.20.10 10.96.0.10'],
    ['nftables', V6, [POD_V6], 'fd00:10::10 fd00:96::a'],
    ['nftables', both, [POD_V4, POD_V6], '169.254.20.10 10.96.0.10 fd00:10::10 fd00:96::a'],
    ['iptables', bothFromV6, [POD_V6, POD_V4], 'fd00:10::10 fd00:96::a 169.254.20.10 10.96.0.10'],
    ['ipvs', V6, [POD_V6], 'fd00:10::10'],
    ['ipvs', { ...V4, moreIPs: "',fd00:10::10'" }, [POD_V4, POD_V6], '169.254.20.10 fd00:10::10'],
    ['cilium', V4, [POD_V4], '10.0.0.1'],
    ['cilium', V6, [POD_V6], 'fd00:a::1'],
    ['cilium', V4, [POD_V4, POD_V6], '10.0.0.1 fd00:a::1'],
  ])('serves %s with %j in a pod with %j on %s', (overlay, settings, pod, listened) => {
    const { localAddresses, metricsAddress, block, probed } = startOf(overlay, settings, pod);
    expect(localAddresses.join(' ')).toBe(listened);
    expect(block?.addresses.join(' ')).toBe(listened);
    expect(metricsAddress).toEqual({ host: pod[0], port: 9353 });
    const [host] = localAddresses;
    expect(block).toMatchObject({
      metrics: { host: pod[0], port: 9253 },
      health: { host, port: 8080 },
      ready: { host, port: 8181 },
    });
    // Without a host kubelet asks the first address of the pod.
    expect(probed.map((probe) => probe ?? pod[0])).toEqual([host, host]);
  });
});
