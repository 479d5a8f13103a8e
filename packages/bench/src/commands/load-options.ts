import { accessSync, constants } from 'node:fs';
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
  realDnsmasqVersion,
  type Report,
  runProgram,
  switchOption,
  wordsOption,
} from '@kube-dns/testkit';
import type { Programs } from '../load/server-testbed.js';
import { bundleOption, COMMON_OPTIONS } from './command.js';

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
  dnsmasq: bundleOption(),
  'dnsmasq-flags': wordsOption([], 'further flags of our dnsmasq, before --'),
  'real-dnsmasq': programOption('the dnsmasq to compare with, that of Debian unless given'),
  alone: switchOption('without the real dnsmasq'),
  json,
  strict,
} satisfies Options;

/** How warm a server is before it is measured. */
export const WARM_UP_OPTIONS = {
  'warm-up': numberOption(2, 'seconds before the first run, at least; 0 is none', {
    max: 600,
    isWhole: false,
  }),
  'warm-up-answers': numberOption(100_000, 'answers before it, at least'),
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
