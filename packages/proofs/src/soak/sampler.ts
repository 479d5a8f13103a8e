import { readFileSync } from 'node:fs';
import {
  cpuUsage,
  MeasureError,
  messageOf,
  MetricPage,
  monotonicMs,
  type Remote,
  rssBytes,
} from '@kube-dns/testkit';
import {
  CONTAINER_NAMES,
  type ContainerName,
  type ManifestPod,
  resourcePath,
} from '../fixtures/manifest-pod.js';
import { openDescriptors } from '../fixtures/process-watch.js';
import type { CheckingClientMethods } from './checking-client.js';
import type { ContainerSample, Sample } from './sample.js';
import type { SoakClusterMethods } from './soak-cluster.js';

/** What a sampler looks at. */
export interface Sampled {
  readonly pod: ManifestPod;
  readonly resourceFolder: string;
  readonly asker: Remote<CheckingClientMethods>;
  readonly cluster: Remote<SoakClusterMethods>;
}

/** Counters of what should never happen, by container. */
const UNHANDLED: Readonly<Record<ContainerName, readonly string[]>> = {
  kubedns: ['kubedns_unexpected_errors_total', 'kubedns_answer_failures_total'],
  dnsmasq: ['dnsmasq_unexpected_errors_total', 'dnsmasq_answer_failures_total'],
  sidecar: ['kubedns_sidecar_unexpected_errors_total'],
};

const SCRAPE_TRIES = 3;

/** Looks at the containers, the load and the cluster again and again. */
export class Sampler {
  readonly #of: Sampled;
  readonly #startMs = monotonicMs();
  #lastMs = this.#startMs;
  /** Pages of metrics that did not come in time. */
  scrapeFailures = 0;

  constructor(of: Sampled) {
    this.#of = of;
  }

  /** Throws a MeasureError when a container has ended, or gives no metrics. */
  async take(): Promise<Sample> {
    const { pod, asker, cluster } = this.#of;
    for (const container of pod.containers) container.check();
    const [answers, figures] = await Promise.all([asker.call('take'), cluster.call('figures')]);
    const nowMs = monotonicMs();
    const seconds = (nowMs - this.#lastMs) / 1_000;
    this.#lastMs = nowMs;
    const pages = {
      kubedns: await this.#page('kubedns', pod.ports.kubednsMetrics),
      dnsmasq: await this.#page('dnsmasq', pod.ports.dnsmasqMetrics),
      sidecar: await this.#page('sidecar', pod.ports.sidecar),
    };
    const containers = CONTAINER_NAMES.map(
      (name) => [name, this.#look(name, pages[name])] as const,
    );
    return {
      atSeconds: (nowMs - this.#startMs) / 1_000,
      seconds,
      // Each of the names is among the pairs.
      containers: Object.fromEntries(containers) as Record<ContainerName, ContainerSample>,
      answers,
      cacheRecords: pages.dnsmasq.sum('dnsmasq_cache_records'),
      cacheMaxRecords: pages.dnsmasq.sum('dnsmasq_cache_max_records'),
      cacheEvictions: pages.dnsmasq.sum('dnsmasq_cache_evictions_total'),
      relists: pages.kubedns.sum('kubedns_relists_total'),
      configGeneration: pages.kubedns.sum('kubedns_config_generation'),
      changes: figures.changes,
      changeMaxLateMs: figures.maxLateMs,
      scrapeFailures: this.scrapeFailures,
    };
  }

  /** A busy machine may be late once; a page that is not there at the third try is not served. */
  async #page(name: ContainerName, port: number): Promise<MetricPage> {
    const reasons: string[] = [];
    while (reasons.length < SCRAPE_TRIES) {
      try {
        return await MetricPage.read(`http://127.0.0.1:${port}/metrics`);
      } catch (error) {
        this.#of.pod[name].check();
        reasons.push(messageOf(error));
        this.scrapeFailures++;
      }
    }
    throw new MeasureError(`${name} serves no metrics: ${reasons.join(', ')}`);
  }

  #look(name: ContainerName, page: MetricPage): ContainerSample {
    const { pid } = this.#of.pod[name];
    const { userMs, systemMs } = cpuUsage(pid);
    return {
      rssBytes: rssBytes(pid),
      heapBytes: page.sum('process_heap_bytes'),
      descriptors: openDescriptors(pid),
      resources: readResources(resourcePath(this.#of.resourceFolder, name)),
      cpuMs: userMs + systemMs,
      unhandled: UNHANDLED[name].reduce((sum, counter) => sum + page.sum(counter), 0),
    };
  }
}

/** NaN while nothing was written. */
function readResources(path: string): number {
  try {
    const counts = JSON.parse(readFileSync(path, 'utf8')) as Record<string, number>;
    return Object.values(counts).reduce((sum, count) => sum + count, 0);
  } catch {
    // not written yet: it comes once a second
    return Number.NaN;
  }
}
