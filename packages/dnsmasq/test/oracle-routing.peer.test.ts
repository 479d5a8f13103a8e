import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  ask,
  decodeMessage,
  encodeQuery,
  endPrograms,
  exchange,
  UdpClient,
  until,
} from '@kube-dns/testkit';
import { serve } from './processes.js';
import { describeBesideReal, serveReal } from './real-dnsmasq.js';
import { type Conduct, ScriptedServers } from './scripted-servers.js';

const NOTHING = 'nothing';

type Mode = 'default' | 'strict' | 'all';

/** One domain with separate servers, and the results of questions for it. */
interface Case {
  readonly servers: readonly Conduct[];
  /** Over UDP, one after the other; `tcp` is over TCP. Once over UDP unless said otherwise. */
  readonly questions?: readonly ('udp' | 'tcp')[];
  /** What ours does differently, and why. */
  readonly ours?: Outcome & { readonly why: string };
}

interface Outcome {
  /** What the client got each time. */
  readonly got: readonly string[];
  /** What each server was asked in all. */
  readonly asked: readonly string[];
}

const RACE_LOST = 'a better answer is waited for before SERVFAIL is passed on';
const ANSWER_ALWAYS = 'the client gets an error when all have failed; dnsmasq sends nothing';
const GUESSED = 'IDs may be guessed at that port: the question goes over TCP';
const WHOLE = 'a cut answer is fetched over TCP; dnsmasq passes it on without records';

const CASES: Record<Mode, Record<string, Case>> = {
  default: {
    'one server': { servers: ['good'], questions: ['udp', 'udp'] },
    NXDOMAIN: { servers: ['nxdomain'] },
    NOTIMP: { servers: ['notimp'] },
    FORMERR: { servers: ['formerr'] },
    'the first question goes to all, the next to the faster': {
      servers: ['late', 'good', 'silent'],
      questions: ['udp', 'udp'],
    },
    'NXDOMAIN from the faster one': { servers: ['late', 'nxdomain'] },
    'a late answer': { servers: ['late'] },
    'a refusal, and an answer': { servers: ['refused', 'late'] },
    'a refusal, and silence behind an answer': { servers: ['refused', 'silent', 'good'] },
    silence: { servers: ['silent'] },
    'silence of one': { servers: ['silent', 'good'], questions: ['udp', 'udp'] },
    'a wrong ID': {
      servers: ['wrong ID'],
      ours: { got: ['nothing'], asked: ['1 udp, 1 tcp'], why: GUESSED },
    },
    'a wrong name': { servers: ['wrong name'] },
    'a wrong type': { servers: ['wrong type'] },
    'a query in place of a response': { servers: ['no response'] },
    'a forgery, and an answer': { servers: ['wrong ID', 'good'] },
    'over TCP': { servers: ['good'], questions: ['tcp', 'tcp'] },
    'over TCP from the preferred server': {
      servers: ['silent', 'good'],
      questions: ['udp', 'tcp'],
    },
    'over TCP, NXDOMAIN': { servers: ['nxdomain'], questions: ['tcp'] },
    'SERVFAIL of the only server': { servers: ['servfail'] },
    'REFUSED of the only server': { servers: ['refused'] },
    'SERVFAIL, and a later answer': {
      servers: ['servfail', 'late'],
      ours: { got: ['A 10.0.0.1'], asked: ['1 udp', '1 udp'], why: RACE_LOST },
    },
    'a cut answer': {
      servers: ['cut over UDP'],
      ours: { got: ['A 10.0.0.0'], asked: ['1 udp, 1 tcp'], why: WHOLE },
    },
    'over TCP, SERVFAIL of the first': {
      servers: ['servfail', 'good'],
      questions: ['tcp'],
      ours: { got: ['A 10.0.0.1'], asked: ['1 tcp', '1 tcp'], why: RACE_LOST },
    },
    'over TCP, a wrong ID': {
      servers: ['wrong ID', 'good'],
      questions: ['tcp'],
      ours: {
        got: ['A 10.0.0.1'],
        asked: ['1 tcp', '1 tcp'],
        why: 'the ID is looked at over TCP, too',
      },
    },
  },
  strict: {
    'the first server, always': { servers: ['good', 'good'], questions: ['udp', 'udp'] },
    'a late first server': { servers: ['late', 'good'] },
    'a silent first server': { servers: ['silent', 'good'] },
    'a refusal of the first': { servers: ['refused', 'good'], questions: ['udp', 'udp'] },
    'a failure of the first': { servers: ['servfail', 'good'] },
    'failures of all but the last': { servers: ['servfail', 'refused', 'good'] },
    'failures of all': {
      servers: ['refused', 'servfail'],
      ours: { got: ['SERVFAIL'], asked: ['1 udp', '1 udp'], why: ANSWER_ALWAYS },
    },
    'a failure of the only server': {
      servers: ['servfail'],
      ours: { got: ['SERVFAIL'], asked: ['1 udp'], why: ANSWER_ALWAYS },
    },
  },
  all: {
    'all servers, always': { servers: ['good', 'late', 'silent'], questions: ['udp', 'udp'] },
    'a refusal, and an answer': { servers: ['refused', 'late'] },
    'silence but for one': { servers: ['silent', 'silent', 'good'] },
    'SERVFAIL, and a later answer': {
      servers: ['servfail', 'late'],
      ours: { got: ['A 10.0.0.1'], asked: ['1 udp', '1 udp'], why: RACE_LOST },
    },
  },
};

const COMMON = [
  ...['-k', '--no-resolv', '--cache-size=0', '--log-facility=-'],
  '--address=/settled.test/192.0.2.1',
];

const MODE_OPTIONS: Record<Mode, readonly string[]> = {
  default: [],
  strict: ['--strict-order'],
  all: ['--all-servers'],
};

/** `--server` has more than one name for one domain of a case. */
const domainOf = (mode: Mode, what: string) =>
  `c${Object.keys(CASES[mode]).indexOf(what)}.${mode}.example`;

function conductOf(domain: string, server: number): Conduct {
  for (const mode of ['default', 'strict', 'all'] as const) {
    for (const [what, { servers }] of Object.entries(CASES[mode])) {
      if (domainOf(mode, what) === domain) return servers[server] ?? 'silent';
    }
  }
  return 'good';
}

/** One of the two programs, and the servers that it asks. */
interface Contestant {
  readonly port: number;
  readonly servers: ScriptedServers;
}

/** What has left a program may still be a moment away from its client. */
const ARRIVES_MS = 250;

/** The answer over UDP; undefined when servers were asked, and nothing is on its way any more. */
async function exchangeOnce({ port, servers }: Contestant, message: Buffer) {
  const client = await UdpClient.connect(port);
  try {
    const before = servers.askedInAll;
    client.send(message);
    await until(() => client.inbox.length > 0 || servers.askedInAll > before);
    await servers.quiet();
    const endMs = performance.now() + ARRIVES_MS;
    await until(() => client.inbox.length > 0 || performance.now() > endMs);
    return client.inbox.length > 0 ? await client.inbox.next() : undefined;
  } finally {
    await client.close();
  }
}

async function see(from: Contestant, name: string, protocol: 'udp' | 'tcp'): Promise<string> {
  const message = encodeQuery({ name, id: 4_711 });
  const reply = await (protocol === 'udp'
    ? exchangeOnce(from, message)
    : exchange(from.port, message, { isOverTcp: true }));
  if (reply === undefined) return NOTHING;
  const { rcode, texts, isTruncated } = decodeMessage(reply);
  if (isTruncated) return `cut: ${texts.join()}`;
  return rcode === 'NOERROR' ? texts.join() : rcode;
}

async function play(
  from: Contestant,
  domain: string,
  { questions = ['udp'] }: Case,
): Promise<Outcome> {
  const got: string[] = [];
  for (const [i, protocol] of questions.entries()) {
    got.push(await see(from, `q${i}.${domain}`, protocol));
  }
  return { got, asked: from.servers.asked(domain) };
}

describeBesideReal('what servers are asked, beside the real dnsmasq', () => {
  const running = new Map<Mode, { ours: Contestant; real: Contestant }>();
  const opened: ScriptedServers[] = [];

  async function start(
    mode: Mode,
    launch: (options: readonly string[]) => Promise<{ port: number }>,
  ): Promise<Contestant> {
    const servers = await ScriptedServers.start(3, conductOf);
    opened.push(servers);
    const rules = Object.entries(CASES[mode]).flatMap(([what, { servers: conducts }]) =>
      conducts.map((_conduct, at) => `--server=/${domainOf(mode, what)}/${servers.text(at)}`),
    );
    const { port } = await launch([...COMMON, ...MODE_OPTIONS[mode], ...rules]);
    servers.port = port;
    return { port, servers };
  }

  async function contestants(mode: Mode): Promise<{ ours: Contestant; real: Contestant }> {
    const [ours, real] = await Promise.all([start(mode, serve), start(mode, serveReal)]);
    return { ours, real };
  }

  afterAll(async () => {
    await endPrograms();
    await Promise.all(opened.map((servers) => servers.close()));
  });

  describe.each(['default', 'strict', 'all'] as const)('in mode %s', (mode) => {
    async function expectPlanned(what: string, plan: Case): Promise<void> {
      const { ours, real } = running.get(mode) ?? (await contestants(mode));
      running.set(mode, { ours, real });
      const domain = domainOf(mode, what);
      const [seen, expected] = await Promise.all([
        play(ours, domain, plan),
        play(real, domain, plan),
      ]);
      const padded = (asked: readonly string[]) => [0, 1, 2].map((at) => asked[at] ?? '');
      if (plan.ours === undefined) expect(seen).toEqual(expected);
      else {
        const { got, asked } = plan.ours;
        expect(seen).toEqual({ got, asked: padded(asked) });
        // A difference that no longer exists must be removed from the table.
        expect(seen).not.toEqual(expected);
      }
    }

    it.each(Object.entries(CASES[mode]))('%s', expectPlanned);
  });
});

const ROUTES = [
  '/wild.com/S0',
  '/*wild.com/S1',
  '/*.below.com/S2',
  '/below.com/S0',
  '/com/S1',
  '//S2',
  '/single/S1',
  '/private.com/',
  '/open.private.com/#',
  '/deep.open.private.com/S2',
  '/.dotted.net/S1',
  '/A.b/c.D/S2',
  'S0',
];

const NAMES = [
  ...['wild.com', 'a.wild.com', 'notwild.com', 'a.notwild.com', 'wild.com.x', 'WILD.com'],
  ...['below.com', 'a.below.com', 'b.a.below.com', 'xbelow.com', 'other.com', 'com'],
  ...['one', 'single', 'x.single', 'private.com', 'a.private.com', 'a.open.private.com'],
  ...[
    'x.deep.open.private.com',
    'dotted.net',
    'a.dotted.net',
    'a.b',
    'x.a.b',
    'x.c.d',
    'd',
    'net.x',
  ],
];

describeBesideReal('which server a name goes to, beside the real dnsmasq', () => {
  let ours: Contestant;
  let real: Contestant;

  beforeAll(async () => {
    const start = async (launch: typeof serveReal): Promise<Contestant> => {
      const servers = await ScriptedServers.start(3, () => 'good');
      const options = ROUTES.map((route) => {
        const rule = route.replace(/S(\d)$/, (_text, at: string) => servers.text(Number(at)));
        return `--server=${rule}`;
      });
      const { port } = await launch([...COMMON, ...options]);
      servers.port = port;
      return { port, servers };
    };
    [ours, real] = await Promise.all([start(serve), start(serveReal)]);
  });

  afterAll(async () => {
    await endPrograms();
    await Promise.all([ours.servers.close(), real.servers.close()]);
  });

  it.each(NAMES)('%s', async (name) => {
    const answerOf = async ({ port }: Contestant) => {
      const { rcode, texts } = await ask(port, name);
      return rcode === 'NOERROR' ? texts.join() : rcode;
    };
    const [seen, expected] = await Promise.all([answerOf(ours), answerOf(real)]);
    expect(seen).toBe(expected);
  });
});
