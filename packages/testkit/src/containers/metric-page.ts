const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

interface Sample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

/** The metrics of a container at one moment. */
export class MetricPage {
  readonly #samples: readonly Sample[];

  /** `text` has the text format of Prometheus. */
  constructor(text: string) {
    this.#samples = text.split('\n').flatMap((line) => {
      const match = SAMPLE.exec(line);
      if (!match) return [];
      const [, name = '', labels = '', value] = match;
      const pairs = Array.from(labels.matchAll(LABEL), ([, key = '', text = '']) => {
        return [key, text] as const;
      });
      return [{ name, labels: new Map(pairs), value: Number(value) }];
    });
  }

  /** Reads the page at a URL; rejects after 15 s, enough for a busy machine. */
  static async read(url: string): Promise<MetricPage> {
    const response = await fetch(url, { signal: AbortSignal.timeout(15_000) });
    return new MetricPage(await response.text());
  }

  /** The sum of all samples of this name with these labels; NaN without a sample. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const wanted = Object.entries(labels);
    const found = this.#samples.filter((sample) => {
      return sample.name === name && wanted.every(([key, text]) => sample.labels.get(key) === text);
    });
    return found.length === 0 ? Number.NaN : found.reduce((sum, { value }) => sum + value, 0);
  }
}
