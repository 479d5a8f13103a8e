import { isIP } from 'node:net';
import { type FlagDefinition, intFlag, MAX_PORT, stringFlag } from '@kube-dns/base';
import {
  isDnsLabel,
  isDnsSubdomain,
  isIpAddress,
  parseFederations,
  parseNameservers,
} from '@kube-dns/daemon';
import type { ServerAddress } from '@kube-dns/transport';
import { bindAddress, EVERY_ADDRESS } from '@kube-dns/wire';

/** Leaves space for names below the zone, such as `hostmaster.<zone>`. */
const MAX_DOMAIN_LENGTH = 240;
const DNS_PORT = 53;

/** A zone whose labels are all valid (kubernetes/dns cmd/kube-dns/app/options: clusterDomainVar). */
export function domainFlag(initial: string, help: string): FlagDefinition<string> {
  return {
    ...stringFlag(initial, help),
    parse: (text) => {
      const domain = text.replace(/\.$/, '');
      if (domain.length > MAX_DOMAIN_LENGTH) {
        throw new Error(`longer than ${MAX_DOMAIN_LENGTH} characters`);
      }
      for (const label of domain.split('.')) {
        if (!isDnsLabel(label)) throw new Error(`${JSON.stringify(label)} is not a DNS label`);
      }
      return `${domain}.`;
    },
  };
}

/** A URL with scheme and host, environment variables in it expanded. */
export function urlFlag(help: string): FlagDefinition<string> {
  return {
    ...stringFlag('', help, 'url'),
    parse: (text) => {
      const expanded = text.replace(
        /\$(?:\{([^}]*)\}|(\w+))/g,
        (_match, braced: string | undefined, bare: string | undefined) =>
          process.env[braced ?? bare ?? ''] ?? '',
      );
      const url = URL.canParse(expanded) ? new URL(expanded) : undefined;
      if (url === undefined || !/^https?:$/.test(url.protocol)) {
        throw new Error(`${JSON.stringify(expanded)} is not an http or https URL`);
      }
      return expanded;
    },
  };
}

/** An IP address to serve on, in brackets or not; empty is every address. */
export function addressFlag(initial: string, help: string): FlagDefinition<string> {
  return {
    ...stringFlag(initial, help, 'ip'),
    parse: (text) => {
      const address = bindAddress(text);
      if (address === EVERY_ADDRESS || isIP(address) !== 0) return text;
      throw new Error('not an IP address');
    },
  };
}

/** A rate that may be left out, and is `usual` then: `--flag`, `--flag=100`; undefined without the flag, and for false. */
export function rateFlag(usual: number, help: string): FlagDefinition<number | undefined> {
  const flag = intFlag(usual, help, { min: 0 });
  return {
    parse: (text) => {
      if (text === 'false') return undefined;
      return text === 'true' ? usual : flag.parse(text, usual, true);
    },
    initial: undefined,
    isBoolean: true,
    help,
    valueName: 'int',
    formatDefault: () => '',
  };
}

/** The name of an object of the API, or empty. */
export function objectNameFlag(initial: string, help: string): FlagDefinition<string> {
  return {
    ...stringFlag(initial, help, 'name'),
    parse: (text) => {
      if (text !== '' && !isDnsSubdomain(text)) {
        throw new Error('not a lower-case name of letters, digits, "-" and "."');
      }
      return text;
    },
  };
}

/** Name servers, `ip[:port],…` or encrypted ones; the last flag wins. */
export function nameserversFlag(help: string): FlagDefinition<readonly string[]> {
  return {
    parse: (text) => parseNameservers(text),
    initial: [],
    help,
    valueName: 'ip[:port],…',
    formatDefault: () => '',
  };
}

/** Servers, `ip[#port],…`, no more than `max` of them; repeated flags add up. */
export function serversFlag(help: string, max: number): FlagDefinition<readonly ServerAddress[]> {
  return {
    parse: (text, previous) => {
      const servers = [...previous, ...text.split(',').map(parseServer)];
      if (servers.length > max) throw new Error(`more than ${max} servers`);
      return servers;
    },
    initial: [],
    isList: true,
    help,
    valueName: 'ip[#port],…',
    formatDefault: () => '',
  };
}

function parseServer(text: string): ServerAddress {
  const [, address = '', portText] = /^([^#]*)(?:#([0-9]{1,5}))?$/.exec(text.trim()) ?? [];
  const port = Number(portText ?? DNS_PORT);
  if (isIpAddress(address) && port >= 1 && port <= MAX_PORT) return { address, port };
  throw new Error(`${JSON.stringify(text.trim())} is not ip or ip#port`);
}

/** Federations, `name=domain,…`; repeated flags add up. Hidden from the usage, as in the original. */
export function federationsFlag(help: string): FlagDefinition<ReadonlyMap<string, string>> {
  return {
    parse: (text, previous) => new Map([...previous, ...parseFederations(text)]),
    initial: new Map<string, string>(),
    isList: true,
    help,
    valueName: 'name=domain,…',
    isHidden: true,
    formatDefault: () => '',
  };
}
