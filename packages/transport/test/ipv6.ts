import { it } from '@jest/globals';
import { needsIpv6, unless } from '@kube-dns/testkit';

/** Whether this machine has the address ::1. */
export const HAS_IPV6 = needsIpv6() === undefined;

/** `it` for tests that need the address ::1. */
export const itOverIPv6: typeof it = unless(needsIpv6(), it);
