import { UDP_ENGINES } from '@kube-dns/transport';
import { OptionError } from '../errors.js';
import { shortNumber, wholeNumber } from './number-value.js';
import { flag, list, type OptionDefinition, setting } from './option-definition.js';
import type { OptionsDraft } from './option-values.js';
import { parseReverseServer } from './reverse-zone.js';
import { parseServerRule } from './server-value.js';

/** dnsmasq's own limits and defaults (src/config.h, src/option.c). */
const MIN_FAST_RETRY_MS = 50;
const FAST_RETRY_MS = 1_000;
const FAST_RETRY_LIMIT_MS = 10_000;

const serverRule = (draft: OptionsDraft, value: string) =>
  void draft.serverRules.push(parseServerRule(value));

/** Which servers queries are forwarded to, and how. */
export const FORWARDING_OPTIONS: readonly OptionDefinition[] = [
  flag('all-servers', '', 'ask all servers at the same time', (draft) => {
    draft.asksAllServers = true;
  }),
  flag('clear-on-reload', '', 'empty the cache when the resolv file changes', (draft) => {
    draft.clearsOnReload = true;
  }),
  setting(
    'dns-forward-max',
    '0',
    'maximum of questions in flight (default 1500)',
    (draft, value) => {
      draft.maxInFlight = wholeNumber(value);
    },
  ),
  flag('dns-loop-detect', '', 'find and drop servers that send queries back', (draft) => {
    draft.detectsLoops = true;
  }),
  setting(
    'fast-dns-retry',
    '',
    'ms before the first retransmission[,ms until the last] (default 1000,10000)',
    (draft, value) => {
      const [first = FAST_RETRY_MS, limit = FAST_RETRY_LIMIT_MS] =
        value === '' ? [] : value.split(',').map((number) => wholeNumber(number));
      if (first < MIN_FAST_RETRY_MS) throw new OptionError(`${first} ms are too few`);
      draft.fastRetry = { firstMs: first, limitMs: limit };
    },
    'optional',
  ),
  list('local', '', 'same as server', serverRule),
  setting('max-port', '', 'highest source port of queries (default 65535)', (draft, value) => {
    draft.maxPort = shortNumber(value);
  }),
  setting('min-port', '', 'lowest source port of queries (default 1024)', (draft, value) => {
    draft.minPort = shortNumber(value);
  }),
  flag('no-poll', 'n', 'read the resolv file on SIGHUP only', (draft) => {
    draft.followsResolvFile = false;
  }),
  flag('no-resolv', 'R', 'do not read the resolv file', (draft) => {
    draft.usesResolvFile = false;
  }),
  setting(
    'port-limit',
    '',
    'from how many source ports one question may be sent',
    (draft, value) => {
      const number = wholeNumber(value);
      if (number === 0) throw new OptionError('it cannot be 0');
      draft.portLimit = number;
    },
  ),
  flag('proxy-dnssec', '', 'copy the AD bit (DNSSEC validated) of upstream replies', (draft) => {
    draft.passesAd = true;
  }),
  setting(
    'query-port',
    'Q',
    'source port of all queries; 0 lets the system choose it once',
    (draft, value) => {
      draft.queryPort = shortNumber(value);
    },
  ),
  setting(
    'query-timeout',
    '',
    'extension: milliseconds before an unanswered query gets SERVFAIL (default 4500)',
    (draft, value) => {
      draft.queryTimeoutMs = Math.max(wholeNumber(value), 1);
    },
  ),
  setting(
    'udp-engine',
    '',
    `extension: how datagrams move: ${UDP_ENGINES.join(', ')} (default auto)`,
    (draft, value) => {
      const choice = UDP_ENGINES.find((engine) => engine === value);
      if (choice === undefined) {
        throw new OptionError(`${JSON.stringify(value)} is none of ${UDP_ENGINES.join(', ')}`);
      }
      draft.udpEngine = choice;
    },
  ),
  list(
    'resolv-file',
    'r',
    'file with the default name servers; empty is none (default /etc/resolv.conf)',
    (draft, value) => {
      draft.resolvFile = value;
      if (value !== '') draft.resolvFiles.push(value);
    },
    'optional',
  ),
  list(
    'rev-server',
    '',
    'IP[/bits],server: forward reverse names of these addresses to this server',
    (draft, value) => {
      draft.serverRules.push(parseReverseServer(value));
    },
  ),
  list(
    'server',
    'S',
    '[/domain/…/]IP[#port][@source]: forward queries to this server; extension: tls://host[#port][%name], https://host[:port]/path',
    serverRule,
  ),
  setting('servers-file', '', 'file of server lines, read again on SIGHUP', (draft, value) => {
    draft.serversFile = value;
  }),
  flag('strict-order', 'o', 'ask servers in their order', (draft) => {
    draft.isStrictOrder = true;
  }),
  setting(
    'tls-ca',
    '',
    'extension: file with the authorities of tls:// and https:// servers, as PEM (default: those of the system)',
    (draft, value) => {
      draft.tlsCaFile = value;
    },
  ),
  flag(
    'use-0x20',
    '',
    'extension: random case for the names of queries; the reply must have the same',
    (draft) => {
      draft.mixesCase = true;
    },
  ),
];

/** The options that a servers file may have (src/option.c, LOPT_SERVERS_FILE). */
export const SERVERS_FILE_OPTIONS: ReadonlySet<string> = new Set(['server', 'rev-server']);
