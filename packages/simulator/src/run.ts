import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { UsageError } from '@kube-dns/base';
import { type Bundles, builtBundles, type Releases } from './cluster/cluster.js';
import { SABOTAGES, sabotaged } from './sabotage.js';
import type { Scenario } from './scenario.js';
import { type Outcome, simulate, type SimulationOptions } from './simulation.js';

/** Whose programs run: '' for those of this checkout, as they are. */
export interface Programs {
  /** The name of a planted fault. */
  readonly sabotage: string;
  /** The folder of another built checkout. */
  readonly other: string;
}

/** Runs a scenario with these programs; rejects with a UsageError when there are none such. */
export async function runScenario(
  scenario: Scenario,
  programs: Programs,
  show: Omit<SimulationOptions, 'releases'> = {},
): Promise<Outcome> {
  return simulate(scenario, { releases: releasesOf(programs), ...show });
}

/** The bundles of both releases, in files; throws a UsageError when there are none such. */
export function releasesOf({ sabotage, other }: Programs): Releases {
  const bundles = bundlesWith(sabotage);
  if (other === '') return { bundles, other: bundles };
  const others = builtBundles(resolve(other));
  const missing = Object.values(others).find((file) => !existsSync(file));
  if (missing !== undefined) {
    throw new UsageError(`--other=${other}: that is no built checkout: ${missing} is missing`);
  }
  return { bundles, other: others };
}

function bundlesWith(sabotage: string): Bundles {
  if (sabotage === '') return builtBundles();
  const planted = SABOTAGES.find(({ name }) => name === sabotage);
  if (planted === undefined) {
    const names = SABOTAGES.map(({ name }) => `  ${name}`).join('\n');
    throw new UsageError(`--sabotage: ${sabotage} is none of\n${names}`);
  }
  return sabotaged(builtBundles(), planted);
}
