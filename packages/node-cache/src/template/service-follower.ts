import { errorText } from '@kube-dns/base';
import { type Log } from '@kube-dns/daemon';
import type { LookupService } from './service-address.js';
import type { ServiceApi } from './service-api.js';

export interface ServiceFollowerOptions {
  readonly service: string;
  /** What is known without the API server. */
  readonly first: LookupService;
  readonly api: Pick<ServiceApi, 'addressOf'>;
  /** Whether the service is not known, or does not answer. */
  readonly isLost: () => boolean;
  /** The service has another address. */
  readonly onChange: () => void;
  readonly log: Pick<Log, 'warn'>;
}

/** How often it is looked whether the service is lost, and how often the API server is asked then. */
const LOOK_MS = 1_000;
const LOOKS_BETWEEN = 10;

/** The address of the DNS of the cluster: looked up again while it does not answer, as a service that is made anew has another. */
export class ServiceFollower {
  readonly #options: ServiceFollowerOptions;
  #address: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looks = 0;
  #lastFailure = '';

  constructor(options: ServiceFollowerOptions) {
    this.#options = options;
  }

  /** As a LookupService. */
  readonly lookup: LookupService = (service) =>
    service === this.#options.service && this.#address !== undefined
      ? this.#address
      : this.#options.first(service);

  start(): void {
    this.#timer ??= setInterval(() => void this.look(), LOOK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Asks the API server if the service is lost for the second time in a row, and then every ten times. Never rejects. */
  async look(): Promise<void> {
    const { service, api, isLost, log, onChange } = this.#options;
    if (!isLost()) {
      this.#looks = 0;
      return;
    }
    if (this.#looks++ % LOOKS_BETWEEN !== 1) return;
    try {
      const address = await api.addressOf(service);
      this.#lastFailure = '';
      if (address === this.lookup(service)) return;
      this.#address = address;
      onChange();
    } catch (error) {
      const failure = errorText(error);
      if (failure === this.#lastFailure) return;
      this.#lastFailure = failure;
      log.warn(`the address of service ${service} cannot be looked up: ${failure}`);
    }
  }
}
