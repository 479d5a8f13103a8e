import type { ServiceState } from './service-model.js';

interface Version {
  readonly state: ServiceState | undefined;
  /** From when the API server may have had it: the request was sent. */
  readonly sentUs: number;
  /** From when it has had it: the request was answered. */
  settledUs: number;
}

/** The states that each service has had, and when. */
export class ServiceHistory {
  readonly #versions = new Map<string, Version[]>();
  readonly #keptUs: number;

  /** States that ended longer than `keptUs` ago are forgotten. */
  constructor(keptUs: number) {
    this.#keptUs = keptUs;
  }

  /** A request that makes this state was sent; the result says when it was answered. */
  begin(service: string, state: ServiceState | undefined, nowUs: number): (nowUs: number) => void {
    const versions = this.#versions.get(service) ?? [{ state: undefined, sentUs: 0, settledUs: 0 }];
    this.#versions.set(service, versions);
    const version: Version = { state, sentUs: nowUs, settledUs: Number.POSITIVE_INFINITY };
    versions.push(version);
    return (settledUs) => {
      version.settledUs = settledUs;
      const first = versions.findIndex((_, at) => {
        const next = versions[at + 1];
        return next === undefined || next.settledUs > settledUs - this.#keptUs;
      });
      versions.splice(0, first);
    };
  }

  /** All states that a service may have had at a time between two. */
  between(service: string, fromUs: number, toUs: number): (ServiceState | undefined)[] {
    const versions = this.#versions.get(service);
    if (versions === undefined) return [undefined];
    return versions
      .filter((version, at) => {
        const endUs = versions[at + 1]?.settledUs ?? Number.POSITIVE_INFINITY;
        return version.sentUs <= toUs && endUs >= fromUs;
      })
      .map(({ state }) => state);
  }

  /** The last state; undefined when the service does not exist. */
  current(service: string): ServiceState | undefined {
    return this.#versions.get(service)?.at(-1)?.state;
  }
}
