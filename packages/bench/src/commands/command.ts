import { accessSync, constants, statSync } from 'node:fs';
import {
  builtProgram,
  type CorePlan,
  dnsperfVersion,
  findCores,
  findRealDnsmasq,
  MeasureError,
  numberOption,
  type Option,
  type Options,
  type OptionValues,
  PROGRAM_OPTIONS,
  realDnsmasqVersion,
  type Report,
  runProgram,
  switchOption,
  wordsOption,
} from '@kube-dns/testkit';
import type { ClusterSize } from '../cluster/cluster-plan.js';
import type { Programs } from '../load/testbed.js';

/** The path of a bundle; empty unless given. */
export function bundleOption(): Option<string> {
  const parse = (text: string) => {
    if (statSync(text, { throwIfNoEntry: false })?.isFile() === true) return text;
    throw new Error('is no file');
  };
  const help = 'bundle to measure, that of this checkout unless given';
  return { initial: '', value: 'PATH', help, parse };
}

/** The options that every measurement has. */
export const COMMON_OPTIONS = {
  ...PROGRAM_OPTIONS,
  kubedns: bundleOption(),
  'kubedns-flags': wordsOption([], 'further flags of kubedns'),
  'ready-limit': numberOption(120, 'seconds to wait until kubedns is ready', { min: 1 }),
  strict: switchOption('end with 1 when a bar is missed'),
} satisfies Options;

/** The options that say how large the cluster is. */
export const SIZE_OPTIONS = {
  services: numberOption(10_000, 'services', { min: 1, max: 100_000 }),
  slices: numberOption(50_000, 'endpoint slices', { max: 200_000 }),
  endpoints: numberOption(10, 'endpoints of each slice', { min: 1, max: 1_000 }),
  headless: numberOption(0.1, 'part of the services that is headless', {
    max: 1,
    isWhole: false,
  }),
  small: switchOption('1,000 services with a slice each, in place of the other sizes'),
} satisfies Options;

const SMALL = { services: 1_000, slices: 1_000 };
const BAR_MIB = 160;
const SMALL_BAR_MIB = 85;

/** The values of the common options. */
export type CommonValues = OptionValues<typeof COMMON_OPTIONS>;
export type SizeValues = OptionValues<typeof SIZE_OPTIONS>;

/** The size of the cluster. */
export function sizeOf(values: SizeValues): ClusterSize {
  const { services, slices, endpoints, headless } = values;
  return { services, slices, ...(values.small && SMALL), endpointsPerSlice: endpoints, headless };
}

/** The memory that kubedns may have with a cluster of this size, in MiB; the bars are the project's own. */
export function rssBarMib({ services }: ClusterSize): number {
  return services <= SMALL.services ? SMALL_BAR_MIB : BAR_MIB;
}

/** The path of an executable program; undefined unless given. */
export function programOption(help: string): Option<string | undefined> {
  const parse = (text: string) => {
    try {
      accessSync(text, constants.X_OK);
    } catch {
      throw new Error('is no program that can be run');
    }
    return text;
  };
  return { initial: undefined, value: 'PATH', help, parse };
}

const { node, kubedns, json, strict } = COMMON_OPTIONS;

/** The options of every measurement with dnsperf. */
export const LOAD_OPTIONS = {
  node: { ...node, help: 'Node that runs the containers' },
  'node-flags': PROGRAM_OPTIONS['node-flags'],
  kubedns,
  'kubedns-flags': wordsOption([], 'further flags of the kubedns that is measured'),
  dnsmasq: bundleOption(),
  'dnsmasq-flags': wordsOption([], 'further flags of our dnsmasq, before --'),
  'real-dnsmasq': programOption('the dnsmasq to compare with, that of Debian unless given'),
  alone: switchOption('without the real dnsmasq'),
  json,
  strict,
} satisfies Options;

/** Those of a load that is not compared with the real dnsmasq. */
export const CONTAINER_OPTIONS = {
  node: LOAD_OPTIONS.node,
  'node-flags': LOAD_OPTIONS['node-flags'],
  kubedns: LOAD_OPTIONS.kubedns,
  'kubedns-flags': LOAD_OPTIONS['kubedns-flags'],
  dnsmasq: LOAD_OPTIONS.dnsmasq,
  'dnsmasq-flags': LOAD_OPTIONS['dnsmasq-flags'],
  json: LOAD_OPTIONS.json,
  strict: LOAD_OPTIONS.strict,
} satisfies Options;

/** How warm a server is before it is measured. */
export const WARM_UP_OPTIONS = {
  'warm-up': numberOption(2, 'seconds before the first run, at least; 0 is none', {
    max: 600,
    isWhole: false,
  }),
  'warm-up-answers': numberOption(100_000, 'answers before it, at least'),
} satisfies Options;

type LoadValues = OptionValues<typeof LOAD_OPTIONS>;

/** The measured programs. */
export function programsOf(values: LoadValues, peers: Programs['peers'] = {}): Programs {
  const dnsmasq = values.dnsmasq === '' ? builtProgram('dnsmasq') : values.dnsmasq;
  const kubedns = values.kubedns === '' ? builtProgram('kubedns') : values.kubedns;
  return {
    node: values.node,
    nodeFlags: values['node-flags'],
    dnsmasq,
    dnsmasqFlags: values['dnsmasq-flags'],
    kubedns,
    kubednsFlags: values['kubedns-flags'],
    realDnsmasq: values.alone ? undefined : (values['real-dnsmasq'] ?? findRealDnsmasq()),
    peers,
  };
}

const VERSION_LIMIT_MS = 5_000;

/** A peer with its version, where it says one. */
async function describePeer([name, path]: readonly [string, string]): Promise<string> {
  const { stdout, stderr } = await runProgram(path, ['--version'], {
    isForeign: true,
    limitMs: VERSION_LIMIT_MS,
  });
  const [version = 'of an unknown version'] = /\d+\.\d+\.\d+\S*/.exec(stdout + stderr) ?? [];
  return `${name} ${version}`;
}

/** Reports the tools, and those that are missing; throws a MeasureError without dnsperf. */
export async function describeTools(
  programs: Programs,
  report: Report,
): Promise<CorePlan | undefined> {
  const { realDnsmasq, peers } = programs;
  const dnsmasq = realDnsmasq === undefined ? [] : [`dnsmasq ${realDnsmasqVersion(realDnsmasq)}`];
  const others = await Promise.all(Object.entries(peers).map(describePeer));
  const cores = await planTools([...dnsmasq, ...others], report);
  if (realDnsmasq === undefined) {
    report.note('Without the real dnsmasq: nothing is compared with it.');
  }
  return cores;
}

/** Reports dnsperf, the programs beside ours, and the cores; throws a MeasureError without dnsperf. */
export async function planTools(
  others: readonly string[],
  report: Report,
): Promise<CorePlan | undefined> {
  const version = await dnsperfVersion();
  if (version === undefined) {
    throw new MeasureError('there is no dnsperf on this machine (Debian: dnsperf)');
  }
  report.note([`dnsperf ${version}`, ...others].join(', '));
  const cores = findCores();
  if (typeof cores === 'string') {
    report.note(cores);
    return undefined;
  }
  const { load, server, upstream } = cores;
  report.note(`Cores: load ${load}, measured server ${server}, what it asks ${upstream}.`);
  return cores;
}
