import { randomUUID } from 'node:crypto';
import { realpathSync, rmSync, writeFileSync } from 'node:fs';
import { pid } from 'node:process';
import { errorText } from '@kube-dns/base';
import { failStartup, type Log, openStatusPaths, runProgram, VERSION } from '@kube-dns/daemon';
import { subscriptionsPage } from '@kube-dns/push';
import { Telemetry } from '@kube-dns/telemetry';
import { chooseUdpEngine, EngineError, type ServerAddress } from '@kube-dns/transport';
import {
  lookupInApi,
  lookupInEnvironment,
  ServiceFollower,
  servicePort,
} from './config/cluster-service.js';
import { CorefileSource } from './config/corefile-source.js';
import { FLAGS, readOptions } from './config/options.js';
import { pluginsText } from './corefile/plugins.js';
import type { ServerBlock } from './corefile/server-block.js';
import { MetricsEndpoints } from './http-endpoints.js';
import { metricFamilies } from './metric-families.js';
import { runCommand } from './network/command.js';
import { Guard } from './network/guard.js';
import { NetworkSetup } from './network/network-setup.js';
import { NodeCacheServer } from './server.js';
import { localPagesOf } from './status.js';

const PROGRAM = {
  name: 'node-cache',
  version: VERSION,
  summary: 'Caches DNS on a node for its pods, in front of the DNS of the cluster.',
  flags: FLAGS,
};

const EXIT_FATAL = 1;

runProgram(PROGRAM, async ({ values, log, signals, facts, statusPages }) => {
  if (values.plugins) {
    process.stdout.write(pluginsText());
    return;
  }
  const options = readOptions(values);
  log.info(`Starting node-cache image: ${facts.version}`);
  const { engine, description } = await chooseUdpEngine(options.udpEngine).catch((error: unknown) =>
    failStartup(error, EngineError, EXIT_FATAL),
  );
  log.info(`UDP engine: ${description}`);
  const guard = new Guard({
    pipe: options.guardPipe,
    program: realpathSync(process.argv[1]!),
    log,
  });
  const network = new NetworkSetup({ ...options, id: randomUUID(), guard, log, run: runCommand });
  const { upstreamService: service } = options.corefile;
  const follower = new ServiceFollower({
    service,
    lookup: lookupInEnvironment(process.env),
    ask: (each) => lookupInApi(each, process.env),
    log,
  });
  const { lookup } = follower;
  const source = new CorefileSource({ corefile: options.corefile, log, lookup });
  const telemetry = new Telemetry();
  telemetry.useQueryLog(options.queryLog);
  const { localAddresses, port, dnstap: target } = options;
  const served = { address: localAddresses.length === 1 ? localAddresses[0]! : '', port };
  const about = { role: 'resolver', program: PROGRAM.name, served } as const;
  await telemetry.openDnstap({ target, ...about, log });
  const server = new NodeCacheServer({
    engine,
    reusesPort: options.reusesPort,
    maxTcpAgeMs: options.maxTcpAgeMs,
    snapshotFile: options.snapshotFile,
    drainMs: options.drainMs,
    clusterServer: (): ServerAddress | undefined => {
      const address = lookup(service);
      return address === undefined
        ? undefined
        : { address, port: servicePort(service, process.env) };
    },
    network,
    observer: telemetry,
    exchanges: telemetry,
    log,
  });
  const parts = { server, telemetry, source, network };
  const metrics = new MetricsEndpoints({
    address: options.metricsAddress,
    families: metricFamilies({ ...parts, facts }),
    pages: new Map([['/subscriptions', () => subscriptionsPage(server.subscriptions.rows())]]),
    localPages: localPagesOf({ ...parts, statusPages, corefile: options.corefile.file }),
    openPaths: openStatusPaths(values.status),
    log,
  });
  signals.onReload(() => source.refresh());
  signals.onDump(() => source.refresh());
  signals.onTerminate(async (signal) => {
    log.info(`${signal}: Shutting down servers then terminating`);
    source.close();
    follower.close();
    log.info('Tearing down');
    await server.close();
    await telemetry.close(log);
    if (options.pidFile !== '') rmSync(options.pidFile, { force: true });
    guard.close();
    await metrics.close();
  });
  await server.prepare();
  await source.start({
    onConfig: ({ queryLog }) => telemetry.useQueryLog(queryLog ?? options.queryLog),
    onChange: async (blocks) => {
      await server.apply(blocks);
      if (!options.isQuiet) for (const line of servedLines(blocks)) log.info(line);
      await metrics.serve(blocks);
    },
  });
  writePidFile(options.pidFile, log);
  follower.start({
    isDown: () => server.blocks.isClusterDown,
    onChange: () => source.refresh(),
  });
});

/** What CoreDNS writes of each zone: `cluster.local.:53 on 169.254.20.10`. */
function servedLines(blocks: readonly ServerBlock[]): string[] {
  return blocks.flatMap(({ zones, addresses }) =>
    zones.flatMap(({ zone, port }) => {
      const name = `${zone === '.' ? '' : zone}.:${port}`;
      return addresses.length === 0 ? [name] : addresses.map((each) => `${name} on ${each}`);
    }),
  );
}

/** The file of `-pidfile` is there while DNS is served; others wait for it. '' is none. */
function writePidFile(path: string, log: Log): void {
  if (path === '') return;
  try {
    writeFileSync(path, `${pid}\n`);
  } catch (error) {
    log.error(`pidfile: ${errorText(error)}`);
  }
}
