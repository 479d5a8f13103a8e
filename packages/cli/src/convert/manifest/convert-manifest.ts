import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, parseDnsConfig } from '@kube-dns/daemon';
import { plainDomain, type Notes } from '../dns-setup.js';
import {
  type KubeObject,
  dataOf,
  foundText,
  InputError,
  readKubeObjects,
  unreadable,
  asMapping,
  expandVariables,
  imageName,
  mappingsOf,
  textsOf,
  valueAt,
  type Mapping,
  draftAt,
  listAt,
  type Draft,
} from '../../manifests/objects.js';
import {
  readDnsmasqLine,
  readGoFlags,
  type GoFlag,
  type PodWords,
  dnsmasqHalf,
} from '../pod/pod-reader.js';
import { renderKustomization } from '../../manifests/kustomization.js';

/** The role of a container of a DNS pod; later releases have no container for `replaced`. */
type ContainerRole = 'kubedns' | 'dnsmasq' | 'sidecar' | 'replaced' | 'other';

/** Names of images and of containers, from the first skydns pods to the current ones. */
const ROLES: readonly (readonly [RegExp, ContainerRole])[] = [
  [/^(?:k8s-dns-kube-dns|kubedns|kube-dns)$/, 'kubedns'],
  [/^(?:k8s-dns-dnsmasq(?:-nanny)?|kube-dnsmasq|dnsmasq)$/, 'dnsmasq'],
  [/^(?:k8s-dns-sidecar|sidecar)$/, 'sidecar'],
  [/^(?:etcd|kube2sky|skydns|exechealthz|healthz|(?:kube-)?dnsmasq-metrics)$/, 'replaced'],
];
const WORKLOADS = ['Deployment', 'ReplicationController', 'DaemonSet', 'ReplicaSet', 'Pod'];

/** One container of an older pod. */
interface OldContainer {
  readonly name: string;
  readonly role: ContainerRole;
  readonly value: Mapping;
  /** Command and arguments without the program's name. */
  readonly words: readonly string[];
}

/** The object whose pods are the DNS pods, among others; undefined when there is none. */
export function findWorkload(objects: readonly KubeObject[]): KubeObject | undefined {
  return objects.find(
    (each) =>
      WORKLOADS.includes(each.kind) &&
      containersOf(each).some(({ role, name }) => role === 'kubedns' || /^skydns$/.test(name)),
  );
}

/** The pod spec of a workload's template. */
function podSpecOf({ kind, value }: KubeObject): Mapping {
  const spec = kind === 'Pod' ? value.spec : valueAt(value, 'spec', 'template', 'spec');
  return asMapping(spec) ?? {};
}

/** The containers of a workload with their roles. */
function containersOf(workload: KubeObject): OldContainer[] {
  return mappingsOf(podSpecOf(workload).containers).map((value) => {
    const name = String(value.name);
    const all = [...textsOf(value.command), ...textsOf(value.args)];
    const words = (all[0] ?? '-').startsWith('-') ? all : all.slice(1);
    const env = environmentOf(value);
    return {
      name,
      role: roleOf(name, String(value.image)),
      value,
      words: words.map((word) => expandVariables(word, env)),
    };
  });
}

/** The command lines of the programs that still exist. */
export function podWords(workload: KubeObject): PodWords {
  const containers = containersOf(workload);
  const wordsOf = (wanted: ContainerRole) =>
    containers.find(({ role }) => role === wanted)?.words ?? undefined;
  return { kubedns: wordsOf('kubedns'), dnsmasq: wordsOf('dnsmasq') };
}

function roleOf(name: string, image: string): ContainerRole {
  const of = (text: string) => ROLES.find(([pattern]) => pattern.test(text))?.[1];
  return of(imageName(image)) ?? of(name) ?? 'other';
}

/** The environment of a container, for `$(NAME)`. */
function environmentOf(container: Mapping): ReadonlyMap<string, string> {
  return new Map(
    mappingsOf(container.env).flatMap(({ name, value }) =>
      typeof name === 'string' && typeof value === 'string' ? [[name, value] as const] : [],
    ),
  );
}

/** Volumes that ours has under another name or does not need. */
const OWN_VOLUME = 'kube-dns-config';

/**
 * Our manifests/kube-dns for a cluster whose DNS pods are an older kube-dns: its domain, address,
 * arguments, configuration, replicas, labels, environment and volumes. Everything else is named in the
 * notes. Throws an InputError when there is no kube-dns among the objects.
 */
export function convertManifest(
  objects: readonly KubeObject[],
  repository: string,
  notes: Notes,
): Draft[] {
  const workload = findWorkload(objects);
  if (workload === undefined) {
    throw new InputError(`there is no kube-dns pod among the objects${foundText(objects)}`);
  }
  const base = readBase(repository);
  const deployment = ofKind(base, 'Deployment');
  const containers = containersOf(workload);
  const targets: KubednsTargets = { data: new Map(), configMap: configMapOf(workload) };
  carryContainers(containers, deployment, base.domain, targets, notes);
  carryPod(workload, deployment, targets, notes);
  const name = targets.configMap;
  const configMap = objects.find((each) => each.kind === 'ConfigMap' && each.name === name);
  carryConfigMap(configMap, ofKind(base, 'ConfigMap'), targets, notes);
  const service = objects.find((each) => each.kind === 'Service' && each.name === 'kube-dns');
  carryService(service, ofKind(base, 'Service'), notes);
  const pairs = [configMap, service].filter((each) => each !== undefined);
  for (const each of pairs) {
    nameRemainder(`${each.kind} ${each.name}`, each.value, ofKind(base, each.kind), notes);
  }
  const known = [workload, ...pairs];
  for (const each of objects.filter((other) => !known.includes(other))) {
    if (each.kind === 'ServiceAccount' && each.name === 'kube-dns') {
      nameRemainder('ServiceAccount kube-dns', each.value, ofKind(base, each.kind), notes);
    } else notes.change(`${each.kind} ${each.name}`, 'it is not written again: leave it as it is');
  }
  return [...base.objects];
}

function ofKind({ objects }: BaseManifest, kind: string): Draft {
  return objects.find((each) => each.kind === kind)!; // manifests/kube-dns has one of each
}

function configMapOf(workload: KubeObject): string {
  const volumes = mappingsOf(podSpecOf(workload).volumes);
  const name = valueAt(
    volumes.find((each) => each.name === OWN_VOLUME),
    'configMap',
    'name',
  );
  return typeof name === 'string' ? name : 'kube-dns';
}

function podOf(deployment: Draft): Draft {
  return draftAt(deployment, 'spec', 'template', 'spec');
}

function carryContainers(
  containers: readonly OldContainer[],
  deployment: Draft,
  defaultDomain: string,
  targets: KubednsTargets,
  notes: Notes,
): void {
  const flags = containers.flatMap(({ words }) => readGoFlags(words));
  const domain = flags.find(({ name, value }) => name === 'domain' && value !== '')?.value;
  const port = flags.findLast(({ name }) => name === 'dns-port')?.value ?? '10053';
  if (domain === undefined) {
    notes.change('the domain', `no argument says it: ${defaultDomain} of manifests/kube-dns holds`);
  }
  const plain = plainDomain(domain ?? defaultDomain);
  for (const ours of mappingsOf(podOf(deployment).containers) as Draft[]) {
    for (const each of mappingsOf(ours.env) as Draft[]) {
      if (each.name === 'CLUSTER_DOMAIN') each.value = plain;
    }
    const old = containers.find(({ role }) => role === ours.name);
    if (old === undefined) continue;
    if (/^(?:.*\/)?(?:ba)?sh$/.test(String((old.value.command as unknown[] | undefined)?.[0]))) {
      notes.lose(`container ${old.name}: ${old.words.join(' ')}`, 'ours runs no shell');
      continue;
    }
    const base = ours.args as string[];
    const args =
      ours.name === 'kubedns'
        ? carryKubedns(base, old.words, targets, notes)
        : ours.name === 'dnsmasq'
          ? carryDnsmasq(base, old.words, port, notes)
          : carrySidecar(base, old.words, notes);
    ours.args = args.map((word) => withVariable(word, plain));
    carryEnvironment(old, ours);
  }
  for (const { role, name } of containers) {
    if (role === 'replaced') notes.change(`container ${name}`, 'ours has no need of it');
    if (role === 'other') notes.lose(`container ${name}`, 'ours does not have it');
  }
}

/** The domain is in one variable, and at the end of longer names. */
function withVariable(word: string, domain: string): string {
  const text = domain.replaceAll(/[^\w-]/g, '\\$&');
  return word.replace(
    new RegExp(`(?<=^--server=/|\\.svc\\.)${text}\\.?(?=[/,]|$)`),
    '$(CLUSTER_DOMAIN)',
  );
}

function carryEnvironment({ value }: OldContainer, ours: Draft): void {
  const env = listAt(ours, 'env');
  const names = mappingsOf(env).map(({ name }) => name);
  env.push(...mappingsOf(value.env).filter(({ name }) => !names.includes(name)));
  if (env.length === 0) delete ours.env;
  const mounts = listAt(ours, 'volumeMounts');
  const isOther = ({ name, mountPath }: Mapping) =>
    name !== OWN_VOLUME && !String(mountPath).endsWith('serviceaccount');
  mounts.push(...mappingsOf(value.volumeMounts).filter(isOther));
  if (mounts.length === 0) delete ours.volumeMounts;
}

function carryPod(
  workload: KubeObject,
  deployment: Draft,
  targets: KubednsTargets,
  notes: Notes,
): void {
  const old = podSpecOf(workload);
  const pod = podOf(deployment);
  const volumes = listAt(pod, 'volumes') as Draft[];
  const config = volumes.find(({ name }) => name === OWN_VOLUME);
  if (config !== undefined) draftAt(config, 'configMap').name = targets.configMap;
  const mounted = mappingsOf(pod.containers).flatMap(({ volumeMounts }) =>
    mappingsOf(volumeMounts),
  );
  for (const volume of mappingsOf(old.volumes)) {
    const isMounted = mounted.some(({ name }) => name === volume.name);
    if (volume.name !== OWN_VOLUME && isMounted) volumes.push({ ...volume });
  }
  const replicas = valueAt(workload.value, 'spec', 'replicas');
  if (typeof replicas === 'number') draftAt(deployment, 'spec').replicas = replicas;
  if (typeof old.priorityClassName === 'string') pod.priorityClassName = old.priorityClassName;
  if (Array.isArray(old.imagePullSecrets)) pod.imagePullSecrets = old.imagePullSecrets;
  carryKeys(old.nodeSelector, pod, 'nodeSelector', /^beta\.kubernetes\.io\//);
  const tolerations = listAt(pod, 'tolerations');
  const known = new Set(tolerations.map((each) => JSON.stringify(each)));
  const wanted = [...mappingsOf(old.tolerations), ...annotatedTolerations(workload)];
  tolerations.push(...wanted.filter((each) => !known.has(JSON.stringify(each))));
  const metadata = valueAt(workload.value, 'spec', 'template', 'metadata');
  const template = draftAt(deployment, 'spec', 'template', 'metadata');
  carryKeys(valueAt(metadata, 'labels'), template, 'labels', /^version$/);
  carryKeys(
    valueAt(metadata, 'annotations'),
    template,
    'annotations',
    /^(?:scheduler\.alpha|seccomp)/,
  );
  carryMetadata(workload.value, deployment, /^version$/);
  nameRemainder(`${workload.kind} ${workload.name}`, comparable(workload), deployment, notes);
}

/** Up to Kubernetes 1.7 tolerations were JSON in an annotation. */
function annotatedTolerations({ value }: KubeObject): Mapping[] {
  const annotations = valueAt(value, 'spec', 'template', 'metadata', 'annotations');
  const text = valueAt(annotations, 'scheduler.alpha.kubernetes.io/tolerations');
  try {
    return mappingsOf(JSON.parse(typeof text === 'string' ? text : '[]'));
  } catch {
    return []; // the API server ignored it, too
  }
}

/** The part of a workload that is compared field by field: without what was converted word by word. */
function comparable(workload: KubeObject): Mapping {
  const copy = structuredClone(workload.value) as Draft;
  const spec = workload.kind === 'Pod' ? draftAt(copy, 'spec') : podOf(copy);
  const roles = containersOf(workload);
  spec.containers = (mappingsOf(spec.containers) as Draft[]).flatMap((each, at) => {
    const role = roles[at]!.role;
    if (role === 'replaced' || role === 'other') return [];
    delete each.args;
    delete each.command;
    each.volumeMounts = mappingsOf(each.volumeMounts).filter(({ name }) => name !== OWN_VOLUME);
    return { ...each, name: role };
  });
  const mounted = (mappingsOf(spec.containers) as Draft[]).flatMap(({ volumeMounts }) =>
    mappingsOf(volumeMounts).map(({ name }) => name),
  );
  // Volumes of removed containers are removed, too.
  spec.volumes = mappingsOf(spec.volumes).filter(({ name }) => mounted.includes(name));
  return copy;
}

function carryKeys(old: unknown, target: Draft, key: string, except = /^$/): void {
  const retained = Object.entries(asMapping(old) ?? {}).filter(([name]) => !except.test(name));
  if (retained.length > 0)
    target[key] = { ...Object.fromEntries(retained), ...asMapping(target[key]) };
}

function carryMetadata(old: Mapping, ours: Draft, except = /^$/): void {
  const metadata = draftAt(ours, 'metadata');
  carryKeys(valueAt(old, 'metadata', 'labels'), metadata, 'labels', except);
  const own = /^(?:kubectl\.kubernetes\.io|deployment\.kubernetes\.io)\//;
  carryKeys(valueAt(old, 'metadata', 'annotations'), metadata, 'annotations', own);
}

function carryConfigMap(
  old: KubeObject | undefined,
  ours: Draft,
  targets: KubednsTargets,
  notes: Notes,
): void {
  draftAt(ours, 'metadata').name = targets.configMap;
  const data = new Map([...targets.data, ...(old === undefined ? [] : dataOf(old))]);
  for (const mistake of mistakesIn(data)) {
    notes.lose(`ConfigMap ${targets.configMap}: ${mistake}`, 'kube-dns uses nothing of it');
  }
  if (data.size > 0) ours.data = Object.fromEntries(data);
  if (old !== undefined) carryMetadata(old.value, ours);
}

/** The pod ignores a whole ConfigMap for one mistake. */
function mistakesIn(data: ReadonlyMap<string, string>): readonly string[] {
  try {
    parseDnsConfig(data);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
}

function carryService(old: KubeObject | undefined, ours: Draft, notes: Notes): void {
  const spec = draftAt(ours, 'spec');
  const clusterIP = valueAt(old?.value, 'spec', 'clusterIP');
  if (typeof clusterIP === 'string') spec.clusterIP = clusterIP;
  else {
    // An existing service retains its address when none is named.
    delete spec.clusterIP;
    notes.change('Service kube-dns', 'its address is not known here and is left to the cluster');
  }
  if (old !== undefined) carryMetadata(old.value, ours);
}

/** The rendered manifests/kube-dns. */
interface BaseManifest {
  readonly objects: readonly Draft[];
  /** The domain of its cluster.yaml. */
  readonly domain: string;
}

/** Renders the kustomization manifests/kube-dns; throws an InputError for a file that cannot be read. */
function readBase(repository: string): BaseManifest {
  const folder = join(repository, 'manifests', 'kube-dns');
  const { objects, local } = renderKustomization((name) => {
    const file = join(folder, name);
    try {
      return readKubeObjects(readFileSync(file, 'utf8'), file).map(({ value }) => value);
    } catch (error) {
      throw unreadable(`manifests/kube-dns/${name}`, error);
    }
  });
  return { objects, domain: String(valueAt(local[0], 'data', 'domain')) };
}

/** What our dnsmasq refuses to start with (packages/dnsmasq README, the rows that say "no"). */
export const REFUSED_OPTIONS =
  /^(?:auth-.*|bootp-.*|bridge-interface|connmark-.*|conntrack|dhcp-.*|dnssec.*|dumpfile|dumpmask|enable-.*|ipset|leasefile-ro|log-debug|log-dhcp|nftset|no-(?:dhcp.*|ping)|pxe-.*|quiet-.*|ra-param|read-ethers|script-.*|shared-network|tag-if|tftp-.*|trust-anchor)$/;
/** Flags of kubedns, of the original and of ours, that are copied unchanged. */
const KUBEDNS_FLAGS =
  /^(?:config-period|coredns-metrics|dns-bind-address|drain-time|endpoint-names|endpoints-source|initial-sync-timeout|kube-master-url|kubecfg-file|negative-ttl|pods|profiling|ptr|ready-without-api|record-ttl|snapshot-.*|tcp-max-age|udp-engine|v|vmodule)$/;
const NANNY_FLAGS =
  /^(?:coredns-metrics|metrics-addr|syncInterval|kubednsServer|logInterval|restartDnsmasq|v|vmodule)$/;
const SIDECAR_FLAGS = /^(?:dnsmasq-.*|probe|prometheus-.*|v|vmodule)$/;
const LOG_FLAGS = /^(?:log.*|alsologtostderr|stderrthreshold|skip-.*|one-output|add-dir-header)$/;
const LOG = 'the log is on stderr';
const KUBEDNS_PORT = '10053';

/** The targets of flags of kubedns that are not arguments of ours. */
interface KubednsTargets {
  /** Keys of the ConfigMap. */
  readonly data: Map<string, string>;
  /** The ConfigMap that the pod mounts. */
  configMap: string;
}

/** The arguments of kubedns: ours, replaced or followed by those of the older one. */
function carryKubedns(
  base: readonly string[],
  words: readonly string[],
  targets: KubednsTargets,
  notes: Notes,
): string[] {
  const flags = readGoFlags(words);
  const isConfigured = flags.some(({ name }) => name === 'config-dir' || name === 'config-map');
  const args = [...base];
  for (const flag of flags) {
    const { name, value, text } = flag;
    if (KUBEDNS_FLAGS.test(name)) setFlag(args, flag, '--');
    else if (name === 'config-map') targets.configMap = value;
    else if (name === 'federations' && !isConfigured) targets.data.set('federations', value);
    else if (name === 'nameservers' && !isConfigured) {
      targets.data.set(
        'upstreamNameservers',
        JSON.stringify(value.split(',').map((server) => server.trim())),
      );
    } else if (name === 'federations' || name === 'nameservers') {
      notes.change(text, 'the ConfigMap holds, as it did');
    } else if (LOG_FLAGS.test(name)) notes.change(text, LOG);
    else if (name === 'dns-port' && value !== KUBEDNS_PORT) {
      notes.change(text, `it is ${KUBEDNS_PORT}, and dnsmasq asks there`);
    } else if (name === 'healthz-port' && value !== '8081') {
      notes.change(text, 'it is 8081, and the probe asks there');
    } else if (name === 'config-map-namespace' && value !== 'kube-system') {
      notes.lose(text, 'a pod can mount a ConfigMap of its own namespace only');
    } else if (!/^(?:domain|dns-port|healthz-port|config-(?:dir|map-namespace))$/.test(name)) {
      notes.lose(`kubedns: ${text}`, 'ours has no such argument');
    }
  }
  return args;
}

/** The arguments of the container dnsmasq; those after `--` are from the older one. */
export function carryDnsmasq(
  base: readonly string[],
  words: readonly string[],
  kubednsPort: string,
  notes: Notes,
): string[] {
  const half = dnsmasqHalf(words);
  const nanny = base.slice(0, base.indexOf('--'));
  for (const flag of readGoFlags(
    words.slice(0, words.length - half.length).filter(isNoSeparator),
  )) {
    if (NANNY_FLAGS.test(flag.name)) setFlag(nanny, flag, '-');
    else if (LOG_FLAGS.test(flag.name)) notes.change(flag.text, LOG);
    else if (flag.name === 'dnsmasqExec') notes.change(flag.text, 'there is no other program');
    else if (flag.name !== 'configDir')
      notes.lose(`dnsmasq: ${flag.text}`, 'ours has no such argument');
  }
  const old = `127.0.0.1#${kubednsPort}`;
  const options = readDnsmasqLine(half).flatMap(({ name, text, words: own }) => {
    if (name === '' || REFUSED_OPTIONS.test(name)) {
      notes.lose(`dnsmasq: ${text}`, name === '' ? 'not an option' : 'ours refuses it');
      return [];
    }
    return own.map((word) =>
      word.endsWith(old) ? `${word.slice(0, -old.length)}127.0.0.1#${KUBEDNS_PORT}` : word,
    );
  });
  return [...nanny, '--', ...withAnnouncedNegatives(options)];
}

/**
 * As in our manifest: an older one turns negative caching off because its cache is told no change. Here kubedns tells
 * them.
 */
function withAnnouncedNegatives(options: readonly string[]): string[] {
  const isSaid = options.some((word) => word.startsWith('--negcache'));
  const at = options.findIndex((word) => word === '--no-negcache' || word === '-N');
  return isSaid || at < 0 ? [...options] : options.toSpliced(at + 1, 0, '--negcache=push');
}

function isNoSeparator(word: string): boolean {
  return word !== '--';
}

/** The arguments of the sidecar: those of the older one, without the flags of its log. */
function carrySidecar(base: readonly string[], words: readonly string[], notes: Notes): string[] {
  const flags = readGoFlags(words);
  const hasProbes = flags.some(({ name }) => name === 'probe');
  const args = base.filter((word) => !hasProbes || !word.startsWith('--probe='));
  for (const flag of flags) {
    if (flag.name === 'probe') args.push(`--probe=${flag.value}`);
    else if (SIDECAR_FLAGS.test(flag.name)) setFlag(args, flag, '--');
    else if (LOG_FLAGS.test(flag.name)) notes.change(flag.text, LOG);
    else notes.lose(`sidecar: ${flag.text}`, 'ours has no such argument');
  }
  return args;
}

/** Replaces the flag with the same name, or appends it. */
function setFlag(args: string[], { name, value, text }: GoFlag, dashes: string): void {
  const word =
    text.includes('=') || value !== '' ? `${dashes}${name}=${value}` : `${dashes}${name}`;
  const at = args.findIndex((arg) => readGoFlags([arg])[0]?.name === name);
  if (at < 0) args.push(word);
  else args[at] = word;
}

/** Fields that the API server fills in or uses itself: not a property of the pod. */
const OF_THE_SERVER =
  /^status\b|metadata\.(?:uid|resourceVersion|creationTimestamp|generation|selfLink|managedFields)\b|annotations\.(?:kubectl\.kubernetes\.io\/last-applied-configuration|deployment\.kubernetes\.io\/revision)$/;
const DEFAULTS: readonly (readonly [RegExp, readonly unknown[]])[] = [
  [/\.terminationMessagePath$/, ['/dev/termination-log']],
  [/\.terminationMessagePolicy$/, ['File']],
  [/\.imagePullPolicy$/, ['IfNotPresent', 'Always']],
  [/\.(?:restartPolicy)$/, ['Always']],
  [/\.schedulerName$/, ['default-scheduler']],
  [/\.serviceAccount$/, ['kube-dns', 'default']],
  [/\.terminationGracePeriodSeconds$/, [30]],
  [/\.(?:defaultMode)$/, [420]],
  [/^spec\.(?:progressDeadlineSeconds)$/, [600, 2147483647]],
  [/^spec\.revisionHistoryLimit$/, [10, 2]],
  [/^spec\.strategy\.type$/, ['RollingUpdate']],
  [/^spec\.(?:sessionAffinity)$/, ['None']],
  [/^spec\.type$/, ['ClusterIP']],
  [/^spec\.(?:internalTrafficPolicy)$/, ['Cluster']],
  [/^spec\.(?:ipFamilyPolicy)$/, ['SingleStack']],
  [/^spec\.(?:ipFamilies|clusterIPs)\[/, []],
  [/^spec\.ports\[.*\]\.targetPort$/, [53]],
];

/** Fields that differ in ours on purpose. */
const REPLACED: readonly (readonly [RegExp, string])[] = [
  [/^(?:apiVersion|kind|metadata\.name)$/, 'it is a Deployment of apps/v1 with the name kube-dns'],
  [/labels\.version$|^spec\.selector\b/, 'the pods are selected by k8s-app: kube-dns alone'],
  [/annotations\.scheduler\.alpha|annotations\.seccomp/, 'fields of the pod say it'],
  [/nodeSelector\.beta\.kubernetes\.io\/os$/, 'kubernetes.io/os says it'],
  [/\.image$/, 'the image is ours'],
  [/\.resources\b/, 'resources are those that our programs need'],
  [/\.(?:liveness|readiness|startup)Probe\b/, 'the probes are those of our programs'],
  [/\.securityContext\b/, 'no container needs root or a capability'],
  [/^spec\.strategy\b/, 'one more pod starts before an old one goes'],
  [/\.affinity\b/, 'affinity and spread are ours'],
  [
    /volumeMounts\[\/kube-dns-config\]|volumeMounts\[\/etc\/k8s\/dns\/dnsmasq-nanny\]/,
    'it is mounted',
  ],
];

/** Notes every field of an older object that ours does not have or sets differently. */
function nameRemainder(what: string, old: Mapping, ours: Mapping, notes: Notes): void {
  for (const { path, value } of missingLeaves(old, ours, '')) {
    if (OF_THE_SERVER.test(path) || isDefault(path, value)) continue;
    const reason = REPLACED.find(([pattern]) => pattern.test(path))?.[1];
    const text = `${what}: ${path}${shown(value)}`;
    if (reason === undefined) notes.lose(text, 'ours has no such field');
    else notes.change(text, reason);
  }
}

interface Leaf {
  readonly path: string;
  readonly value: unknown;
}

function missingLeaves(old: unknown, ours: unknown, path: string): Leaf[] {
  if (old === null || old === undefined) return [];
  if (Array.isArray(old)) {
    const items: readonly unknown[] = Array.isArray(ours) ? ours : [];
    return old.flatMap((item: unknown) => {
      const id = idOf(item);
      const isSame =
        id === undefined
          ? (each: unknown) => missingLeaves(item, each, '').length === 0
          : (each: unknown) => idOf(each) === id;
      const match = items.find(isSame);
      const at = `${path}[${id ?? JSON.stringify(item)}]`;
      return match === undefined ? [{ path: at, value: item }] : missingLeaves(item, match, at);
    });
  }
  const mapping = asMapping(old);
  if (mapping === undefined) return old === ours ? [] : [{ path, value: old }];
  const other = asMapping(ours);
  if (other === undefined) return Object.keys(mapping).length === 0 ? [] : [{ path, value: old }];
  return Object.entries(mapping).flatMap(([key, value]) =>
    missingLeaves(value, other[key], path === '' ? key : `${path}.${key}`),
  );
}

/** The fields that identify an item of a list: kubectl's merge keys. Undefined for an item without: its content does. */
function idOf(item: unknown): string | undefined {
  const { mountPath, containerPort, protocol, name, key } = asMapping(item) ?? {};
  if (typeof mountPath === 'string') return mountPath;
  if (typeof containerPort === 'number') return `${containerPort}${shown(protocol ?? 'TCP')}`;
  if (typeof name === 'string') return name;
  if (typeof key === 'string') return key;
  return typeof item === 'string' ? item : undefined;
}

/** A value after a colon; empty for a long one. */
function shown(value: unknown): string {
  return typeof value === 'object' ? '' : `: ${JSON.stringify(value).replace(/^"|"$/g, '')}`;
}

function isDefault(path: string, value: unknown): boolean {
  return DEFAULTS.some(
    ([pattern, values]) => pattern.test(path) && (values.length === 0 || values.includes(value)),
  );
}
