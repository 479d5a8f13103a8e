import { statSync } from 'node:fs';
import {
  numberOption,
  type Option,
  type Options,
  type OptionValues,
  PROGRAM_OPTIONS,
  switchOption,
  wordsOption,
} from '@kube-dns/testkit';
import type { ClusterSize } from '../cluster/cluster-plan.js';

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
