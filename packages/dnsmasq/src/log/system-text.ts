import { errorText, systemReason } from '@kube-dns/base';

/**
 * The reason of a failed system call as the C library words it, which dnsmasq's users expect; the message of
 * any other error as it is.
 */
export function systemText(error: unknown): string {
  const reason = systemReason(error);
  if (reason === errorText(error)) return reason;
  return reason.charAt(0).toUpperCase() + reason.slice(1);
}
