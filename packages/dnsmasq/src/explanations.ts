// Why the program answers as it does, as options of answers to clients with EDNS (RFC 8914).
import { EXTENDED_ERROR, extendedErrorOption } from '@kube-dns/wire';

/** A type of `--filter-A`, `--filter-AAAA` or `--filter-rr`. */
export const FILTERED_TYPE = extendedErrorOption(EXTENDED_ERROR.FILTERED, 'filtered type');
/** Of `--filterwin2k`. */
export const FILTERED_WINDOWS = extendedErrorOption(EXTENDED_ERROR.FILTERED, '--filterwin2k');
/** Of `--bogus-nxdomain`. */
export const BOGUS = extendedErrorOption(EXTENDED_ERROR.BLOCKED, '--bogus-nxdomain');
/** Of `--stop-dns-rebind`. */
export const REBINDING = extendedErrorOption(EXTENDED_ERROR.BLOCKED, '--stop-dns-rebind');
/** Of `--bogus-priv`. */
export const PRIVATE_REVERSE = extendedErrorOption(EXTENDED_ERROR.BLOCKED, '--bogus-priv');
/** Of `--domain-needed`. */
export const PLAIN_NAME = extendedErrorOption(EXTENDED_ERROR.BLOCKED, '--domain-needed');
/** Of `--local=/DOMAIN/`, or a rule of a domain with nothing for the question. */
export const LOCAL_DOMAIN = extendedErrorOption(EXTENDED_ERROR.BLOCKED, 'local domain');
/** Of `--address`. */
export const GIVEN_ADDRESS = extendedErrorOption(EXTENDED_ERROR.FORGED_ANSWER, '--address');
/** Of `--alias`. */
export const ALIASED = extendedErrorOption(EXTENDED_ERROR.FORGED_ANSWER, '--alias');
/** Of `--synth-domain`. */
export const SYNTHESIZED = extendedErrorOption(EXTENDED_ERROR.SYNTHESIZED, '--synth-domain');
/** Of `--allow-notify`: another client. */
export const PROHIBITED = extendedErrorOption(EXTENDED_ERROR.PROHIBITED);
/** The servers of a domain are not known, or none is configured. */
export const NO_SERVERS = extendedErrorOption(EXTENDED_ERROR.NOT_READY, 'no name servers');
/** A name of class CHAOS that has no text. */
export const UNKNOWN_CHAOS = extendedErrorOption(EXTENDED_ERROR.NOT_SUPPORTED);
export const MALFORMED = extendedErrorOption(EXTENDED_ERROR.INVALID_DATA, 'malformed reply');
