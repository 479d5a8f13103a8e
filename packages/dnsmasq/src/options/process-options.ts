import { isIP } from 'node:net';
import { OptionError } from '../errors.js';
import { shortNumber, wholeNumber } from './number-value.js';
import { fields, flag, list, type OptionDefinition, setting } from './option-definition.js';

const MIN_UDP_BYTES = 512;
const MAX_UDP_BYTES = 65_535;
/** Facilities of syslog(3); there is no syslog in a container, so all of them mean stderr. */
const FACILITIES =
  /^(?:-|kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local[0-7])$/i;

const accepted = () => undefined;

/** Listening addresses, logging and the process itself. */
export const PROCESS_OPTIONS: readonly OptionDefinition[] = [
  flag(
    'bind-dynamic',
    '',
    'one socket per address, also for addresses that are added later',
    (draft) => {
      draft.binding = 'dynamic';
    },
  ),
  flag('bind-interfaces', 'z', 'one socket per address', (draft) => {
    draft.binding = 'interfaces';
  }),
  setting('edns-packet-max', 'P', 'largest UDP answer in bytes (default 1232)', (draft, value) => {
    draft.maxUdpBytes = Math.min(Math.max(wholeNumber(value), MIN_UDP_BYTES), MAX_UDP_BYTES);
  }),
  fields('except-interface', 'I', 'interface that is not served', (draft, values) => {
    draft.exceptInterfaces.push(...values.filter(Boolean));
  }),
  setting('group', 'g', 'accepted: the user of the process does not change', accepted, 'optional'),
  fields('interface', 'i', 'interface to serve on, in addition to loopback', (draft, values) => {
    draft.interfaces.push(...values.filter(Boolean));
  }),
  flag('keep-in-foreground', 'k', 'accepted: it always stays in the foreground', accepted),
  fields(
    'listen-address',
    'a',
    'address to serve on (default all, IPv4 and IPv6)',
    (draft, values) => {
      for (const address of values) {
        if (isIP(address) === 0) throw new OptionError(`bad address ${JSON.stringify(address)}`);
        draft.listenAddresses.push(address);
      }
    },
  ),
  setting(
    'local-service',
    '',
    'answer only clients of networks that this machine is in: net (default) or host',
    (draft, value) => {
      if (value !== '' && value !== 'net' && value !== 'host') {
        throw new OptionError(`${JSON.stringify(value)} is neither net nor host`);
      }
      draft.localService = value === 'host' ? 'host' : 'net';
    },
    'optional',
  ),
  setting(
    'log-async',
    '',
    'accepted: the log never delays answers',
    (_, value) => {
      if (value !== '') wholeNumber(value);
    },
    'optional',
  ),
  setting(
    'log-facility',
    '8',
    'file that the log is appended to; - and syslog facilities mean stderr',
    (draft, value) => {
      if (value.includes('/')) draft.logFile = value;
      else if (FACILITIES.test(value)) draft.logFile = '';
      else throw new OptionError(`no facility ${JSON.stringify(value)}`, 'bad log facility');
    },
  ),
  list(
    'log-queries',
    'q',
    'log queries and answers; extra adds the client and a serial number',
    (draft, value) => {
      draft.logsQueries = value === 'extra' ? 'extra' : 'yes';
    },
    'optional',
  ),
  setting('max-tcp-connections', '', 'maximum of open TCP connections', (draft, value) => {
    const number = wholeNumber(value);
    if (number === 0) throw new OptionError('it cannot be 0');
    draft.maxTcpConnections = number;
  }),
  flag('no-daemon', 'd', 'accepted: it always stays in the foreground', accepted),
  setting('pid-file', 'x', 'accepted: no file is written', accepted, 'optional'),
  setting(
    'port',
    'p',
    'port to serve on, UDP and TCP; 0 takes a free one (default 53)',
    (draft, value) => {
      draft.port = shortNumber(value);
    },
  ),
  flag(
    'reuse-port',
    '',
    'extension: let several processes with this option serve one port',
    (draft) => {
      draft.reusesPort = true;
    },
  ),
  flag(
    'test',
    '',
    'check the options and the files of keys and certificates, and exit',
    (draft) => {
      draft.request = 'test';
    },
  ),
  setting('user', 'u', 'accepted: the user of the process does not change', accepted, 'optional'),
];
