import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { needsPrograms, outputOf, unless, until, untilEqual } from '@kube-dns/testkit';
import { MANIFESTS } from '@kube-dns/testkit/manifests';
import type { DeployedPod } from './support/deployed-pod.js';
import { hasLine, hasSample, parseFaultTable, type FaultRow } from './support/fault-table.js';
import { append, type Fault, FAULTS } from './support/faults.js';
import { RowCluster } from './support/row-cluster.js';
import { WITHOUT_PORT_53 } from './support/without-port-53.js';

const ROWS = parseFaultTable(readFileSync(join(MANIFESTS, 'TROUBLESHOOTING.md'), 'utf8'));

const slowness = ({ title }: FaultRow) => Number(FAULTS[title]?.isSlow ?? false);

/** Rows that this machine may not be able to show, and why not. */
const IMPOSSIBLE: ReadonlyMap<string, string | undefined> = new Map([
  [
    'dnsmasq may not have port 53',
    WITHOUT_PORT_53 === undefined ? 'needs a system that reserves port 53 for root' : undefined,
  ],
]);

it('every row of manifests/TROUBLESHOOTING.md can be made to happen', () => {
  expect(ROWS.map(({ title }) => title)).toEqual(Object.keys(FAULTS));
});

unless(needsPrograms('kubectl', 'dig'), describe)(
  'manifests/TROUBLESHOOTING.md describes each fault',
  () => {
    async function untilReady(pod: DeployedPod): Promise<void> {
      for (const path of ['/healthcheck/kubedns', '/healthcheck/dnsmasq']) {
        await untilEqual(200, () => pod.status(10054, path));
      }
      await untilEqual(200, () => pod.status(8081, '/readiness'));
    }

    /** What the row expects and the pod does not show; empty when all is as expected. */
    async function absentMetrics(row: FaultRow, pod: DeployedPod): Promise<string> {
      // A kubedns that hangs has no page at all.
      const isHanging = row.probes.some((each) => each.path === '/readiness' && each.status === 0);
      const ports = isHanging ? [10054, 10056] : [10054, 10055, 10056];
      const exposed = await Promise.all(
        ports.map((port) => pod.text(port, '/metrics').catch(() => '')),
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
          // The sidecar also warns when a busy machine is slow to answer its probes.
          expect(newLog()).not.toMatch(/^[WE]\d{4} .* (?:kubedns|dnsmasq)\] /m);
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
        await untilEqual(rcode, () => rcodeOf(pod, name));
      }
      await untilEqual('', () => absentMetrics(row, pod));
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

    for (const row of ROWS.toSorted((a, b) => slowness(b) - slowness(a))) {
      const fault = FAULTS[row.title] ?? {};
      const test = async () => {
        const cluster = await RowCluster.start();
        try {
          await expectShown(row, fault, cluster);
        } finally {
          await cluster.close();
        }
      };
      unless(IMPOSSIBLE.get(row.title), it.concurrent)(row.title, test);
    }
  },
);
