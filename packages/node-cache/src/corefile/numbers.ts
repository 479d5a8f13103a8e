import { CLASS, RCODE, RCODE_NAMES } from '@kube-dns/wire';

/** Classes by name (RFC 1035 section 3.2.4). */
export const CLASS_NUMBERS: ReadonlyMap<string, number> = new Map([
  ['IN', CLASS.IN],
  ['CS', 2],
  ['CH', CLASS.CH],
  ['HS', 4],
  ['NONE', 254],
  ['ANY', CLASS.ANY],
]);

/** Response codes by name, as CoreDNS has them (IANA registry of DNS RCODEs). */
export const RCODE_NUMBERS: ReadonlyMap<string, number> = new Map([
  ...RCODE_NAMES.map((name, code) => [name, code] as const),
  ['YXDOMAIN', 6],
  ['YXRRSET', 7],
  ['NXRRSET', 8],
  ['NOTAUTH', 9],
  ['NOTZONE', 10],
  ['DSOTYPENI', RCODE.DSOTYPENI],
  ['BADSIG', 16],
  ['BADKEY', 17],
  ['BADTIME', 18],
  ['BADMODE', 19],
  ['BADNAME', 20],
  ['BADALG', 21],
  ['BADTRUNC', 22],
  ['BADCOOKIE', RCODE.BADCOOKIE],
]);
