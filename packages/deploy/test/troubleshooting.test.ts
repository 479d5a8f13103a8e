import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { createApiServer, type ApiServer } from '@kube-dns/apiserver';
import { freePort, needsPrograms, outputOf, unless, until, untilEqual } from '@kube-dns/testkit';
import { findObject, MANIFESTS, render } from '@kube-dns/testkit/manifests';
import { Authorizer } from './support/authorizer.js';
import { DeployedPod, type StartOptions } from './support/deployed-pod.js';
import { hasLine, hasSample, parseFaultTable, type FaultRow } from './support/fault-table.js';

const READY_MS = 45_000;
const TEST_MS = 150_000;
const ROWS = parseFaultTable(readFileSync(join(MANIFESTS, 'TROUBLESHOOTING.md'), 'utf8'));

/** How a pod is made to show a row of the table. */
interface Fault extends StartOptions {
  /** Done once the pod works; without it the fault exists from the start. */
  readonly strike?: (pod: DeployedPod, server: ApiServer) => Promise<void> | void;
  /** The API server of kubedns, in place of the normal one. */
  readonly api?: 'missing' | 'denying';
  /** The row shows only after many seconds of silence: such rows wait at the same time. */
  readonly isSlow?: boolean;
}

const append = (name: string, arg: string): StartOptions => ({
  edit: (container, args) => (container === name ? [...args, arg] : args),
});
const UNPRIVILEGED = ['setpriv', '--bounding-set=-net_bind_service', '--inh-caps=-all', '--'];
const isRoot = process.getuid?.() === 0;

const FAULTS: Readonly<Record<string, Fault>> = {
  'kubedns does not know an argument': append('kubedns', '--no-such-flag'),
  'dnsmasq does not know an argument before `--`': {
    edit: (container, args) => (container === 'dnsmasq' ? ['-no-such-flag=1', ...args] : args),
  },
  'dnsmasq does not know an argument after `--`': append('dnsmasq', '--no-such-option'),
  'the sidecar does not know an argument': append('sidecar', '--no-such-flag'),
  'the ConfigMap has nonsense': { strike: (pod) => pod.configure('stubDomains', 'nonsense') },
  'a key of the ConfigMap is misspelt': {
    strike: async (pod) =>
      pod.configure('stubdomains', `{"acme.local":["127.0.0.1:${await freePort()}"]}`),
  },
  'the service account has no rights': { api: 'denying' },
  'the API server is not there at the start': { api: 'missing' },
  'the API server goes away later': { strike: (_pod, server) => server.close() },
  'dnsmasq may not have port 53': {
    ...(isRoot && { wrapper: UNPRIVILEGED }),
    edit: (container, args) => {
      const own = ['--port=53', '--listen-address=127.0.0.1', '--bind-interfaces'];
      return container === 'dnsmasq' ? [...args, ...own] : args;
    },
  },
  'kubedns hangs': {
    isSlow: true,
    strike: async (pod) => {
      await until('a subscription', () => pod.log.includes('tells the changes of'));
      pod.signal('kubedns', 'SIGSTOP');
    },
  },
  'the sidecar probes a domain that kubedns does not have': {
    edit: (container, args) =>
      container === 'sidecar'
        ? args.map((arg) => arg.replace('.svc.cluster.local', '.svc.cluster.invalid'))
        : args,
  },
  'the name servers for other names are silent': {
    isSlow: true,
    strike: (pod) => pod.muteUpstream(),
  },
  'the server of a stub domain has a name that is not found': {
    strike: (pod) => pod.configure('stubDomains', '{"acme.local":["ns.acme.invalid"]}'),
  },
};

/** Rows that this machine may not be able to show, and why not. */
const IMPOSSIBLE: ReadonlyMap<string, string | undefined> = new Map([
  ['dnsmasq may not have port 53', port53SkipReason()],
]);

/** Why it takes no right to have port 53 here; undefined where the system reserves it for root. */
function port53SkipReason(): string | undefined {
  const file = '/proc/sys/net/ipv4/ip_unprivileged_port_start';
  const guards = existsSync(file) && Number(readFileSync(file, 'utf8')) > 53;
  return guards ? undefined : 'needs a system that reserves port 53 for root';
}

const reason = needsPrograms('kubectl', 'dig', ...(isRoot ? ['setpriv'] : []));

it('every row of manifests/TROUBLESHOOTING.md can be made to happen', () => {
  expect(ROWS.map(({ title }) => title)).toEqual(Object.keys(FAULTS));
});

/** A cluster without a pod, for the pods of one row. */
class RowCluster {
  readonly server: ApiServer;
  readonly #authorizer: Authorizer;
  readonly #pods: DeployedPod[] = [];

  private constructor(server: ApiServer, authorizer: Authorizer) {
    this.server = server;
    this.#authorizer = authorizer;
  }

  static async start(): Promise<RowCluster> {
    const server = await createApiServer();
    return new RowCluster(server, await Authorizer.start(server.url, []));
  }

  async startPod({ api, edit, ...options }: Fault): Promise<DeployedPod> {
    const objects = render(join(MANIFESTS, 'overlays', 'monitoring'));
    const pod = new DeployedPod(findObject(objects, 'Deployment', 'kube-dns'));
    this.#pods.push(pod);
    const missingUrl = `http://127.0.0.1:${await freePort()}`;
    const urls = { missing: missingUrl, denying: this.#authorizer.url };
    // A probe each second, so that the tests end sooner.
    const faster = (args: readonly string[]) => args.map((arg) => arg.replace(/,5,SRV$/, ',1,SRV'));
    await pod.start(api === undefined ? this.server.url : urls[api], {
      ...options,
      edit: (name, args) => faster(edit?.(name, args) ?? args),
    });
    return pod;
  }

  async close(): Promise<void> {
    for (const pod of this.#pods) pod.signal('kubedns', 'SIGCONT');
    await Promise.all(this.#pods.map((pod) => pod.close()));
    await this.#authorizer.close();
    await this.server.close();
  }
}

unless(reason, describe)('manifests/TROUBLESHOOTING.md describes each fault', () => {
  async function untilReady(pod: DeployedPod): Promise<void> {
    for (const path of ['/healthcheck/kubedns', '/healthcheck/dnsmasq']) {
      await untilEqual(200, () => pod.status(10054, path), { limitMs: READY_MS });
    }
    await untilEqual(200, () => pod.status(8081, '/readiness'), { limitMs: READY_MS });
  }

  /** What the row expects and the pod does not show; empty when all is as expected. */
  async function absentMetrics(row: FaultRow, pod: DeployedPod): Promise<string> {
    const exposed = await Promise.all(
      [10054, 10055, 10056].map((port) => pod.text(port, '/metrics').catch(() => '')),
    );
    const probes = await Promise.all(
      row.probes.map(async ({ path, status }) => {
        const port = path === '/readiness' ? 8081 : 10054;
        const is = await pod.probe(port, path);
        return is === status ? [] : [`${path} ${is}`];
      }),
    );
    const metrics = row.metrics.filter((each) => !hasSample(exposed.join('\n'), each));
    return [...probes.flat(), ...metrics.map(({ name }) => name)].join(', ');
  }

  /** The rcode that a client gets on port 53; undefined without an answer. */
  async function rcodeOf(pod: DeployedPod, name: string): Promise<string | undefined> {
    const words = ['@127.0.0.1', '-p', String(pod.portFor(53)), '+tries=1', '+time=10', name];
    try {
      return /status: (\w+)/.exec(await outputOf('dig', words))?.[1];
    } catch {
      return undefined; // dig ends with 9
    }
  }

  async function expectShown(row: FaultRow, fault: Fault, cluster: RowCluster): Promise<void> {
    const pod = await cluster.startPod(fault);
    if (fault.strike !== undefined) {
      await untilReady(pod);
      const newLog = pod.logFromNow();
      await fault.strike(pod, cluster.server);
      if (row.lines.length === 0) {
        await rcodeOf(pod, 'www.example.org');
        expect(newLog()).not.toMatch(/^[WE]\d{4} /m);
      }
    }
    // A kubedns without its cluster ends after a minute; another one here after a second.
    const isLate = row.exits.some(({ code }) => code === 255);
    const hasty = append('kubedns', '--initial-sync-timeout=1s');
    const late: Fault = { ...fault, ...hasty, only: ['kubedns'] };
    const ending = isLate ? await cluster.startPod(late) : pod;
    for (const { container, code } of row.exits) {
      expect([container, await ending.exitCode(container)]).toEqual([container, code]);
    }
    // Asking makes some of the metrics count.
    for (const { name, rcode } of row.answers) {
      await untilEqual(rcode, () => rcodeOf(pod, name), { limitMs: READY_MS });
    }
    await untilEqual('', () => absentMetrics(row, pod), { limitMs: READY_MS });
    const log = () => (ending === pod ? pod.log : pod.log + ending.log);
    const unsaid = () =>
      row.lines.filter(({ container, text }) => !hasLine(log(), container, text));
    await until(
      () =>
        `${unsaid()
          .map(({ text }) => text)
          .join()} in:\n${log()}`,
      () => unsaid().length === 0,
    );
  }

  for (const row of ROWS) {
    const fault = FAULTS[row.title] ?? {};
    const test = async () => {
      const cluster = await RowCluster.start();
      try {
        await expectShown(row, fault, cluster);
      } finally {
        await cluster.close();
      }
    };
    const run = fault.isSlow === true ? it.concurrent : it;
    unless(IMPOSSIBLE.get(row.title), run)(row.title, test, TEST_MS);
  }
});
