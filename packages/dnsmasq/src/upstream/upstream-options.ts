// The options of the command line for upstream servers, as the parts that query them need them.
import type { Log } from '@kube-dns/daemon';
import type { ServerAddress, ServerOrder, SourcePorts } from '@kube-dns/transport';
import type { NannyFlags } from '../config/flags.js';
import { ResolvFiles } from '../config/resolv-files.js';
import { ServersFile } from '../config/servers-file.js';
import type { DnsmasqOptions } from '../options/option-table.js';
import { parseServer } from '../options/server-value.js';
import { addsOptions, EdnsOptions } from './edns-options.js';
import { Neighbours } from './neighbours.js';

/** The EDNS options that queries are sent with; undefined without any. */
export function ednsOptions({ ednsChanges }: DnsmasqOptions, log: Log): EdnsOptions | undefined {
  if (!addsOptions(ednsChanges)) return undefined;
  return new EdnsOptions(ednsChanges, new Neighbours(), log);
}

/** The files that name upstream servers; undefined where none does. */
export function resolvFiles(options: DnsmasqOptions, log: Log): ResolvFiles | undefined {
  const { usesResolvFile, resolvFile, resolvFiles: several } = options;
  const paths = several.length > 0 ? several : [resolvFile];
  return usesResolvFile && resolvFile !== '' ? new ResolvFiles({ paths, log }) : undefined;
}

/** The file of further servers; undefined where none is given. */
export function serversFile(
  { serversFile: path }: DnsmasqOptions,
  log: Log,
): ServersFile | undefined {
  return path === '' ? undefined : new ServersFile(path, log);
}

/** The server that resolves names of the cluster; undefined, and logged, where it cannot be read. */
export function kubednsServer(
  { kubednsServer: text }: NannyFlags,
  log: Log,
): ServerAddress | undefined {
  const server = parseServer(text);
  if (server === undefined) {
    log.warn(`-kubednsServer: ${JSON.stringify(text)} is no IP address with a port; not used`);
  }
  return server;
}

/** The order in which the servers of a group are queried. */
export function serverOrder({ isStrictOrder, asksAllServers }: DnsmasqOptions): ServerOrder {
  if (asksAllServers) return 'all';
  return isStrictOrder ? 'strict' : 'preferred';
}

/** The source ports of queries. */
export function sourcePorts({ queryPort, minPort, maxPort }: DnsmasqOptions): SourcePorts {
  return {
    ...(queryPort !== undefined && { fixed: queryPort }),
    ...(minPort > 0 && { min: minPort }),
    ...(maxPort > 0 && { max: maxPort }),
  };
}
