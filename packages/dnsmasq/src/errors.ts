import { CodedError, errorText, systemReason } from '@kube-dns/base';

/**
 * A mistake on dnsmasq's half of the command line or in one of its files. The message names the value
 * and the reason; `words` is dnsmasq's own message, where it has one.
 */
export class OptionError extends CodedError {
  readonly words: string | undefined;

  constructor(message: string, words?: string) {
    super('bad-option', message);
    this.words = words;
  }
}

/** dnsmasq's exit codes for a bad option and for a file that cannot be read (src/dnsmasq.h). */
export const EXIT_BAD_CONFIGURATION = 1;
export const EXIT_BAD_FILE = 3;
/** The same for a script that fails (src/option.c, one_file). */
export const EXIT_BAD_SCRIPT = 10;

/**
 * The reason of a failed system call as the C library words it, which dnsmasq's users expect; the message of
 * any other error as it is.
 */
export function systemText(error: unknown): string {
  const reason = systemReason(error);
  if (reason === errorText(error)) return reason;
  return reason.charAt(0).toUpperCase() + reason.slice(1);
}
