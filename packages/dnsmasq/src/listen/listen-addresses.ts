import type { NetworkInterfaceInfo } from 'node:os';
import { type Log, StartupError } from '@kube-dns/daemon';
import { EXIT_BAD_NETWORK } from './listeners.js';
import type { DnsmasqOptions } from '../options/option-table.js';

export type Interfaces = NodeJS.Dict<NetworkInterfaceInfo[]>;

type ListenOptions = Pick<
  DnsmasqOptions,
  'binding' | 'exceptInterfaces' | 'interfaces' | 'listenAddresses'
>;

/**
 * The addresses to serve on: those of `--listen-address`, of the interfaces of `--interface` with
 * loopback, or of all interfaces but those of `--except-interface`. None means every address, also those
 * added later. With `--bind-interfaces` throws a StartupError for a missing interface.
 */
export function listenAddresses(
  options: ListenOptions,
  readInterfaces: () => Interfaces,
  log: Pick<Log, 'warn'>,
): readonly string[] {
  const { binding, exceptInterfaces, interfaces: wanted } = options;
  if (wanted.length === 0 && exceptInterfaces.length === 0) return options.listenAddresses;
  const interfaces = readInterfaces();
  const names = Object.keys(interfaces);
  for (const pattern of wanted) {
    if (names.some((name) => isNamed(name, pattern))) continue;
    if (binding === 'interfaces') {
      throw new StartupError(`unknown interface ${pattern}`, EXIT_BAD_NETWORK);
    }
    log.warn(`interface ${pattern} does not currently exist`);
  }
  const served = names.filter((name) => {
    if (exceptInterfaces.some((pattern) => isNamed(name, pattern))) return false;
    const isLoopback = interfaces[name]!.every(({ internal }) => internal);
    if (wanted.length > 0) return isLoopback || wanted.some((pattern) => isNamed(name, pattern));
    return options.listenAddresses.length === 0;
  });
  const addresses = served.flatMap((name) => interfaces[name]!.map((one) => addressOn(name, one)));
  return [...new Set([...options.listenAddresses, ...addresses])];
}

/** A link-local address is useless without its interface. */
function addressOn(name: string, { address, family }: NetworkInterfaceInfo): string {
  return family === 'IPv6' && /^fe[89ab]/i.test(address) ? `${address}%${name}` : address;
}

function isNamed(name: string, pattern: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}
