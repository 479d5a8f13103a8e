import type { MetricPage } from '@kube-dns/testkit';
import { encodeKey, writeNotify } from '@kube-dns/wire';
import { type Attack, countText } from './attack.js';
import { HONEST_NAMES } from './names.js';
import type { QueryTemplate } from './query-template.js';

const MESSAGES_PER_SECOND = 5_000;
/** dnsmasq lets so many messages drop answers at once, before it lets 100 a second. */
const BURST = 100;
const FOREIGN = 'notify-foreign';
const ZONE = 'cluster.local';
/** The same names in a zone for which the attacker's address is not allowed. */
const FOREIGN_ZONE = 'foreign.example';

/** What dnsmasq is started with: it takes NOTIFY for the cluster's zone from the attacker, and for the other from no one here. */
export const NOTIFY_ARGS = [
  `--allow-notify=/${ZONE}/127.0.0.0/8`,
  `--allow-notify=/${FOREIGN_ZONE}/192.0.2.53`,
];

function template(name: string): QueryTemplate {
  const soaRdata = new Uint8Array(22);
  const message = writeNotify({
    id: 0,
    name: encodeKey(name),
    apex: encodeKey(ZONE),
    soaRdata,
    ttlSeconds: 30,
  });
  return { message };
}

function flood(name: string, counted: string, what: string, names: readonly string[]): Attack {
  const isForeign = name === FOREIGN;
  return {
    name,
    counted,
    target: 'dnsmasq',
    summary: `${countText(MESSAGES_PER_SECOND, 'NOTIFY/s')} ${what}`,
    start: async ({ pod, attackers, port, strength }) => {
      const before = accepted(await pod.dnsmasq.metrics());
      const sinceMs = performance.now();
      const rate = MESSAGES_PER_SECOND * strength;
      await attackers.flood.call('start', port, rate, names.map(template));
      return {
        finish: async () => {
          const { sent, perSecond, answers } = await attackers.flood.call('finish');
          const drops = accepted(await pod.dnsmasq.metrics()) - before;
          const seconds = (performance.now() - sinceMs) / 1_000;
          return {
            did: `${countText(sent, 'NOTIFY')}, ${countText(answers, 'answers')}`,
            perSecond,
            dropsPerSecond: Math.max(0, drops - BURST) / seconds,
            ...(isForeign && { acceptedNotifies: drops }),
          };
        },
      };
    },
  };
}

function accepted(metrics: MetricPage): number {
  return metrics.sum('dnsmasq_notifies_total', { result: 'accepted' });
}

/** Floods of messages that may drop cached answers (RFC 1996). */
export const NOTIFY_FLOODS: readonly Attack[] = [
  flood(
    'notify',
    'NOTIFY limited',
    'from an allowed address, for the zone and for what honest clients ask',
    [ZONE, ...HONEST_NAMES.slice(0, 16)],
  ),
  flood(FOREIGN, 'NOTIFY refused', 'for a zone that its address is not allowed for', [
    FOREIGN_ZONE,
    `a.${FOREIGN_ZONE}`,
  ]),
];
