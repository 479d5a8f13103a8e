import { CodedError } from '@kube-dns/base';

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
