/** One line with a value; a histogram's names end in `_bucket`, `_sum` or `_count`. */
export interface Sample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

/** The samples of one `# TYPE`. */
export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: Sample[];
}

const TYPES = new Set(['counter', 'gauge', 'histogram', 'summary', 'untyped']);
const HELP = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/;
const TYPE = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (\S+)$/;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(,|$)/y;
const NUMBER = /^(?:[+-]?Inf|NaN|[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)$/;

/**
 * Parses the text format 0.0.4, as strictly as its strictest readers: each family has HELP and TYPE
 * before its samples, once and in one block, each series exists once, and histograms add up.
 */
export function parsePrometheusText(text: string): ReadonlyMap<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const families = new Map<string, Family>();
  const series = new Set<string>();
  let help: { readonly name: string; readonly text: string } | undefined;
  let family: Family | undefined;
  for (const line of text.slice(0, -1).split('\n')) {
    const [, helpName, helpText = ''] = HELP.exec(line) ?? [];
    const [, typeName, type = ''] = TYPE.exec(line) ?? [];
    if (helpName !== undefined) {
      help = { name: helpName, text: helpText };
    } else if (typeName !== undefined) {
      if (help?.name !== typeName) throw new Error(`no HELP before: ${line}`);
      if (!TYPES.has(type) || families.has(typeName)) throw new Error(`not possible: ${line}`);
      family = { name: typeName, type, help: help.text, samples: [] };
      families.set(typeName, family);
    } else {
      const sample = parseSample(line);
      if (family === undefined || !isOf(sample, family)) throw new Error(`out of place: ${line}`);
      const key = `${sample.name} ${JSON.stringify([...sample.labels].sort())}`;
      if (series.has(key)) throw new Error(`twice: ${line}`);
      series.add(key);
      family.samples.push(sample);
    }
  }
  for (const each of families.values()) if (each.type === 'histogram') checkHistogram(each);
  return families;
}

function parseSample(line: string): Sample {
  const [, name = '', labelText = '', value = ''] = SAMPLE.exec(line) ?? [];
  if (name === '' || !NUMBER.test(value)) throw new Error(`no sample: ${line}`);
  return { name, labels: parseLabels(labelText, line), value: parseNumber(value) };
}

function parseLabels(text: string, line: string): ReadonlyMap<string, string> {
  const labels = new Map<string, string>();
  for (LABEL.lastIndex = 0; LABEL.lastIndex < text.length;) {
    const [, name, value] = LABEL.exec(text) ?? [];
    if (name === undefined || value === undefined || labels.has(name)) {
      throw new Error(`bad labels: ${line}`);
    }
    const unescaped = value.replace(/\\(.)/g, (_all, escape: string) =>
      escape === 'n' ? '\n' : escape,
    );
    labels.set(name, unescaped);
  }
  return labels;
}

export function parseNumber(text: string): number {
  if (!text.endsWith('Inf')) return Number(text);
  return text.startsWith('-') ? -Infinity : Infinity;
}

function isOf({ name, labels }: Sample, family: Family): boolean {
  if (family.type !== 'histogram') return name === family.name;
  if (name === `${family.name}_bucket`) return labels.has('le');
  return name === `${family.name}_sum` || name === `${family.name}_count`;
}

/** Checks a histogram without labels: ascending bounds up to +Inf, which has all observations. */
function checkHistogram({ name, samples }: Family): void {
  const buckets = samples.filter((sample) => sample.name === `${name}_bucket`);
  const bounds = buckets.map(({ labels }) => parseNumber(labels.get('le') ?? ''));
  const isAscending = (values: readonly number[]) =>
    values.every((value, at) => at === 0 || value >= values[at - 1]!);
  const count = samples.find((sample) => sample.name === `${name}_count`)?.value;
  const isWhole = bounds.at(-1) === Infinity && buckets.at(-1)?.value === count;
  if (!isAscending(bounds) || !isAscending(buckets.map(({ value }) => value)) || !isWhole) {
    throw new Error(`${name} does not add up`);
  }
}
