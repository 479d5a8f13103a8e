import { networkInterfaces } from 'node:os';
import { errorText } from '@kube-dns/base';
import { type Log } from '@kube-dns/daemon';
import {
  type Answerer,
  type AnswerObserver,
  listen,
  type ListenOptions,
  type ServerCookies,
  type UdpEngine,
} from '@kube-dns/transport';
import { DynamicListeners } from './dynamic-listeners.js';
import { listenAddresses } from './listen-addresses.js';
import { openListeners, type ServedPort } from './listeners.js';
import type { ServedOpcodes } from './served-opcodes.js';
import type { DnsmasqOptions } from '../options/option-table.js';

export interface ServePortOptions extends ServedOpcodes {
  readonly options: DnsmasqOptions;
  /** The result of `listenAddresses` at the start. */
  readonly addresses: readonly string[];
  readonly answerer: Answerer;
  /** Those of all addresses. */
  readonly cookies: ServerCookies;
  readonly observer: AnswerObserver;
  readonly engine: UdpEngine;
  readonly log: Log;
}

/** More than dnsmasq's 20: a connection needs no process here. */
const MAX_TCP_CONNECTIONS = 1_000;

/** Missing interfaces were logged at the start. */
const SILENT: Pick<Log, 'warn'> = { warn: () => undefined };

/** Serves on the addresses that the command line asks for; throws a StartupError with dnsmasq's exit code. */
export function servePort({
  options,
  addresses,
  answerer,
  notifies,
  sessions,
  cookies,
  observer,
  engine,
  log,
}: ServePortOptions): Promise<ServedPort> {
  const { port, maxTcpConnections, maxUdpBytes, binding, reusesPort } = options;
  const listenOptions: Omit<ListenOptions, 'address'> = {
    answerer,
    notifies,
    sessions,
    cookies,
    observer,
    port,
    maxUdpBytes,
    engine,
    reusesPort,
    tcp: { maxConnections: maxTcpConnections ?? MAX_TCP_CONNECTIONS },
    onFailure: (error) => log.error(`answering: ${errorText(error)}`),
  };
  // The wildcard socket also serves addresses that are added later.
  const isForAll = addresses.length === 0 && !choosesAddresses(options);
  if (binding !== 'dynamic' || isForAll) return openListeners({ ...listenOptions, addresses });
  return DynamicListeners.start({
    addresses: () => listenAddresses(options, networkInterfaces, SILENT),
    port,
    open: (address, samePort) => listen({ ...listenOptions, address, port: samePort }),
    log,
  });
}

/** Whether it serves on some addresses only, currently maybe none. */
function choosesAddresses({ interfaces, exceptInterfaces }: DnsmasqOptions): boolean {
  return interfaces.length > 0 || exceptInterfaces.length > 0;
}
