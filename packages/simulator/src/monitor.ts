import type * as http from 'node:http';
import { type Host, LOCAL_DNS, type SimulatedCluster } from './cluster/cluster.js';
import type { Judge } from './judge.js';
import { SimulatedProcess } from './machine/process.js';
import { CONFIG_PART, linkPart, programPart, type Troubles, type Way } from './troubles.js';

/** Where a program has a page. */
interface Address {
  readonly program: string;
  readonly host: string;
  readonly port: number;
  readonly path: string;
}

/** A page that says whether all is well. */
interface Page extends Address {
  /** While nothing is wrong on this way, all is well. */
  readonly way: Way;
  /** Of each of these one is broken: then not all is well, and the page says so. */
  readonly shows: readonly (readonly string[])[];
  /** What it says then; anything unless given: a server that is down does not say that its announcements are missed. */
  readonly says?: RegExp;
  /** The program has to have had these since it was started: else it is not ready, or says that it has a snapshot. */
  readonly needs?: readonly string[];
}

/** What a page of a machine says at a time of a fixed scenario. */
export interface Sign {
  /** Virtual seconds since the start. */
  readonly at: number;
  readonly machine: string;
  /** Port and path on 127.0.0.1: `10055/metrics`. */
  readonly page: string;
  /** A regular expression that finds it in the status and the text, line by line. */
  readonly has: string;
}

interface Observer {
  readonly sinceUs: number;
  get: typeof http.get | undefined;
}

/** Between two looks at a page. */
const LOOK_US = 15_000_000;
const LIMIT_MS = 4_000;
/** What is broken for so long is known: a heartbeat is waited for for 12 s, a probe of the sidecar counts for 15 s. */
const NOTICED_US = 20_000_000;
/** Sockets, listeners and watches of files that a program may have in calm times, and timers; more for each node. */
const MAX_RESOURCES = 60;
const MAX_TIMERS = 100;
const MAX_OF_NODE = 8;
/** What an exit leaves for the system: its watch for idle time, the pause after a page, and the time that its last lines have. */
const TIMERS_AT_EXIT = 3;
const ANYTHING = /^/u;
/** Of a subscription that does not live. */
const NO_CHANGES = /announces no changes/u;
/** Lines of a log that differ in numbers alone, in a minute; more of those that only inform, such as one for each try. */
const MAX_SAME_LINES = 30;
const MAX_SAME_NOTES = 400;
const NOTE = /^I\d/u;
const MINUTE_US = 60_000_000;
const SYSTEM_ERROR = 0;
/** What a page counts, and the page's own limit of it (SECURITY.md, "Bounds"). */
const LIMITED = [
  ['inFlight', 'maxInFlight'],
  ['records', 'capacity'],
] as const;
/** A cache takes so many bytes for each record of its size, or so many (README of dnsmasq, "Cache"). */
const MAX_RECORD_BYTES = 512;
const SMALL_CACHE_BYTES = 131_072;

/**
 * Looks at the programs from outside, as kubelet and Prometheus do: what their pages say, what they take of the system, what they
 * log, and what is left when they end.
 */
export class Monitor {
  readonly #cluster: SimulatedCluster;
  readonly #judge: Judge;
  readonly #troubles: Troubles;
  /** By the program and the text without its numbers: how often in this minute. */
  readonly #lines = new Map<string, number>();
  #minute = 0;
  /** By the name of the machine; a pod that is replaced has another one. */
  readonly #observers = new Map<string, Observer>();
  /** Pages that complained at the last look, while nothing was wrong. */
  readonly #complained = new Set<string>();
  #isAudit = false;
  #isOver = false;

  constructor(cluster: SimulatedCluster, judge: Judge, troubles: Troubles) {
    this.#cluster = cluster;
    this.#judge = judge;
    this.#troubles = troubles;
  }

  /** Looks at every page again and again, from a time on. */
  start(fromUs: number): void {
    const { pods, nodes, random } = this.#cluster;
    const times = random.fork('monitor');
    for (const { name } of [...pods, ...nodes]) {
      const host = () => this.#cluster.find(name)!;
      const pages = nodes.includes(host()) ? this.#pagesOfNode(name) : this.#pagesOfPod(name);
      for (const page of pages) {
        this.#repeat(fromUs + times.below(LOOK_US), () => this.#look(host(), page));
      }
      this.#repeat(fromUs, () => this.#count(host()));
      this.#repeat(0, () => this.#observerOf(host()));
    }
  }

  #repeat(fromUs: number, run: () => void): void {
    const { scheduler } = this.#cluster;
    const next = () => {
      if (this.#isOver) return;
      run();
      scheduler.after(LOOK_US, next);
    };
    scheduler.at(fromUs, next);
  }

  /** What looks at the pages of a machine is on that machine. */
  #observerOf({ machine }: Host): Observer {
    const known = this.#observers.get(machine.name);
    if (known !== undefined) return known;
    const observer: Observer = { sinceUs: machine.scheduler.nowUs, get: undefined };
    this.#observers.set(machine.name, observer);
    const program = (load: (module: string) => unknown) => {
      observer.get = (load('http') as typeof http).get;
    };
    new SimulatedProcess(machine, { name: 'monitor', program }).start();
    return observer;
  }

  /** Every name is asked for at once, some over TCP: a dnsmasq has a hundred sockets then, for 5 s. */
  beginAudit(): void {
    this.#isAudit = true;
  }

  /** The programs are to end. */
  stop(): void {
    this.#isOver = true;
  }

  /** A line of a log: no line comes again and again. */
  onLine(machine: string, program: string, line: string): void {
    const { nowUs } = this.#cluster.scheduler;
    const minute = Math.floor(nowUs / MINUTE_US);
    if (minute !== this.#minute) this.#lines.clear();
    this.#minute = minute;
    const text = `${machine} ${program} ${line.replace(/[\da-f]*\d[\da-f]*/gu, '#')}`;
    const count = (this.#lines.get(text) ?? 0) + 1;
    this.#lines.set(text, count);
    if (count === (NOTE.test(line) ? MAX_SAME_NOTES : MAX_SAME_LINES)) this.#judge.violation('log', `${program} of ${machine} logs ${count} times in a minute: ${line}`); // prettier-ignore
  }

  /** A program has ended by itself after SIGTERM. */
  onEnd({ machine }: Host, process: SimulatedProcess): void {
    const { timers, resources } = process.atExit;
    if (resources === 0 && timers <= TIMERS_AT_EXIT) return;
    this.#judge.violation('close', `${process.name} of ${machine.name} ends with ${resources} sockets and ${timers} timers`); // prettier-ignore
  }

  #count(host: Host): void {
    const { nodes, pods, scheduler } = this.#cluster;
    const more = MAX_OF_NODE * (nodes.length + pods.length);
    if (this.#isAudit || this.#troubles.isAnyAt(scheduler.nowUs)) return;
    for (const name of host.names) {
      const { timers, resources } = host.process(name);
      if (resources <= MAX_RESOURCES + more && timers <= MAX_TIMERS + more) continue;
      this.#judge.violation('bound', `${name} of ${host.machine.name} has ${resources} sockets and ${timers} timers`); // prettier-ignore
    }
  }

  /**
   * Looks at what the programs of pods have when nothing was asked for longer than a question or an idle connection may take: no
   * question in flight, and connections of subscribers alone: of the pod's own dnsmasq, or of a cache on each node.
   */
  lookAtRest(): void {
    const { pods, nodes } = this.#cluster;
    for (const host of pods) {
      this.#lookAtRest(host, { program: 'kubedns', host: '127.0.0.1', port: 10_055, path: '/metrics' }, 1); // prettier-ignore
      this.#lookAtRest(host, { program: 'dnsmasq', host: '127.0.0.1', port: 10_056, path: '/metrics' }, nodes.length); // prettier-ignore
    }
  }

  #lookAtRest(host: Host, address: Address, caches: number): void {
    if (!host.process(address.program).isAlive) return;
    this.#get(host, address, (text, status, body) => {
      if (status !== 200) {
        this.#judge.violation('page', `${text} says ${status} ${body.slice(0, 200)}`);
        return;
      }
      const atMost = (gauge: string, most: number) => {
        const value = Number(
          new RegExp(`^${address.program}_${gauge} (\\S+)$`, 'mu').exec(body)?.[1],
        );
        if (!(value <= most)) this.#judge.violation('bound', `${text} has ${gauge} ${value} at rest; right is ${most} at most`); // prettier-ignore
      };
      atMost('upstream_in_flight', 0);
      atMost('subscribers', caches);
      atMost('subscribers_behind', 0);
      atMost('tcp_connections_open', caches);
    });
  }

  /** A page says something now, as a row of FAULTS.md has it. */
  expect({ machine, page, has }: Sign): void {
    const slash = page.indexOf('/');
    const address = { host: '127.0.0.1', port: Number(page.slice(0, slash)), path: page.slice(slash) }; // prettier-ignore
    this.#get(this.#cluster.find(machine)!, address, (text, status, body) => {
      if (new RegExp(has, 'mu').test(`${status}\n${body}`)) return;
      this.#judge.violation('page', `${text} does not have ${has}: ${status} ${body.slice(0, 200)}`); // prettier-ignore
    });
  }

  #look(host: Host, page: Page): void {
    if (!host.process(page.program).isAlive) return;
    const askedUs = this.#cluster.scheduler.nowUs;
    this.#get(host, page, (text, status, body) => this.#judgePage(host, page, text, askedUs, status, body)); // prettier-ignore
  }

  #get(
    host: Host,
    { host: name, port, path }: Omit<Address, 'program'>,
    done: (text: string, status: number, body: string) => void,
  ): void {
    const { get } = this.#observerOf(host);
    if (get === undefined) return;
    let isOver = false;
    const onEnd = (status: number, body: string) => {
      if (isOver || this.#isOver) return;
      isOver = true;
      const text = `${name}:${port}${path} of ${host.machine.name}`;
      this.#cluster.scheduler.note(`${text} ${status}`);
      done(text, status, body);
    };
    const request = get({ host: name, port, path, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () => onEnd(response.statusCode ?? SYSTEM_ERROR, Buffer.concat(pieces).toString())); // prettier-ignore
    });
    request.setTimeout(LIMIT_MS, () => request.destroy(new Error('timeout')));
    request.on('error', (error) => onEnd(SYSTEM_ERROR, error.message));
  }

  #judgePage(
    host: Host,
    { program, way, shows, says = ANYTHING, needs }: Page,
    text: string,
    askedUs: number,
    status: number,
    body: string,
  ): void {
    const complaints = complaintsOf(status, body);
    const { nowUs } = this.#cluster.scheduler;
    const isCalm = this.#troubles.since(way, askedUs, nowUs) === undefined;
    // What is replaced, or tried again, may be complained about once.
    const isAgain = this.#complained.delete(text);
    if (isCalm && complaints.length > 0) this.#complained.add(text);
    if (isCalm && complaints.length > 0 && isAgain) {
      this.#judge.violation('page', `${text} says ${complaints.join('; ')}, and nothing is wrong`);
    }
    if (status !== 200) return;
    for (const broken of brokenLimits(body)) this.#judge.violation('bound', `${text} has ${broken}`); // prettier-ignore
    // A pod that is new has none of the troubles of the one before.
    const youngestUs = Math.min(...this.#cluster.pods.map((pod) => nowUs - this.#observerOf(pod).sinceUs)); // prettier-ignore
    const stoppedFor = (parts: readonly string[]) => {
      const stoppedUs = this.#troubles.stoppedForUs(parts, nowUs);
      return stoppedUs > youngestUs ? 0 : stoppedUs;
    };
    const stoppedUs = Math.min(...shows.map(stoppedFor));
    // A program that was started meanwhile does not know that changes were announced before.
    const ranUs = nowUs - host.process(program).startedUs;
    const due = stoppedUs > ranUs ? ANYTHING : says;
    const mustShow = shows.length > 0 && Math.min(stoppedUs, ranUs) > NOTICED_US;
    if (mustShow && !complaints.some((text) => due.test(text))) {
      this.#judge.violation('page', `${text} does not say it, and ${shows.flat().join(', ')} have not worked for ${stoppedUs / 1e6} s`); // prettier-ignore
    }
    const lackedUs = needs === undefined ? 0 : stoppedFor(needs);
    if (lackedUs > ranUs && !body.includes('answers from a snapshot')) {
      this.#judge.violation('page', `${text} is ready, and has never seen the API server`);
    }
  }

  #pagesOfPod(name: string): Page[] {
    const api = programPart('api', 'apiserver');
    const objects = [api, linkPart('api', name), programPart(name, 'kubedns')];
    const all = [CONFIG_PART, ...objects, programPart(name, 'dnsmasq'), programPart(name, 'sidecar'), ...this.#outsideOf(name)]; // prettier-ignore
    const page = (
      program: string,
      port: number,
      path: string,
      shows: Page['shows'] = [],
      parts: readonly string[] = all,
    ): Page => ({ program, host: '127.0.0.1', port, path, way: wayOf(parts), shows });
    return [
      { ...page('kubedns', 8081, '/readiness', [], objects), needs: [api, linkPart('api', name)] },
      page('kubedns', 10_055, '/status'),
      Object.assign(page('dnsmasq', 10_056, '/status', [[programPart(name, 'kubedns')]]), { says: NO_CHANGES }), // prettier-ignore
      page('sidecar', 10_054, '/healthcheck/kubedns', [[programPart(name, 'kubedns')]]),
      page('sidecar', 10_054, '/healthcheck/dnsmasq', [[programPart(name, 'dnsmasq')]]),
      page('sidecar', 10_054, '/status'),
    ];
  }

  #pagesOfNode(name: string): Page[] {
    const pods = this.#cluster.pods.map((pod) => pod.name);
    const own = programPart(name, 'node-cache');
    const parts = pods.flatMap((pod) => [
      linkPart(name, pod),
      linkPart('api', pod),
      programPart(pod, 'dnsmasq'),
      programPart(pod, 'kubedns'),
    ]);
    const all = [
      CONFIG_PART,
      own,
      ...parts,
      programPart('api', 'apiserver'),
      ...this.#outsideOf(name),
    ];
    // A dnsmasq announces nothing, either, while its kubedns does not.
    const shows = pods.map((pod) => [linkPart(name, pod), programPart(pod, 'dnsmasq'), programPart(pod, 'kubedns')]); // prettier-ignore
    return [
      { program: 'node-cache', host: LOCAL_DNS[0], port: 8080, path: '/health', way: wayOf([own]), shows: [] }, // prettier-ignore
      { program: 'node-cache', host: '127.0.0.1', port: 9353, path: '/status', way: wayOf(all), shows, says: NO_CHANGES }, // prettier-ignore
    ];
  }

  #outsideOf(machine: string): string[] {
    return this.#cluster.upstreams.flatMap(({ name }) => [
      linkPart(name, machine),
      programPart(name, 'name-server'),
    ]);
  }
}

function wayOf(parts: readonly string[]): Way {
  return { parts: new Set(parts), caches: 0 };
}

/** The ConfigMap of a scenario may have a mistake, which each page names as long as it is there. */
const MISTAKE = /^the configuration of \S+ is refused/u;

/** What a page says is not as it should be. */
function complaintsOf(status: number, body: string): string[] {
  if (status !== 200) return [`${status} ${body.slice(0, 200)}`];
  if (!body.startsWith('{')) return [];
  const { notReady = [], problems = [] } = JSON.parse(body) as {
    notReady?: string[];
    problems?: string[];
  };
  return [...notReady, ...problems].filter((text) => !MISTAKE.test(text));
}

/** Of the rows of a status page: those that count more than may be. */
function brokenLimits(body: string): string[] {
  if (!body.startsWith('{')) return [];
  const { sections = {} } = JSON.parse(body) as { sections?: Record<string, object> };
  return Object.values(sections).flatMap((section) => {
    const rows = (Array.isArray(section) ? section : [section]) as Record<string, unknown>[];
    return rows.flatMap((row) => {
      const { capacity, takenBytes = 0 } = row;
      const maxBytes = Math.max(MAX_RECORD_BYTES * Number(capacity), SMALL_CACHE_BYTES);
      const counted = LIMITED.map(([name, limit]) => [name, Number(row[name]), Number(row[limit])] as const); // prettier-ignore
      return [...counted, ['takenBytes', Number(takenBytes), maxBytes] as const]
        .filter(([, value, most]) => value > most)
        .map(([name, value, most]) => `${name} ${value}; right is ${most} at most`);
    });
  });
}
