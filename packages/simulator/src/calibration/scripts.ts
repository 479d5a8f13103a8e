import {
  type Bed,
  type BedProgram,
  type Finding,
  HOSTS,
  NO_HOST,
  type Script,
  SERVICE,
} from './bed.js';
import type { Question, Seen } from './prober.js';

const [POD_0, POD_1, API] = [HOSTS['pod-0'], HOSTS['pod-1'], HOSTS.api];
const DNS = 53;
const KUBEDNS_PORT = 10_053;
const API_URL = `http://${API}:8080`;
const CLOSED_PORT = 4_444;
const ECHO_PORT = 7_000;

/** There and back on a good link; a program takes no time. */
const ROUND_TRIP = { from: 0, to: 2 };
const WHOLE = { delayMs: 0, loss: 0 };
const CUT = { delayMs: 0, loss: 1 };

/**
 * When TCP sends again what has no acknowledgement, in milliseconds after the first time: a tail loss probe, then after the
 * retransmission timeout of 200 ms and the round trip, then after twice as long each time.
 */
const RESENT_MS = [200, 400, 800, 1_600, 3_200];
/** The kernel adds round trips and their variance, and rounds to its ticks. */
const RESENT_SLACK = 1.15;

function resentAfter(mendedMs: number): { readonly from: number; readonly to: number } {
  const next = RESENT_MS.find((ms) => ms >= mendedMs)!;
  return { from: next, to: next * RESENT_SLACK };
}

/** dnsmasq with these further arguments. */
function dnsmasq(...args: string[]): string[] {
  return [
    '-configDir=/nonexistent',
    '--',
    '--keep-in-foreground',
    '--conf-file=/dev/null',
    '--no-hosts',
    '--no-resolv',
    '--log-facility=-',
    '--udp-engine=dgram',
    ...args,
  ];
}

const KUBEDNS = [
  '--domain=cluster.local.',
  `--dns-port=${KUBEDNS_PORT}`,
  '--nameservers=127.0.0.1:9',
  `--kube-master-url=${API_URL}`,
  '--udp-engine=dgram',
  '--v=2',
];

const WHO = 'who.test';

function pod(address: string): string[] {
  return dnsmasq(`--address=/${WHO}/${address}`);
}

function question(address: string, fields: Partial<Question> = {}): Question {
  return { server: { address, port: DNS }, name: WHO, limitMs: 2_000, ...fields };
}

function timed(what: string, { text, ms }: Seen, bounds: { from: number; to: number }): Finding {
  return { what, verdict: text, ms: { value: ms, ...bounds } };
}

/** Which pods gave answers, and from which address they came. */
function answeredBy(seen: readonly Seen[]): string {
  const pods = new Set(seen.map(({ text }) => text));
  const from = new Set(seen.map((each) => each.from));
  return `${seen.length} answers of ${pods.size === 1 ? 'one pod' : 'both pods'} from ${[...from].join(', ')}`; // prettier-ignore
}

/** A Service: where its packets go, and where answers come from. */
const THROUGH_SERVICE: Script = {
  name: 'Service',
  hosts: ['client', 'pod-0', 'pod-1'],
  async run(bed) {
    const client = bed.prober('client');
    const programs = {
      [POD_0]: bed.start('pod-0', 'dnsmasq', pod(POD_0)),
      [POD_1]: bed.start('pod-1', 'dnsmasq', pod(POD_1)),
    };
    for (const address of [POD_0, POD_1]) await client.askUntil(question(address), `A ${address}`);
    await bed.setBackends(['pod-0', 'pod-1']);
    const findings: Finding[] = [];
    const ask = async (count: number, fields: Partial<Question>) => {
      const seen: Seen[] = [];
      for (let i = 0; i < count; i++) seen.push(await client.ask(question(SERVICE, fields)));
      return seen;
    };
    const one = await ask(10, { socket: 'one' });
    findings.push({ what: '10 questions from one port', verdict: answeredBy(one) });
    findings.push({ what: '24 questions, each from a port of its own', verdict: answeredBy(await ask(24, {})) }); // prettier-ignore
    const first = one[0]!.text === `A ${POD_0}` ? 'pod-0' : 'pod-1';
    const other = first === 'pod-0' ? 'pod-1' : 'pod-0';
    const by = ([seen]: readonly Seen[]) =>
      `${seen!.text === `A ${HOSTS[other]}` ? 'the other pod' : 'the same pod'} from ${seen!.from}`;
    await bed.setBackends([other]);
    findings.push({ what: 'its pod is no backend any more', verdict: by(await ask(1, { socket: 'one' })) }); // prettier-ignore
    await bed.setBackends([first, other]);
    findings.push({ what: 'its pod is one again', verdict: by(await ask(1, { socket: 'one' })) });
    const connection = await client.connect('service', { address: SERVICE, port: DNS }, 2_000);
    findings.push({ ...timed('a connection', connection, ROUND_TRIP), verdict: `${connection.text} to ${connection.from}` }); // prettier-ignore
    await bed.setBackends([]);
    const refusedOf = await client.connect('none', { address: SERVICE, port: DNS }, 2_000);
    findings.push({ what: 'no backend: a question', verdict: (await ask(1, { isConnected: true }))[0]!.text }); // prettier-ignore
    findings.push(timed('and a connection', refusedOf, ROUND_TRIP));
    await bed.setBackends([other]);
    await ask(1, { socket: 'kept', isConnected: true });
    await programs[HOSTS[other]].signal('SIGKILL');
    const [refused] = await ask(1, { socket: 'kept', isConnected: true });
    findings.push(timed('the program of the only pod is killed: a question', refused!, ROUND_TRIP));
    const reset = await client.connect('refused', { address: SERVICE, port: DNS }, 2_000);
    findings.push(timed('and a connection', reset, ROUND_TRIP));
    return findings;
  },
};

/** What a program learns when no socket receives what it sends. */
const REFUSALS: Script = {
  name: 'Refusals',
  hosts: ['client', 'pod-0'],
  async run(bed) {
    const client = bed.prober('client');
    await bed.prober('pod-0').listen(ECHO_PORT);
    const closed = question(POD_0, { server: { address: POD_0, port: CLOSED_PORT }, limitMs: 300 });
    const waited = { from: 300, to: 302 };
    const nowhere = question(NO_HOST, { limitMs: 3_500, isConnected: true });
    const findings = [
      timed('a question to a closed port, connected socket', await client.ask({ ...closed, isConnected: true }), ROUND_TRIP), // prettier-ignore
      timed('the same, socket that is not connected', await client.ask(closed), waited),
      timed('a connection to a closed port', await client.connect('closed', closed.server, 2_000), ROUND_TRIP), // prettier-ignore
      timed('a question to an address without a host', await client.ask(nowhere), { from: 3_500, to: 3_502 }), // prettier-ignore
      // The kernel asks three times who has the address, a second apart.
      timed('a connection to it', await client.connect('nowhere', nowhere.server, 10_000), { from: 2_900, to: 3_300 }), // prettier-ignore
    ];
    await bed.setWire('client', 'pod-0', CUT);
    const late = client.connect('late', { address: POD_0, port: ECHO_PORT }, 10_000);
    await bed.sleepUntil(bed.clock() + 1_500);
    await bed.setWire('client', 'pod-0', WHOLE);
    // A SYN is sent again each second.
    findings.push(timed('a connection while cut off for 1.5 s', await late, { from: 2_000, to: 2_100 })); // prettier-ignore
    return findings;
  },
};

const NAMESPACE = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
const WEB = 'web.shop.svc.cluster.local';

/** Gives the name its address in the API server: creates its objects, or changes them. */
async function setAddress(bed: Bed, address: string, isNew: boolean): Promise<void> {
  const metadata = { name: 'web', namespace: 'shop' };
  const slices = `${API_URL}/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices`;
  const slice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
  };
  const api = bed.prober('api');
  if (!isNew) {
    await api.request('PUT', `${slices}/web`, slice);
    return;
  }
  const spec = { clusterIP: 'None', ports: [{ name: 'http', port: 80 }], selector: { app: 'web' } };
  // Until the API server listens.
  while ((await api.request('POST', `${API_URL}/api/v1/namespaces`, NAMESPACE)) === 0) {
    await bed.sleepUntil(bed.clock() + 50);
  }
  await api.request('POST', `${API_URL}/api/v1/namespaces/shop/services`, { apiVersion: 'v1', kind: 'Service', metadata, spec }); // prettier-ignore
  await api.request('POST', slices, slice);
}

interface Subscribed {
  readonly kubedns: BedProgram;
  readonly cache: BedProgram;
  /** Of the cache, from the client. */
  readonly web: Question;
  /** When the cache was subscribed. */
  readonly liveMs: number;
}

const LIVE = /announces the changes of/u;
const LOST = /announces no changes any more: ([^;]*)/u;

/** An API server, kubedns in a pod, and a dnsmasq at the client that is subscribed and has the name in its cache. */
async function startSubscribed(bed: Bed): Promise<Subscribed> {
  bed.start('api', 'apiserver', ['--host=0.0.0.0', '--port=8080']);
  await setAddress(bed, '10.245.0.1', true);
  const kubedns = bed.start('pod-0', 'kubedns', KUBEDNS);
  const direct = { server: { address: POD_0, port: KUBEDNS_PORT }, name: WEB, limitMs: 500 };
  await bed.prober('client').askUntil(direct, 'A 10.245.0.1');
  const cache = bed.start('client', 'dnsmasq', dnsmasq('--cache-size=1000', `--server=/cluster.local/${POD_0}#${KUBEDNS_PORT}`)); // prettier-ignore
  const { atMs: liveMs } = await cache.logged(LIVE);
  const web = question('127.0.0.1', { name: WEB });
  await bed.prober('client').askUntil(web, 'A 10.245.0.1');
  return { kubedns, cache, web, liveMs };
}

/** A network that is cut for some seconds, with connections across it. */
const PARTITION: Script = {
  name: 'Partition',
  hosts: ['client', 'pod-0', 'api'],
  async run(bed) {
    const client = bed.prober('client');
    const server = bed.prober('pod-0');
    const findings: Finding[] = [];
    const { kubedns, cache, web, liveMs } = await startSubscribed(bed);
    const at = (seconds: number) => bed.sleepUntil(liveMs + seconds * 1_000);
    await server.listen(ECHO_PORT);
    await client.connect('echo', { address: POD_0, port: ECHO_PORT }, 2_000);
    await client.write('echo', 'first');

    // Between two heartbeats, so that the change is the first message that is not acknowledged.
    await at(2.3);
    await bed.setWire('client', 'pod-0', CUT);
    await at(2.5);
    const writtenMs = await client.write('echo', 'second');
    await setAddress(bed, '10.245.0.2', false);
    const changedMs = bed.clock();
    await at(4.7);
    const meanwhile = await client.ask(web);
    findings.push({ what: 'cut off: a name that changes', verdict: meanwhile.text });
    await at(4.9);
    await bed.setWire('client', 'pod-0', WHOLE);
    const visibleMs = await client.askUntil(web, 'A 10.245.0.2');
    const seen = { text: 'A 10.245.0.2', from: '', ms: visibleMs - changedMs };
    const resent = resentAfter(2_400);
    findings.push(timed('its change arrives, after the change', seen, { from: resent.from, to: resent.to + 20 })); // prettier-ignore
    await at(6.2);
    const [, second] = await server.arrived();
    findings.push(timed('what was written meanwhile arrives', { text: String(second?.text), from: '', ms: (second?.atMs ?? 0) - writtenMs }, resent)); // prettier-ignore

    await at(8.3);
    await bed.setWire('client', 'pod-0', CUT);
    await kubedns.signal('SIGKILL');
    await setAddress(bed, '10.245.0.3', false);
    const lost = cache.logged(LOST);
    const live = cache.logged(LIVE);
    bed.start('pod-0', 'kubedns', KUBEDNS);
    // The cache has sent a keepalive at 10 s, and sends it again at 10.2, 10.4, 10.8, 11.6 and 13.2 s.
    await at(12.4);
    await bed.setWire('client', 'pod-0', WHOLE);
    const { match, atMs } = await lost;
    findings.push(timed('kubedns was restarted: the subscription ends', { text: match, from: '', ms: atMs - liveMs - 10_000 }, resent)); // prettier-ignore
    const again = await live;
    findings.push(timed('and begins again', { text: 'live', from: '', ms: again.atMs - atMs }, { from: 0, to: 1_010 })); // prettier-ignore
    await client.askUntil(web, 'A 10.245.0.3');
    findings.push({ what: 'what changed meanwhile', verdict: 'right' });
    return findings;
  },
};

const SLOW = { delayMs: 80, loss: 0.2 };
const QUESTIONS = 200;
const CONNECTIONS = 200;

/** How many were well within each of these times. */
function within(what: string, seen: readonly Seen[], limitsMs: readonly number[]): Finding[] {
  return limitsMs.map((limit) => ({
    what: `${what} within ${limit} ms`,
    verdict: '',
    share: { count: seen.filter((each) => each.text !== 'nothing' && each.text !== 'SERVFAIL' && each.ms <= limit).length, of: seen.length }, // prettier-ignore
  }));
}

/** A link that is slow and loses packets. */
const LOSS: Script = {
  name: 'Loss of 20 %, delay of 80 ms',
  hosts: ['client', 'pod-0'],
  async run(bed) {
    const client = bed.prober('client');
    const server = bed.prober('pod-0');
    bed.start('pod-0', 'dnsmasq', dnsmasq('--address=/test/192.0.2.1'));
    bed.start('client', 'dnsmasq', dnsmasq('--cache-size=0', `--server=/test/${POD_0}`));
    await client.askUntil(question(POD_0), 'A 192.0.2.1');
    await client.askUntil(question('127.0.0.1'), 'A 192.0.2.1');
    await server.listen(ECHO_PORT);
    await bed.setWire('client', 'pod-0', SLOW);
    const startMs = bed.clock();
    const names = { name: 'direct.test', limitMs: 1_000 };
    const direct = client.askMany(question(POD_0, names), QUESTIONS);
    const forwarded = client.askMany(
      question('127.0.0.1', { name: 'forwarded.test', limitMs: 5_000 }),
      QUESTIONS,
    );
    const connected = Promise.all(
      Array.from({ length: CONNECTIONS }, async (_, i) => {
        await bed.sleepUntil(startMs + 10 * i);
        const opened = await client.connect(
          `echo-${i}`,
          { address: POD_0, port: ECHO_PORT },
          9_000,
        );
        return { opened, writtenMs: opened.text === 'connected' ? await client.write(`echo-${i}`, `${i};`) : 0 }; // prettier-ignore
      }),
    );
    const answers = await direct;
    const forwardedAnswers = await forwarded;
    const connections = await connected;
    await bed.sleepUntil(startMs + 12_000);
    const arrived = new Map((await server.arrived()).map(({ text, atMs }) => [text, atMs]));
    const delivered = connections.flatMap(({ writtenMs }, i): Seen[] => {
      const atMs = arrived.get(`${i};`);
      if (writtenMs === 0) return [];
      return [{ text: atMs === undefined ? 'nothing' : 'arrived', from: '', ms: (atMs ?? 0) - writtenMs }]; // prettier-ignore
    });
    const fastest = Math.min(...answers.map(({ text, ms }) => (text === 'nothing' ? 1e9 : ms)));
    return [
      ...within('a datagram is answered', answers, [300, 1_000]),
      timed('the fastest', { text: '', from: '', ms: fastest }, { from: 160, to: 165 }),
      ...within('dnsmasq answers', forwardedAnswers, [300, 1_300, 2_500, 4_900]),
      ...within(
        'TCP is connected',
        connections.map(({ opened }) => opened),
        [300, 1_300, 2_300],
      ),
      ...within('TCP delivers', delivered, [150, 450, 700, 1_500, 3_500]),
    ];
  },
};

/** Programs that are stopped, killed, and started again. */
const PROGRAMS: Script = {
  name: 'Programs',
  hosts: ['client', 'pod-0', 'api'],
  async run(bed) {
    const client = bed.prober('client');
    const { kubedns, cache, web, liveMs } = await startSubscribed(bed);
    await client.watch(POD_0);
    const findings: Finding[] = [];
    const other = (name: string) => ({ ...web, name: `${name}.${WEB}`, limitMs: 5_000 });
    const ready = async (
      what: string,
      sinceMs: number,
      text: string,
      bounds: { from: number; to: number },
    ) => {
      // prettier-ignore
      for (;;) {
        const event = (await client.readiness()).find((each) => each.atMs > sinceMs && each.text === text); // prettier-ignore
        if (event !== undefined) {
          findings.push(timed(what, { text, from: '', ms: event.atMs - sinceMs }, bounds));
          return;
        }
        await bed.sleepUntil(bed.clock() + 50);
      }
    };
    await bed.sleepUntil(liveMs + 4_500);
    const silent = cache.logged(LOST);
    const frozenMs = bed.clock();
    await kubedns.signal('SIGSTOP');
    findings.push(timed('stopped: a cached name', await client.ask(web), ROUND_TRIP));
    const unknown = await client.ask(other('a'));
    findings.push({ what: 'another name, within 5 s', verdict: unknown.text });
    // Three probes of a second, and what kube-proxy takes.
    await ready('the readiness probe notices', frozenMs, 'not ready', { from: 3_200, to: 4_400 });
    const { match, atMs } = await silent;
    // 12 s after the last heartbeat, which are 2 s apart.
    findings.push(timed('the subscriber notices', { text: match, from: '', ms: atMs - frozenMs }, { from: 10_000, to: 12_100 })); // prettier-ignore
    const live = cache.logged(LIVE);
    const goesOnMs = atMs + 1_000;
    await bed.sleepUntil(goesOnMs);
    await kubedns.signal('SIGCONT');
    // The connection that waits for an answer gets it.
    findings.push(timed('goes on: subscribed again', { text: 'live', from: '', ms: (await live).atMs - goesOnMs }, { from: 0, to: 5_000 })); // prettier-ignore
    await ready('the readiness probe notices', goesOnMs, 'ready', { from: 200, to: 1_400 });

    await client.askUntil(web, 'A 10.245.0.1');
    const ended = cache.logged(LOST);
    const killedMs = bed.clock();
    await kubedns.signal('SIGKILL');
    const end = await ended;
    findings.push(timed('killed: the subscriber notices', { text: end.match, from: '', ms: end.atMs - killedMs }, ROUND_TRIP)); // prettier-ignore
    findings.push(timed('a name that was cached', await client.ask(web), ROUND_TRIP));
    const refused = await client.ask(other('b'));
    findings.push({ what: 'another name', verdict: refused.text });
    const again = cache.logged(LIVE);
    bed.start('pod-0', 'kubedns', KUBEDNS);
    await again;
    await client.askUntil(web, 'A 10.245.0.1');
    findings.push({ what: 'started again', verdict: 'live' });
    return findings;
  },
};

export const SCRIPTS: readonly Script[] = [THROUGH_SERVICE, REFUSALS, PARTITION, LOSS, PROGRAMS];
