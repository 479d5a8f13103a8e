// Why the program answers as it does, as options of answers to clients with EDNS (RFC 8914).
import { EXTENDED_ERROR, extendedErrorOption } from '@kube-dns/wire';

/** The zone is incomplete: a client would cache a negative answer. */
export const NOT_READY = extendedErrorOption(
  EXTENDED_ERROR.NOT_READY,
  'no list of the cluster yet',
);
/** Of a federated name, while the zone and region of this node are not known. */
export const UNAVAILABLE = extendedErrorOption(
  EXTENDED_ERROR.NOT_READY,
  'zone of this node unknown',
);
/** A wildcard has more names than are looked at. */
export const UNFINISHED = extendedErrorOption(EXTENDED_ERROR.OTHER, 'too many names match');
/** The address of a pod is part of the name; whether there is such a pod is not looked up. */
export const POD_NAME = extendedErrorOption(EXTENDED_ERROR.SYNTHESIZED, 'address from the name');
export const NO_TRANSFERS = extendedErrorOption(EXTENDED_ERROR.NOT_SUPPORTED, 'no zone transfers');
/** A class or a name of class CHAOS that this server has nothing of. */
export const NOT_OURS = extendedErrorOption(EXTENDED_ERROR.NOT_AUTHORITATIVE);
export const NO_SERVERS = extendedErrorOption(EXTENDED_ERROR.NETWORK_ERROR, 'no name servers');
/** The target of an ExternalName has no answer. */
export const NO_TARGET = extendedErrorOption(EXTENDED_ERROR.NETWORK_ERROR, 'target of the CNAME');
