import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parsePod } from '@kube-dns/cli';
import { NetworkNamespace, Owned, RunningProgram, runProgram, until } from '@kube-dns/testkit';
import { containersOf, findObject, type KubeManifest } from '@kube-dns/testkit/manifests';
import { ROOT } from './root.js';
import type { Podman } from './podman.js';

export const LOCAL_DNS = '169.254.20.10';
export const KUBE_DNS = '10.96.0.10';
export const NODE = '10.244.0.1';
export const POD = '10.244.0.2';
const UPSTREAM = '10.96.0.99';
const CLUSTER_DNS = '10.244.9.53';
/** Longer than node-cache gives: who has answered shows in the TTL. */
const CLUSTER_TTL = 1000;
const NAME = 'web.shop.svc.cluster.local';
/** What kubelet and this node do in the place of podman. */
const NOT_FOR_PODMAN = ['ports', 'startupProbe', 'livenessProbe', 'readinessProbe'];
const ENVIRONMENT = { KUBE_DNS_UPSTREAM_SERVICE_HOST: UPSTREAM, POD_IP: NODE };

/** What kube-proxy does in its iptables mode: both services lead to the cluster's DNS. */
const KUBE_PROXY = `
  iptables -t mangle -N KUBE-PROXY-CANARY
  ip link set lo up; ip address add ${CLUSTER_DNS}/32 dev lo; ip route add 10.96.0.0/16 dev lo
  for service in ${KUBE_DNS} ${UPSTREAM}; do for protocol in udp tcp; do for chain in PREROUTING OUTPUT; do
    iptables -t nat -A $chain -p $protocol -d $service --dport 53 -j DNAT --to-destination ${CLUSTER_DNS}
  done; done; done`;

/** A node with kube-proxy, the cluster's DNS and a pod, each a network of its own; podman runs DaemonSets on it. */
export class PodmanNode {
  readonly #owned = new Owned();
  readonly #podman: Podman;
  #node!: NetworkNamespace;
  #pod!: NetworkNamespace;

  constructor(podman: Podman) {
    this.#podman = podman;
  }

  async start(): Promise<void> {
    const node = this.#owned.add(await NetworkNamespace.create());
    const pod = this.#owned.add(await NetworkNamespace.create());
    await node.run('sh', '-ec', KUBE_PROXY);
    await node.run('ip', ...`link add pod type veth peer name eth0 netns ${pod.pid}`.split(' '));
    await node.run('sh', '-ec', `ip address add ${NODE}/24 dev pod; ip link set pod up`);
    await pod.run('sh', '-ec', `ip link set lo up; ip address add ${POD}/24 dev eth0`);
    await pod.run('sh', '-ec', `ip link set eth0 up; ip route add default via ${NODE}`);
    const dnsmasq = [process.execPath, `${ROOT}packages/dnsmasq/dist/dnsmasq.cjs`, '--'];
    const place = ['--port=53', `--listen-address=${CLUSTER_DNS}`, '--bind-interfaces'];
    const answers = ['--no-resolv', '--no-hosts', '--address=/cluster.local/192.0.2.1'];
    const words = [...dnsmasq, ...place, ...answers, `--local-ttl=${CLUSTER_TTL}`];
    const [nsenter = '', ...args] = [...node.entrance, ...words];
    const dns = this.#owned.add(new RunningProgram('cluster DNS', nsenter, args));
    await dns.waitForLine(/serving on port 53/);
    [this.#node, this.#pod] = [node, pod];
  }

  /** Runs the pod of the DaemonSet node-local-dns from these images, and waits until it answers the node's pod. */
  async play(objects: readonly KubeManifest[], image: string): Promise<void> {
    const podman = this.#podman;
    const file = join(podman.folder, 'node-local-dns.json');
    writeFileSync(file, this.#podOf(objects, image));
    const [nsenter = '', ...words] = this.#node.entrance;
    podman.command(nsenter, ...words, 'podman', 'kube', 'play', '--network=host', file);
    const log = () => podman.outputOf('logs', this.nameOf('node-cache'));
    const isThere = async () => (await this.answeredBy()) === 'node-cache';
    await until(() => `an answer of node-cache:\n${log()}`, isThere);
  }

  nameOf(container: string): string {
    return `node-local-dns-${container}`;
  }

  /** Output of a command on the node. */
  run(...words: readonly string[]): Promise<string> {
    return this.#node.run(...words);
  }

  /** Who answers what the pod asks of kube-dns: '' is no answer within a second. */
  async answeredBy(...how: readonly string[]): Promise<string> {
    const dig = ['dig', `@${KUBE_DNS}`, '+time=1', '+tries=1', '+noall', '+answer', ...how, NAME];
    const [nsenter = '', ...words] = [...this.#pod.entrance, ...dig];
    const { stdout } = await runProgram(nsenter, words);
    const ttl = /^\S+\s+(\d+)\s+IN\s+A\s+192\.0\.2\.1$/m.exec(stdout)?.[1];
    if (ttl === undefined) return '';
    return Number(ttl) === CLUSTER_TTL ? 'the cluster' : 'node-cache';
  }

  /** Ends the pod as podman does, without a chance to clean up. */
  removePod(): void {
    this.#podman.run('pod', 'rm', '--all', '--force', '--time', '0');
  }

  async close(): Promise<void> {
    this.removePod();
    await this.#owned.close();
  }

  #podOf(objects: readonly KubeManifest[], image: string): string {
    const set = findObject(objects, 'DaemonSet', 'node-local-dns');
    const { spec, metadata } = set.spec.template;
    const expanded = parsePod(
      JSON.stringify({ ...set, kind: 'Deployment' }).replace(
        /\{"name":"POD_IP","valueFrom".*?\}\}\}/,
        JSON.stringify({ name: 'POD_IP', value: NODE }),
      ),
      'daemon-set.yaml',
    ).containers;
    const folders = this.#volumes(objects);
    const containers = containersOf(set).map((container) => {
      const rest = Object.entries(container).filter(([field]) => !NOT_FOR_PODMAN.includes(field));
      const fixed = (container.env ?? []).filter(({ name }) => !(name in ENVIRONMENT));
      const own = Object.entries(ENVIRONMENT).map(([name, value]) => ({ name, value }));
      return {
        ...Object.fromEntries(rest),
        image,
        args: expanded.find(({ name }) => name === container.name)?.args,
        env: [...fixed, ...own],
        volumeMounts: container.volumeMounts?.filter(({ name }) => folders.has(name)),
      };
    });
    const volumes = [...folders].map(([name, path]) => ({ name, hostPath: { path } }));
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, name: 'node-local-dns' },
      // Nothing starts it again, so that the cluster's DNS is what answers afterwards.
      spec: { ...spec, containers, volumes, restartPolicy: 'Never' },
    });
  }

  /** The folders of the volumes; the optional ConfigMap kube-dns is not there. */
  #volumes(objects: readonly KubeManifest[]): ReadonlyMap<string, string> {
    const folder = mkdtempSync(join(this.#podman.folder, 'node-'));
    const [template, run, lock] = ['template', 'run', 'lock'].map((name) => join(folder, name));
    const { data = {} } = findObject(objects, 'ConfigMap', 'node-local-dns');
    mkdirSync(template!);
    mkdirSync(run!);
    writeFileSync(join(template!, 'Corefile.base'), data.Corefile ?? '');
    writeFileSync(lock!, '');
    return new Map([
      ['config-volume', template!],
      ['run', run!],
      ['xtables-lock', lock!],
    ]);
  }
}
