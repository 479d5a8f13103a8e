import { networkInterfaces } from 'node:os';
import type { Answerer, SessionService } from '@kube-dns/transport';
import { sessionsBehindLocalService } from '../answer/local-service.js';
import type { DnsmasqOptions } from '../options/option-table.js';

/** What is served beside queries. */
export interface ServedOpcodes {
  /** Undefined where NOTIFY is not implemented. */
  readonly notifies: Answerer | undefined;
  /** Undefined where DNS Stateful Operations are not. */
  readonly sessions: SessionService | undefined;
}

/** What the options allow of it; `subscribers` is undefined where there is nothing to tell. */
export function servedOpcodes(
  options: DnsmasqOptions,
  notifies: Answerer,
  subscribers: SessionService | undefined,
): ServedOpcodes {
  const isTelling = options.tellsChanges && subscribers !== undefined;
  return {
    notifies: options.notifyRules.length > 0 ? notifies : undefined,
    sessions: isTelling
      ? sessionsBehindLocalService(subscribers, options, networkInterfaces())
      : undefined,
  };
}
