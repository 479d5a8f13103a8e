import { join } from 'node:path';
import { createApiServer } from '@kube-dns/apiserver';
import { ConfigVolume, isOk, MetricPage, TemporaryFolder } from '@kube-dns/testkit';
import {
  CONTAINER_NAMES,
  type ContainerName,
  type ContainerSpec,
  containerSpecs,
  freePodPorts,
  type PodPorts,
  SupervisedContainer,
} from '../fixtures/pod-containers.js';
import { expectedAddress, FakeUpstream } from '../fixtures/fake-upstream.js';
import { type Seen, SteadyClient, tally } from '../fixtures/steady-client.js';
import { LIMIT_MS, QuestionKinds, waitFor } from './claims.js';
import { type FaultContext, questionRate } from './fault.js';
import { fillCluster, NAMESPACE, serviceAddress, serviceName } from './small-cluster.js';

const SERVICES = 5;
const NETWORK = 10;
const RATE_PER_SECOND = 60;
/** More than any row asks for. */
const FRESH_COUNT = 5_000;
/** More than `--query-timeout`, and what a loaded machine adds to it. */
const CLIENT_TIMEOUT_MS = 8_000;
const PROBE_SECONDS = 1;
/** What kubelet needs to see that a container ended, and to start it. */
export const RESTART_MS = 2_000;
/** That duration, in the words of the table. */
export const RESTARTED =
  'Until kubelet has started it again: a second, ten at the second time in ten minutes, twice as long each time, 5 min at most';
/** More than an answer out of memory takes on such a machine, less than a client waits for a silent server. */
export const LATE_MS = 2_500;
const SETTLED_AFTER = 30;

/** `cached`: in dnsmasq's cache; `cluster`: only kubedns knows it; `outside`: only an upstream does. */
export type Kind = 'cached' | 'cluster' | 'outside';
export const EVERY_KIND: readonly Kind[] = ['cached', 'cluster', 'outside'];

/** What the sidecar asks for. */
const PROBED = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'kubernetes', namespace: 'default' },
  spec: { clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443, protocol: 'TCP' }] },
};

const NAMES = Array.from({ length: FRESH_COUNT }, (_, i) => [
  serviceName(1 + (i % SERVICES)),
  `10-7-${i >> 8}-${i & 0xff}.${NAMESPACE}.pod.cluster.local`,
  `fresh-${i}.example`,
]).flat();

export function kindOf({ name }: Pick<Seen, 'name'>): Kind {
  if (name.startsWith('web-')) return 'cached';
  return name.endsWith('.example') ? 'outside' : 'cluster';
}

/** Whether an answer is the one that the name has. */
export function isRight({ name, text }: Seen): boolean {
  const [label = ''] = name.split('.');
  switch (kindOf({ name })) {
    case 'cached':
      return text === serviceAddress(Number(label.slice('web-'.length)));
    case 'cluster':
      return text === label.replaceAll('-', '.');
    case 'outside':
      return text === expectedAddress(name, NETWORK);
  }
}

/** The kinds of questions of the rows, and what is claimed of them. */
export const QUESTIONS = new QuestionKinds<Kind>(kindOf, isRight, LATE_MS);

/** The pod of the manifest with restarts as by kubelet, and a client that asks all the time. */
export class ProcessTestbed {
  readonly ports: PodPorts;
  readonly containers: Readonly<Record<ContainerName, SupervisedContainer>>;
  readonly upstream: FakeUpstream;
  readonly #context: FaultContext;
  #client: SteadyClient | undefined;

  private constructor(
    context: FaultContext,
    ports: PodPorts,
    containers: Readonly<Record<ContainerName, SupervisedContainer>>,
    upstream: FakeUpstream,
  ) {
    this.#context = context;
    this.ports = ports;
    this.containers = containers;
    this.upstream = upstream;
  }

  /** Starts it after `before`; `change` changes each container of the manifest. */
  static async start(
    context: FaultContext,
    change: (spec: ContainerSpec) => ContainerSpec = (spec) => spec,
    before: (ports: PodPorts) => Promise<void> = () => Promise.resolve(),
  ): Promise<ProcessTestbed> {
    const { node, nodeFlags, owned } = context;
    const api = owned.add(await createApiServer());
    await fillCluster(api, SERVICES);
    await api.apply([PROBED]);
    const upstream = owned.add(await FakeUpstream.start({ network: NETWORK }));
    const volume = new ConfigVolume(join(owned.add(new TemporaryFolder()).path, 'config'));
    await volume.put({ upstreamNameservers: [`127.0.0.1:${upstream.port}`] });
    const ports = await freePodPorts();
    await before(ports);
    const specs = containerSpecs(
      { node, nodeFlags, apiUrl: api.url, configPath: volume.path, probeSeconds: PROBE_SECONDS },
      ports,
    );
    const start = (name: ContainerName) =>
      owned.add(new SupervisedContainer(change(specs[name]), RESTART_MS));
    const containers = {
      kubedns: start('kubedns'),
      dnsmasq: start('dnsmasq'),
      sidecar: start('sidecar'),
    };
    return new ProcessTestbed(context, ports, containers, upstream);
  }

  /** Waits until all is well, with a client that goes on asking. */
  async settled(): Promise<void> {
    await this.well();
    // It empties the cache when it begins.
    await this.subscribed();
    const { dns, dnsmasqMetrics, kubednsMetrics, sidecar } = this.ports;
    const questions = {
      port: dns,
      names: NAMES,
      ratePerSecond: questionRate(this.#context, RATE_PER_SECOND),
      timeoutMs: CLIENT_TIMEOUT_MS,
      pages: [dnsmasqMetrics, kubednsMetrics, sidecar].map((port) => `http://127.0.0.1:${port}`),
    };
    const { owned, signs } = this.#context;
    const client = (this.#client = owned.add(await SteadyClient.start(questions, signs)));
    await this.waitFor('right answers at first', () => {
      const last = client.seen.slice(-SETTLED_AFTER);
      return last.length === SETTLED_AFTER && last.every(isRight);
    });
  }

  /** Waits until every probe of the manifest succeeds. */
  well(): Promise<void> {
    return this.waitFor('probes that all say yes', async () => {
      const all = await Promise.all([
        isOk(this.ports.readiness, '/readiness', LIMIT_MS),
        this.isHealthy('kubedns'),
        this.isHealthy('dnsmasq'),
      ]);
      return all.every(Boolean);
    });
  }

  /** Whether kubedns reports that it is ready. */
  isReady(limitMs = LIMIT_MS): Promise<boolean> {
    return isOk(this.ports.readiness, '/readiness', limitMs);
  }

  /** Whether the sidecar reports that another container is healthy. */
  isHealthy(name: 'kubedns' | 'dnsmasq', limitMs = LIMIT_MS): Promise<boolean> {
    return isOk(this.ports.sidecar, `/healthcheck/${name}`, limitMs);
  }

  /** Waits until kubedns announces to dnsmasq what changes. */
  subscribed(): Promise<void> {
    return this.waitFor('subscription', async () => (await this.liveZones()) > 0);
  }

  /** Zones whose subscription is live. */
  async liveZones(): Promise<number> {
    return (await this.metrics('dnsmasq')).sum('dnsmasq_subscription_live');
  }

  metrics(name: ContainerName): Promise<MetricPage> {
    const { kubednsMetrics, dnsmasqMetrics, sidecar } = this.ports;
    const port = { kubedns: kubednsMetrics, dnsmasq: dnsmasqMetrics, sidecar }[name];
    return MetricPage.read(`http://127.0.0.1:${port}/metrics`);
  }

  /** Everything that was decided so far. */
  get seen(): readonly Seen[] {
    return this.#client?.seen ?? [];
  }

  /** Waits for something; throws a MeasureError when it does not come. */
  waitFor(what: string, isThere: () => boolean | Promise<boolean>): Promise<void> {
    return waitFor(what, isThere, () =>
      CONTAINER_NAMES.flatMap((name) => this.containers[name].ends),
    );
  }

  /** Waits until a question of that kind that was sent since then was answered right. */
  rightSince(kind: Kind, sinceMs: number): Promise<void> {
    return this.waitFor(`right answer of kind ${kind}`, () =>
      this.seen.some((each) => each.sentMs >= sinceMs && kindOf(each) === kind && isRight(each)),
    );
  }

  /** The same for every kind. */
  async eachRightSince(sinceMs: number): Promise<void> {
    await Promise.all(EVERY_KIND.map((kind) => this.rightSince(kind, sinceMs)));
  }

  /** Waits until a question of that kind that was sent since then had this failure. */
  failedSince(kind: Kind, failure: string, sinceMs: number): Promise<void> {
    return this.waitFor(`${failure} of kind ${kind}`, () =>
      this.seen.some(
        (each) => each.sentMs >= sinceMs && kindOf(each) === kind && each.text === failure,
      ),
    );
  }

  /** Sends no more; what became of the questions since then, none of which had a wrong answer. */
  async finish(sinceMs: number): Promise<readonly Seen[]> {
    const all = (await this.#client?.finish()) ?? [];
    const seen = all.filter(({ sentMs }) => sentMs >= sinceMs);
    for (const { name, text } of tally(seen, isRight).wrong.slice(0, 3)) {
      this.#context.claim(false, `${name} was answered with ${text}`);
    }
    return seen;
  }

  /** Claims that each container ended so often, and that no error was unexpected. */
  async claimEnds(ends: Partial<Record<ContainerName, number>>): Promise<void> {
    for (const name of CONTAINER_NAMES) {
      const own = this.containers[name].ends;
      const summary = `${name} ended ${own.length} times: ${own.join('; ')}`;
      this.#context.claim(own.length === (ends[name] ?? 0), summary);
    }
    for (const name of ['kubedns', 'dnsmasq'] as const) {
      const metric = `${name}_unexpected_errors_total`;
      const errors = (await this.metrics(name)).sum(metric);
      this.#context.claim(errors === 0, `${metric} is ${errors}`);
    }
  }
}
