import { setTimeout as delay } from 'node:timers/promises';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import {
  builtProgram,
  type Command,
  type CommandContext,
  Kubedns,
  monotonicMs,
  numberOption,
  type OptionValues,
  Remote,
  rssBytes,
  spreadOf,
} from '@kube-dns/testkit';
import type { ChangeWatcherMethods } from '../dns/change-watcher.js';
import { followingKubedns } from '../servers/peers.js';
import { COMMON_OPTIONS } from './command.js';

const OPTIONS = {
  hosts: numberOption(10_000, 'hosts, of one Ingress each', { min: 1, max: 50_000 }),
  changes: numberOption(500, 'changes that are timed one by one', { min: 1, max: 100_000 }),
  pause: numberOption(10, 'ms from one to the next', { max: 60_000 }),
  ...COMMON_OPTIONS,
};

const MIB = 2 ** 20;
const KIB = 2 ** 10;
/** A change is served within 50 ms. */
const BAR_MS = 50;
/** Of the process, with what the list leaves behind: an Ingress with its host takes 1.5 KiB of the heap. */
const BAR_KIB = 6;
const LIMIT_MS = 10_000;
/** After a list, garbage is collected. */
const SETTLE_MS = 3_000;
const NAMESPACE = 'shop';

type Values = OptionValues<typeof OPTIONS>;

const hostOf = (i: number) => `h${i}.apps.example.com`;
const addressOf = (i: number) => `198.18.${(i >> 8) & 255}.${i & 255}`;

function ingress(i: number, ip: string) {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: `web-${i}`, namespace: NAMESPACE },
    spec: {
      rules: [{ host: hostOf(i), http: { paths: [{ backend: { service: { name: 'web' } } }] } }],
    },
    status: { loadBalancer: { ingress: [{ ip }] } },
  };
}

async function startKubedns(
  api: ApiServer,
  { node, 'node-flags': nodeFlags, ...values }: Values,
  { owned }: CommandContext,
  flags: readonly string[],
): Promise<Kubedns> {
  const program = values.kubedns === '' ? builtProgram('kubedns') : values.kubedns;
  const following = followingKubedns(api.url, [...values['kubedns-flags'], ...flags], nodeFlags);
  const kubedns = owned.add(await Kubedns.start({ ...following, node, program }));
  await kubedns.ready(values['ready-limit'] * 1_000);
  return kubedns;
}

async function run(values: Values, context: CommandContext): Promise<void> {
  const { report, progress, owned } = context;
  const api = owned.add(await createApiServer());
  progress(`filling an API server: ${values.hosts} Ingresses`);
  const labels = { 'kube-dns/host-names': 'true' };
  await api.apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE, labels } },
    ...Array.from({ length: values.hosts }, (_, i) => ingress(i, addressOf(i))),
  ]);
  const without = await startKubedns(api, values, context, []);
  const kubedns = await startKubedns(api, values, context, ['--route-names']);
  const entry = new URL('../dns/change-watcher.js#ChangeWatcher', import.meta.url);
  const watcher = owned.add(new Remote<ChangeWatcherMethods>('the watcher', entry));
  await watcher.call('open', kubedns.ports.dns);
  const last = values.hosts - 1;
  const seen = await watcher.call(
    'waitFor',
    { name: hostOf(last), type: 'A', address: addressOf(last) },
    values['ready-limit'] * 1_000,
  );
  if (Number.isNaN(seen)) throw new Error('the last host is never answered');
  await delay(SETTLE_MS);
  const extra = rssBytes(kubedns.server.pid) - rssBytes(without.server.pid);
  report.add('hosts', values.hosts, '');
  report.add('RSS without --route-names', rssBytes(without.server.pid) / MIB, 'MiB');
  report.add('RSS with --route-names', rssBytes(kubedns.server.pid) / MIB, 'MiB');
  report.add('memory of a host', extra / values.hosts / KIB, 'KiB', BAR_KIB);

  const lags: number[] = [];
  for (let i = 0; i < values.changes; i++) {
    const number = (i * 7_919) % values.hosts;
    const address = `203.0.${i >> 8}.${i & 255}`;
    const expectation = { name: hostOf(number), type: 'A', address } as const;
    const served = watcher.call('waitFor', expectation, LIMIT_MS);
    const writtenMs = monotonicMs();
    await api.apply(ingress(number, address));
    const servedMs = await served;
    lags.push(Number.isNaN(servedMs) ? LIMIT_MS : servedMs - writtenMs);
    await delay(values.pause);
  }
  kubedns.server.check();
  const { p50, p99, max } = spreadOf(lags);
  report.add('change of a host, median', p50, 'ms');
  report.add('change of a host, p99', p99, 'ms', BAR_MS);
  report.add('change of a host, longest', max, 'ms');
  report.add('changes never served', lags.filter((lag) => lag >= LIMIT_MS).length, '', 0);
}

/** What hosts of routes cost, and how soon a change of one is served. */
export const ROUTE_HOSTS: Command<typeof OPTIONS> = {
  name: 'route-hosts',
  summary: 'memory of hosts of --route-names, and how soon a change of one is served',
  options: OPTIONS,
  run,
};
