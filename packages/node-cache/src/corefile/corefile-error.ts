import { CodedError } from '@kube-dns/base';

/** A Corefile that cannot be read or is not obeyed; each mistake names the file, the line and the reason. */
export class CorefileError extends CodedError {
  readonly mistakes: readonly string[];

  constructor(message: string, options?: ErrorOptions, mistakes: readonly string[] = [message]) {
    super('corefile', message, options);
    this.mistakes = mistakes;
  }
}
