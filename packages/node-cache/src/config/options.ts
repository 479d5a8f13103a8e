import { errorText, type FlagValues, MAX_PORT, UsageError, wrongValue } from '@kube-dns/base';
import { isIpAddress, type QueryLogRules, StartupError } from '@kube-dns/daemon';
import type { DnstapTarget } from '@kube-dns/telemetry';
import type { UdpEngineChoice } from '@kube-dns/transport';
import type { HttpAddress } from '../corefile/server-block.js';
import type { FLAGS, SetupChoice } from './flags.js';
import { parseHttpAddress } from './http-address.js';

/** The values of the flags, checked, and checked against each other. */
export interface NodeCacheOptions {
  /** The addresses to listen on, of both families, as they are written. */
  readonly localAddresses: readonly string[];
  /** The port of the rules and of the blocks of stub domains. */
  readonly port: number;
  readonly healthPort: number;
  readonly setsUpInterface: boolean;
  readonly interfaceName: string;
  readonly setup: SetupChoice;
  readonly skipsTeardown: boolean;
  readonly skipsTracking: boolean;
  readonly syncIntervalMs: number;
  /** The named pipe of a guard in another container; '' for none. */
  readonly guardPipe: string;
  readonly drainMs: number;
  readonly reusesPort: boolean;
  readonly udpEngine: UdpEngineChoice;
  /** Unless the ConfigMap has others. */
  readonly queryLog: QueryLogRules;
  readonly dnstap: DnstapTarget | null;
  /** Where the metrics of the set-up are served. */
  readonly metricsAddress: HttpAddress;
  /** '' for none. */
  readonly pidFile: string;
  readonly isQuiet: boolean;
  readonly corefile: CorefileOptions;
}

/** What the Corefile is made of. */
export interface CorefileOptions {
  readonly templateFile: string;
  /** Where it is written to. */
  readonly file: string;
  /** The folder of the ConfigMap kube-dns; '' is the default one, if it exists. */
  readonly kubeDnsFolder: string;
  readonly upstreamService: string;
  /** `-localip` and `-dns.port`, for the template. */
  readonly localAddresses: readonly string[];
  readonly port: number;
  readonly prometheusAddress: string;
}

const EXIT_FATAL = 1;

/**
 * Combines the flags. Throws a StartupError with the original's words and exit code for `-localip` and the two
 * ports, and a UsageError for what else cannot be obeyed. Addresses of both families are one process.
 */
export function readOptions(values: FlagValues<typeof FLAGS>): NodeCacheOptions {
  const localAddresses = readLocalAddresses(values.localip);
  const port = readPort(values.p === '' ? values['dns.port'] : values.p, 'port');
  return {
    localAddresses,
    port,
    healthPort: readPort(values['health-port'], 'healthcheck port'),
    setsUpInterface: values.setupinterface,
    interfaceName: readInterfaceName(values.interfacename),
    setup: readSetup(values.setup, values.setupiptables),
    skipsTeardown: values.skipteardown,
    skipsTracking: values.notrack,
    syncIntervalMs: values.syncinterval,
    guardPipe: values.guard,
    drainMs: values['drain-time'],
    reusesPort: values['reuse-port'],
    udpEngine: values['udp-engine'],
    queryLog: values['query-log'],
    dnstap: values.dnstap,
    metricsAddress: readHttpAddress('metrics-listen-address', values['metrics-listen-address']),
    pidFile: values.pidfile,
    isQuiet: values.quiet,
    corefile: {
      templateFile: values.basecorefile,
      file: values.conf === '' ? values.corefile : values.conf,
      kubeDnsFolder: values.kubednscm,
      upstreamService: values.upstreamsvc,
      localAddresses,
      port,
      prometheusAddress: values['prometheus-listen-address'],
    },
  };
}

function fatal(reason: string): StartupError {
  return new StartupError(`[FATAL] Error parsing flags - ${reason}, Exiting`, EXIT_FATAL);
}

function readLocalAddresses(text: string): readonly string[] {
  const addresses = text.split(',');
  const wrong = addresses.find((address) => !isIpAddress(address));
  if (wrong !== undefined) throw fatal(`invalid localip specified - ${JSON.stringify(wrong)}`);
  const twice = addresses.find((address, at) => addresses.indexOf(address) < at);
  if (twice !== undefined) throw fatal(`localip specified twice - ${JSON.stringify(twice)}`);
  return addresses;
}

function readPort(text: string, what: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= MAX_PORT) return port;
  throw fatal(`invalid ${what} specified - ${JSON.stringify(text)}`);
}

/** The kernel's rule for names of interfaces (net/core/dev.c, dev_valid_name). */
function readInterfaceName(name: string): string {
  if (/^[^\s/:%]{1,15}$/.test(name) && !/^\.\.?$/.test(name)) return name;
  throw wrongValue('interfacename', name, 'must be 1 to 15 characters without blanks, / and :');
}

function readSetup(setup: SetupChoice, setsUpRules: boolean): SetupChoice {
  if (setsUpRules || setup === 'none') return setup;
  if (setup === 'auto') return 'none';
  throw new UsageError(`--setup=${setup} and --setupiptables=false exclude each other`);
}

function readHttpAddress(flag: string, text: string): HttpAddress {
  try {
    return parseHttpAddress(text);
  } catch (error) {
    throw wrongValue(flag, text, errorText(error));
  }
}
