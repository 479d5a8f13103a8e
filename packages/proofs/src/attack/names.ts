import { HEADLESS_SERVICE, serviceName } from '../fixtures/api-server.js';

/** The cluster's services, all asked for by honest clients: fewer than dnsmasq caches. */
export const SERVICES = 200;
/** Of the headless service: its addresses make an answer of 6 KiB. */
export const PODS = 400;

const SERVICE_ZONE = 'svc.cluster.local';

/** What honest clients ask for: each is in dnsmasq's cache once it was asked for. */
export const HONEST_NAMES: readonly string[] = Array.from(
  { length: SERVICES },
  (_, i) => `${serviceName(i)}.default.${SERVICE_ZONE}`,
);

export const LARGE_NAME = `${HEADLESS_SERVICE}.default.${SERVICE_ZONE}`;

/** The domains of the attackers' questions; the name of each describes its server. */
export const DOMAINS = {
  cluster: `default.${SERVICE_ZONE}`,
  /** No name of it exists. */
  missing: 'missing.example',
  /** Every name of it has a cacheable address. */
  wide: 'wide.example',
  /** Its answers take two seconds. */
  slow: 'slow.example',
  /** Its answers are malformed, or as large and as nested as an answer can be. */
  bomb: 'bomb.example',
  /** A stub domain whose server never answers. */
  dead: 'dead.example',
  /** A stub domain whose server never answers, and in whose name others do. */
  silent: 'silent.example',
  /** Its server leaves one name unanswered, and forged replies for it come with random IDs to random ports. */
  birthday: 'birthday.example',
} as const;

/** The address in all forged answers, and in no other. */
export const FORGED_ADDRESS = [203, 0, 113, 66] as const;
