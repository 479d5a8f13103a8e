import { readFile } from 'node:fs/promises';
import type { OutgoingHttpHeaders } from 'node:http';
import type * as https from 'node:https';
import { denialAdvice } from '@kube-dns/daemon';
import type { KubeConfig } from '@kubernetes/client-node';

/** Credentials of requests: the only adapter to the credentials of client-node. */
export class Credentials {
  readonly #config: KubeConfig;

  constructor(config: KubeConfig) {
    this.#config = config;
  }

  get server(): string {
    return this.#config.getCurrentCluster()?.server ?? '';
  }

  /** What to do about a refused request, as the end of the line that reports it; empty for another status. */
  adviceFor(status: number, path: string): string {
    return denialAdvice(status, path, this.#config, 'list and watch');
  }

  /** Whether requests go through a proxy; then the request must use the agent of the options. */
  get usesProxy(): boolean {
    return Boolean(this.#config.getCurrentCluster()?.proxyUrl);
  }

  /**
   * Headers and TLS options for one request. Files are read each time (there are few requests), so a
   * replaced token or CA is used from the next request on.
   */
  async requestOptions(): Promise<https.RequestOptions> {
    const options: https.RequestOptions = { headers: {} };
    await this.#config.applyToHTTPSOptions(options);
    const token = await this.#readToken();
    // client-node caches a token for a minute, even a refused one, and never removes its line feed.
    if (token !== undefined) {
      options.headers = {
        ...(options.headers as OutgoingHttpHeaders),
        Authorization: `Bearer ${token}`,
      };
    }
    return options;
  }

  async #readToken(): Promise<string | undefined> {
    const authProvider: unknown = this.#config.getCurrentUser()?.authProvider;
    const path = (authProvider as { config?: { tokenFile?: unknown } } | undefined)?.config
      ?.tokenFile;
    return typeof path === 'string' ? (await readFile(path, 'utf8')).trim() : undefined;
  }
}
