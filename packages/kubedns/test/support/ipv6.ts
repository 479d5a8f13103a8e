import { it } from '@jest/globals';
import { missingIpv6, unless } from '@kube-dns/testkit';

/** `it` for tests that need the address ::1. */
export const itOverIPv6: typeof it = unless(missingIpv6(), it);
