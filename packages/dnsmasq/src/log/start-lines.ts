import type { Log } from '@kube-dns/daemon';
import { DNSMASQ_VERSION } from '../answer/chaos.js';
import type { DnsmasqOptions } from '../options/option-table.js';

/** dnsmasq src/dnsmasq.c, main. */
const LARGE_CACHE = 10_000;

/** The first lines of the log, worded as dnsmasq does. */
export function logStart(
  {
    cacheSize,
    usesResolvFile,
    resolvFiles,
  }: Pick<DnsmasqOptions, 'cacheSize' | 'usesResolvFile' | 'resolvFiles'>,
  log: Pick<Log, 'info' | 'warn'>,
): void {
  const cache = cacheSize > 0 ? `cachesize ${cacheSize}` : 'cache disabled';
  log.info(`started, version ${DNSMASQ_VERSION} ${cache}`);
  if (cacheSize > LARGE_CACHE) {
    log.warn(
      `cache size greater than ${LARGE_CACHE} may cause performance issues, and is unlikely to be useful.`,
    );
  }
  if (!usesResolvFile && resolvFiles.length > 0) {
    log.warn('warning: ignoring resolv-file flag because no-resolv is set');
  }
}
