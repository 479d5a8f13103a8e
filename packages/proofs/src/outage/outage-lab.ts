import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  becomesTrue,
  MeasureError,
  MetricPage,
  monotonicMs,
  type Owned,
  RunningProgram,
  until,
} from '@kube-dns/testkit';
import { API_PORT, type ApiWay } from '../fleet/fleet-driver.js';
import { FleetLab } from '../fleet/fleet-lab.js';
import { type CrowdAnswer, type CrowdAnswers, crowdName, type CrowdPoint } from './crowd.js';

/** The programs of others; '' for none. */
export type OutagePeers = Readonly<Record<'kube-dns' | 'coredns', string>>;

/** What runs, and for how long the API server is away. */
export interface OutagePlan {
  readonly node: string;
  readonly nodeFlags: readonly string[];
  readonly pods: number;
  readonly nodeCaches: number;
  readonly services: number;
  /** At least; each order is done once. */
  readonly awayMs: number;
  /** Services that get another address meanwhile; as many are new, and as many are deleted. */
  readonly changes: number;
  /** The folder of all snapshots. */
  readonly snapshots: string;
  readonly peers: OutagePeers;
}

/** What a server has answered. */
interface PointFindings {
  readonly name: string;
  readonly answers: CrowdAnswers;
}

/** What was killed and started while the API server was away, and what each server answered then. */
interface Round {
  readonly order: string;
  /** Milliseconds from the start of a program until it was ready, by name. */
  readonly programs: ReadonlyMap<string, number>;
  /** `fresh`: the answer for a name that nothing has had before. */
  readonly points: readonly (PointFindings & { readonly fresh: CrowdAnswer })[];
}

interface PeerFindings {
  readonly name: string;
  /** What it answers for a name of before. */
  readonly away: string;
  readonly freshMs: number;
}

export interface OutageFindings {
  readonly awayMs: number;
  readonly rounds: readonly Round[];
  /** After the return of the API server, `freshMs` from that on. */
  readonly back: readonly (PointFindings & { readonly freshMs: number })[];
  /** Pages that did not say that answers are from a snapshot, or still did. */
  readonly unsaid: readonly string[];
  readonly peers: readonly PeerFindings[];
}

/** Programs that are killed together, and then started together. */
type Group = readonly string[];

interface Order {
  readonly name: string;
  readonly api?: ApiWay;
  readonly groups: (lab: FleetLab) => readonly Group[];
  /** The programs that lose their files before they start. */
  readonly lost?: readonly string[];
}

const byWord = (lab: FleetLab, word: string): Group =>
  [...lab.programs.keys()].filter((name) => name.startsWith(word));
const inTurn = (lab: FleetLab, ...words: readonly string[]) =>
  words.map((word) => byWord(lab, word));
const everything = (lab: FleetLab) => [[...lab.programs.keys()]];

/** Where the API server's ports are closed unless it is said. */
const ORDERS: readonly Order[] = [
  { name: 'all at once', groups: everything },
  { name: 'kubedns first', groups: (lab) => inTurn(lab, 'kubedns', 'dnsmasq', 'node') },
  { name: 'node-caches first', groups: (lab) => inTurn(lab, 'node', 'dnsmasq', 'kubedns') },
  {
    name: 'pod by pod',
    groups: (lab) =>
      byWord(lab, 'kubedns').map((name) => [name, name.replace('kubedns', 'dnsmasq')]),
  },
  {
    name: 'one kubedns, whose file is lost',
    groups: () => [['kubedns-1']],
    lost: ['kubedns-1'],
  },
  { name: 'all at once, the API server says nothing', api: 'silent', groups: everything },
];

const NEW_NAME = 'nobody-had-this.crowd.svc.cluster.local';
/** A snapshot is written every 30 s. */
const WRITTEN_MS = 60_000;
const BACK_LIMIT_MS = 60_000;
const DNS_PORT = 53;

interface Context {
  readonly owned: Owned;
  readonly progress: (text: string) => void;
}

/** Takes the API server away, kills and starts all programs in several orders, and gives it back with changes. */
export async function findOutage(plan: OutagePlan, context: Context): Promise<OutageFindings> {
  const { node, nodeFlags, pods, nodeCaches, services, snapshots } = plan;
  const { owned, progress } = context;
  writeFileSync(join(snapshots, 'token'), 'a token of the lab', { mode: 0o600 });
  const lab = await FleetLab.start(
    { node, nodeFlags, pods, servers: 0, nodeCaches, slotsPerKind: 0, crowd: services, snapshots },
    owned,
  );
  progress('all programs are ready');
  const outage = new Outage(lab, plan, progress);
  const peers = await Promise.all(
    Object.entries(plan.peers)
      .filter(([, path]) => path !== '')
      .map(([name, path], i) => Peer.start({ name, path, lab, owned, folder: snapshots, at: i })),
  );
  await outage.prepare();
  const startMs = monotonicMs();
  await lab.driver.call('setApi', 'refused');
  const away = await Promise.all(peers.map((peer) => peer.killAndAsk()));
  const rounds: Round[] = [];
  for (let i = 0; i < ORDERS.length || monotonicMs() - startMs < plan.awayMs; i++) {
    rounds.push(await outage.round(ORDERS[i % ORDERS.length]!));
    const roundsLeft = ORDERS.length - 1 - i;
    // An hour is spread over the orders: most of it is silence.
    const leftMs = plan.awayMs - (monotonicMs() - startMs);
    if (roundsLeft > 0 && leftMs > 0) await delay(leftMs / (roundsLeft + 1));
  }
  const awayMs = monotonicMs() - startMs;
  const back = await outage.back(peers.map(({ point }) => point));
  return {
    awayMs,
    rounds,
    back: back.ours,
    unsaid: outage.unsaid,
    peers: peers.map(({ name }, i) => ({ name, away: away[i]!, freshMs: back.peers[i]! })),
  };
}

class Outage {
  readonly unsaid: string[] = [];
  readonly #lab: FleetLab;
  readonly #plan: OutagePlan;
  readonly #progress: (text: string) => void;
  readonly #points: readonly (CrowdPoint & { readonly name: string })[];

  constructor(lab: FleetLab, plan: OutagePlan, progress: (text: string) => void) {
    this.#lab = lab;
    this.#plan = plan;
    this.#progress = progress;
    const kubedns = byWord(lab, 'kubedns').map((name, i) =>
      Object.assign({ name }, lab.kubednsPoint(i + 1)),
    );
    const caches = lab.points.map(({ name, address }) => ({
      name: name.replace('pod', 'dnsmasq'),
      address,
      port: DNS_PORT,
    }));
    this.#points = [...kubedns, ...caches];
  }

  /** Waits until all have their files, and the caches what they are asked for. */
  async prepare(): Promise<void> {
    for (const { name, answers } of await this.#askAll()) {
      if (answers.right !== answers.asked)
        throw new MeasureError(`${name} has ${answers.right} right answers of ${answers.asked}`);
    }
    for (const { name, snapshot } of this.#lab.programs.values()) {
      const limits = { limitMs: WRITTEN_MS };
      if (snapshot !== '') await until(`a snapshot of ${name}`, () => existsSync(snapshot), limits);
    }
    this.#progress('all have their snapshots');
  }

  async round({ name, api = 'refused', groups, lost = [] }: Order): Promise<Round> {
    await this.#lab.driver.call('setApi', api);
    const programs = new Map<string, number>();
    for (const group of groups(this.#lab)) {
      await Promise.all(group.map((each) => this.#lab.program(each).kill()));
      for (const each of lost) rmSync(this.#lab.program(each).snapshot);
      await Promise.all(
        group.map(async (each) => {
          const startMs = monotonicMs();
          await this.#lab.program(each).start();
          programs.set(each, monotonicMs() - startMs);
        }),
      );
    }
    await this.#lookAtPages(true);
    const points = [];
    for (const { name: asked, answers } of await this.#askAll()) {
      const { address, port } = this.#points.find((point) => point.name === asked)!;
      const fresh = await this.#lab.driver.call('askOne', address, port, NEW_NAME);
      points.push({ name: asked, answers, fresh });
    }
    this.#progress(name);
    return { order: name, programs, points };
  }

  async back(peers: readonly CrowdPoint[]): Promise<{
    readonly ours: OutageFindings['back'];
    readonly peers: readonly number[];
  }> {
    const { driver } = this.#lab;
    await driver.call('changeCrowd', this.#plan.changes);
    const all = [...this.#points, ...peers];
    const freshMs = await driver.call('reopen', all, BACK_LIMIT_MS);
    const answered = await this.#askAll();
    await this.#lookAtPages(false);
    this.#progress('the API server is back');
    return {
      ours: answered.map((point, i) => Object.assign(point, { freshMs: freshMs[i]! })),
      peers: freshMs.slice(this.#points.length),
    };
  }

  async #askAll(): Promise<PointFindings[]> {
    const all: PointFindings[] = [];
    for (const { name, address, port } of this.#points) {
      all.push({ name, answers: await this.#lab.driver.call('askCrowd', address, port) });
    }
    return all;
  }

  async #lookAtPages(isFromSnapshot: boolean): Promise<void> {
    for (let i = 1; i <= this.#plan.pods; i++) {
      const { status, text } = await this.#lab.page(i, 'readiness', '/readiness');
      if (status !== 200 || text.includes('snapshot') !== isFromSnapshot)
        this.unsaid.push(`/readiness of kubedns-${i}: ${status} ${text.trim()}`);
      const metrics = new MetricPage((await this.#lab.page(i, 'metrics', '/metrics')).text);
      const serving = metrics.sum('kubedns_snapshot_serving');
      const ageSeconds = metrics.sum('kubedns_snapshot_age_seconds');
      if (serving !== Number(isFromSnapshot) || ageSeconds > 0 !== isFromSnapshot)
        this.unsaid.push(`/metrics of kubedns-${i}: ${serving}, of ${ageSeconds} s ago`);
    }
  }
}

interface PeerStart {
  readonly name: string;
  readonly path: string;
  readonly lab: FleetLab;
  readonly owned: Owned;
  readonly folder: string;
  /** Of several on the same host. */
  readonly at: number;
}

const HOST = '10.99.0.1';
const PEER_PORT = 5_300;
const PEER_LIMIT_MS = 60_000;
/** What a peer is given to begin to answer without the API server. */
const PEER_AWAY_MS = 10_000;

/** A program of others on the host of the API server. */
class Peer {
  readonly name: string;
  readonly point: CrowdPoint;
  readonly #start: () => RunningProgram;
  readonly #lab: FleetLab;
  #server: RunningProgram;

  private constructor({ name, lab, at }: PeerStart, start: () => RunningProgram) {
    this.name = name;
    this.point = { address: HOST, port: PEER_PORT + at };
    this.#lab = lab;
    this.#start = start;
    this.#server = start();
  }

  /** Resolves when it answers. */
  static async start(options: PeerStart): Promise<Peer> {
    const { name, path, lab, owned, folder, at } = options;
    const port = PEER_PORT + at;
    const api = `http://${HOST}:${API_PORT}`;
    const corefile = join(folder, 'Corefile');
    // As kubeadm has it.
    writeFileSync(
      corefile,
      `.:${port} {\n  bind ${HOST}\n  ready ${HOST}:${port + 100}\n  kubernetes cluster.local in-addr.arpa ip6.arpa {\n    endpoint ${api}\n    pods insecure\n    ttl 30\n  }\n  cache 30\n}\n`,
    );
    const args: Readonly<Record<string, readonly string[]>> = {
      'kube-dns': [
        `--kube-master-url=${api}`,
        `--dns-bind-address=${HOST}`,
        `--dns-port=${port}`,
        `--healthz-port=${port + 100}`,
        `--nameservers=${HOST}:9`,
        '--domain=cluster.local.',
      ],
      coredns: [`-conf=${corefile}`],
    };
    const [command = path, ...words] = [...lab.network.entrance('cluster'), path, ...args[name]!];
    const peer = new Peer(options, () =>
      owned.add(new RunningProgram(name, command, words, { isForeign: true })),
    );
    const knows = async () => (await peer.#ask()).text.startsWith('NOERROR');
    if (await becomesTrue(knows, { limitMs: PEER_LIMIT_MS, stepMs: 100 })) return peer;
    throw new MeasureError(`${name} does not answer: ${peer.#server.lastLines}`);
  }

  /** Kills and starts it, and says what it answers for a name of before. */
  async killAndAsk(): Promise<string> {
    await this.#server.close();
    this.#server = this.#start();
    await delay(PEER_AWAY_MS);
    const { text } = await this.#ask();
    const ended = this.#server.isRunning ? '' : ', and it has ended';
    return `${text} after ${PEER_AWAY_MS / 1_000} s${ended}`;
  }

  #ask(): Promise<CrowdAnswer> {
    const { address, port } = this.point;
    return this.#lab.driver.call('askOne', address, port, crowdName(0));
  }
}
