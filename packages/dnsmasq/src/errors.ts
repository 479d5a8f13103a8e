/** A mistake on dnsmasq's half of the command line; the message names the option and the reason. */
export class OptionError extends Error {
  readonly code = 'bad-option';

  constructor(message: string) {
    super(message);
    this.name = 'OptionError';
  }
}
