import { type Family, parseNumber, parsePrometheusText } from './prometheus-text.js';

/** The part of a Stackdriver point that the exposition determines. */
export interface Point {
  readonly kind: 'CUMULATIVE' | 'GAUGE';
  /** When counting began, in seconds since the epoch; only of cumulative points. */
  readonly startSeconds: number | null;
  readonly value: number | Distribution;
}

export interface Distribution {
  readonly count: number;
  readonly mean: number;
  /** Explicit bounds, without infinity. */
  readonly bounds: readonly number[];
  /** One more than bounds; not cumulative. */
  readonly counts: readonly number[];
}

/** Used where the start is unknown: Stackdriver does not accept zero. */
const NO_START_SECONDS = 1;

/**
 * Translates a scrape as prometheus-to-sd does (GoogleCloudPlatform/k8s-stackdriver,
 * prometheus-to-sd/translator): removes the prefix of the component, selects the whitelisted metrics, counts
 * counters and histograms from `process_start_time_seconds`, and preserves the bounds of histograms.
 * Throws for a metric that is missing, has labels, or has a type that is not exported.
 */
export function translate(
  text: string,
  component: string,
  whitelist: readonly string[],
): ReadonlyMap<string, Point> {
  const cut = `${component}_`;
  const families = new Map<string, Family>();
  for (const [name, family] of parsePrometheusText(text)) {
    families.set(name.startsWith(cut) ? name.slice(cut.length) : name, family);
  }
  const startSeconds = startOf(families.get('process_start_time_seconds'));
  return new Map(
    whitelist.map((name) => {
      const family = families.get(name);
      if (family === undefined) throw new Error(`${name} is not there`);
      return [name, pointOf(family, startSeconds)];
    }),
  );
}

function startOf(family: Family | undefined): number {
  const [sample, ...others] = family?.samples ?? [];
  const isUsable = family?.type === 'gauge' && others.length === 0 && sample !== undefined;
  return isUsable ? Math.floor(sample.value) : NO_START_SECONDS;
}

function pointOf(family: Family, startSeconds: number): Point {
  if (family.type === 'histogram') {
    return { kind: 'CUMULATIVE', startSeconds, value: distributionOf(family) };
  }
  const [sample, ...others] = family.samples;
  // Each series becomes a separate point, but the internal metrics of the add-on have no labels.
  if (sample === undefined || others.length > 0 || sample.labels.size > 0) {
    throw new Error(`${family.name} is not one value`);
  }
  if (family.type === 'gauge') return { kind: 'GAUGE', startSeconds: null, value: sample.value };
  if (family.type !== 'counter') throw new Error(`${family.name}: ${family.type} is not exported`);
  return { kind: 'CUMULATIVE', startSeconds, value: sample.value };
}

function distributionOf({ name, samples }: Family): Distribution {
  const valueOf = (suffix: string) =>
    samples.find((sample) => sample.name === `${name}${suffix}`)?.value ?? 0;
  const buckets = samples.filter((sample) => sample.name === `${name}_bucket`);
  const bounds = buckets.map(({ labels }) => parseNumber(labels.get('le') ?? ''));
  const count = valueOf('_count');
  return {
    count,
    mean: count === 0 ? 0 : valueOf('_sum') / count,
    bounds: bounds.filter(Number.isFinite),
    counts: buckets.map(({ value }, at) => value - (buckets[at - 1]?.value ?? 0)),
  };
}
