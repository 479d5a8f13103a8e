// Why node-cache answers as it does, as options of answers to clients with EDNS (RFC 8914).
import { EXTENDED_ERROR, extendedErrorOption } from '@kube-dns/wire';

/** No block has the name. */
export const NO_ZONE = extendedErrorOption(
  EXTENDED_ERROR.NOT_AUTHORITATIVE,
  'no server block has it',
);
/** Of `hosts` without `fallthrough`. */
export const NOT_IN_HOSTS = extendedErrorOption(EXTENDED_ERROR.OTHER, 'not in hosts');
/** The block does not forward it: it has no `forward`, or an `except`. */
export const NOT_FORWARDED = extendedErrorOption(
  EXTENDED_ERROR.OTHER,
  'the Corefile forwards it nowhere',
);
/** The address of the cluster's DNS is not known yet, or the resolv file names no server. */
export const NO_SERVERS = extendedErrorOption(EXTENDED_ERROR.NOT_READY, 'no name servers');
/** Class CHAOS. */
export const NO_CHAOS = extendedErrorOption(EXTENDED_ERROR.NOT_SUPPORTED);
