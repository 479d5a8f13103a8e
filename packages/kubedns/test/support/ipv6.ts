import { it } from '@jest/globals';
import { needsIpv6, unless } from '@kube-dns/testkit';

/** `it` for tests that need the address ::1. */
export const itOverIPv6: typeof it = unless(needsIpv6(), it);
