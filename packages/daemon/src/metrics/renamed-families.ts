import type { LabelledHistogram, LabelledValue, MetricFamily } from './metric-family.js';

/** One metric under another name. */
export interface MetricRename {
  readonly from: string;
  readonly to: string;
  /** The new name of each label that changes its name. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Labels with a constant value that are added. */
  readonly constant?: Readonly<Record<string, string>>;
}

type Labels = Readonly<Record<string, string>>;

/**
 * The same values once more, under the names and labels of another program. Throws for a name that no
 * family has: with a wrong table the program does not start.
 */
export function renamedFamilies(
  families: readonly MetricFamily[],
  renames: readonly MetricRename[],
): MetricFamily[] {
  return renames.map((rename) => {
    const family = families.find(({ name }) => name === rename.from);
    if (family === undefined) throw new Error(`no metric ${rename.from} to be renamed`);
    return renamed(family, rename);
  });
}

function renamed(
  family: MetricFamily,
  { to, labels = {}, constant = {} }: MetricRename,
): MetricFamily {
  const relabel = (own: Labels): Labels => {
    const pairs = Object.entries(own).map(([key, value]) => [labels[key] ?? key, value] as const);
    return { ...constant, ...Object.fromEntries(pairs) };
  };
  const labelNames = [
    ...Object.keys(constant),
    ...(family.labelNames ?? []).map((label) => labels[label] ?? label),
  ];
  if (family.type === 'histogram') {
    const collect = (): LabelledHistogram[] =>
      Array.from(family.collect(), (each) => ({ ...each, labels: relabel(each.labels) }));
    return { ...family, name: to, labelNames, collect };
  }
  const collect = (): LabelledValue[] => {
    const values = family.collect();
    if (typeof values === 'number') return [{ labels: constant, value: values }];
    return Array.from(values, ({ labels: own, value }) => ({ labels: relabel(own), value }));
  };
  return { ...family, name: to, labelNames, collect };
}
