import { accessSync, constants } from 'node:fs';
import {
  builtProgram,
  type CorePlan,
  dnsperfVersion,
  findCores,
  findRealDnsmasq,
  MeasureError,
  type Option,
  type Options,
  type OptionValues,
  realDnsmasqVersion,
  type Report,
  switchOption,
  textOption,
  wordsOption,
} from '@kube-dns/testkit';
import type { Programs } from '../load/server-testbed.js';
import { COMMON_OPTIONS } from './command.js';

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
  'node-flags': COMMON_OPTIONS['node-flags'],
  kubedns,
  'kubedns-flags': wordsOption([], 'further flags of the kubedns that is measured'),
  dnsmasq: textOption('', 'PATH', 'bundle to measure, that of this checkout unless given'),
  'dnsmasq-flags': wordsOption([], 'further flags of our dnsmasq, before --'),
  'real-dnsmasq': programOption('the dnsmasq to compare with, that of Debian unless given'),
  alone: switchOption('without the real dnsmasq'),
  json,
  strict,
} satisfies Options;

export type LoadValues = OptionValues<typeof LOAD_OPTIONS>;

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

/** Reports the tools, and those that are missing; throws a MeasureError without dnsperf. */
export async function describeTools(
  programs: Programs,
  report: Report,
): Promise<CorePlan | undefined> {
  const { realDnsmasq, peers } = programs;
  const dnsmasq = realDnsmasq === undefined ? [] : [`dnsmasq ${realDnsmasqVersion(realDnsmasq)}`];
  const cores = await planTools([...dnsmasq, ...Object.keys(peers)], report);
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
