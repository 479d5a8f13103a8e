import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Log } from '@kube-dns/daemon';
import type { UdpEngine } from '@kube-dns/transport';

type Ports = Pick<UdpEngine, 'batch' | 'openUpstreamPort' | 'sendTogether'>;

/** An attacker's names must not fill the log; dnsmasq logs each failure. */
const LOG_EVERY_MS = 1_000;

/**
 * The ports of an engine; a source of queries that this machine does not have is logged, rate-limited and in
 * dnsmasq's words (src/network.c, allocate_sfd). A source that is no address is the name of a device.
 */
export function loggedPorts(
  engine: Ports,
  log: Pick<Log, 'error'>,
  now = () => performance.now(),
): Ports {
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  const report = (source: string, reason: string) => {
    loggedAtMs = now();
    log.error(`failed to bind server socket to ${source}: ${reason}`);
  };
  return {
    get batch() {
      return engine.batch;
    },
    sendTogether: (work) => engine.sendTogether(work),
    openUpstreamPort: (options, owner) => {
      const { sourceAddress: source } = options;
      const isDevice = source !== undefined && isIP(source) === 0;
      const port = isDevice ? undefined : engine.openUpstreamPort(options, owner);
      if (port !== undefined || source === undefined || now() - loggedAtMs < LOG_EVERY_MS) {
        return port;
      }
      if (isDevice) report(source, 'No such device');
      else if (!isOwnAddress(source)) report(source, 'Cannot assign requested address');
      return undefined;
    },
  };
}

/** Of an address that the machine has, it is the port that is taken. */
function isOwnAddress(address: string): boolean {
  return Object.values(networkInterfaces()).some((own) =>
    own?.some((each) => each.address === address),
  );
}
