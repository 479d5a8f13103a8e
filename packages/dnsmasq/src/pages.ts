import type { LocalPage } from '@kube-dns/daemon';

import {
  type Publisher,
  subscribersPage,
  type Subscriptions,
  subscriptionsPage,
} from '@kube-dns/push';
import { explainPage } from '@kube-dns/telemetry';
import { DnsmasqExplainer, type DnsmasqExplainerOptions } from './explain/dnsmasq-explainer.js';

export interface PagesOptions extends DnsmasqExplainerOptions {
  readonly subscriptions: DnsmasqExplainerOptions['subscriptions'] & Pick<Subscriptions, 'rows'>;
  readonly publisher: Publisher;
}

/** The pages of the metrics port, by path. */
export class Pages {
  /** For all that reach the port. */
  readonly all: ReadonlyMap<string, () => string>;
  /** For this machine and this pod alone. */
  readonly local: ReadonlyMap<string, LocalPage>;

  constructor(options: PagesOptions) {
    const { subscriptions, publisher } = options;
    const explainer = new DnsmasqExplainer(options);
    this.all = new Map([
      ['/subscriptions', () => subscriptionsPage(subscriptions.rows())],
      ['/subscribers', () => subscribersPage(publisher)],
    ]);
    this.local = new Map([['/explain', explainPage((question) => explainer.explain(question))]]);
  }
}
