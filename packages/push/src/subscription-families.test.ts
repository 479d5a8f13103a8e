import { expect, it } from '@jest/globals';
import { metricPrefix, renderFamilies } from '@kube-dns/daemon';
import { subscriptionFamilies } from './subscriber.js';
import { subscriptionRow } from './testing/index.js';

it('the metrics of subscriptions leave out servers that never announced changes', async () => {
  const lastSeenMs = performance.now();
  const rows = [
    subscriptionRow({
      zones: ['a', 'b'],
      lastSeenMs,
      changedMs: lastSeenMs,
      pinnedAnswers: 3,
      zoneAnswers: 4,
      droppedAnswers: 5,
    }),
    subscriptionRow({ server: 'down#53', state: 'down' }),
    subscriptionRow({ server: 'other#53', state: 'unsupported' }),
  ];
  const text = await renderFamilies(subscriptionFamilies(metricPrefix('dnsmasq'), () => rows));
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const ages = lines.filter((line) => line.includes('age_seconds'));
  expect(ages).toEqual([
    expect.stringMatching(
      /^dnsmasq_subscription_change_age_seconds\{server="127.0.0.1#10053"\} \d/,
    ),
    expect.stringMatching(
      /^dnsmasq_subscription_message_age_seconds\{server="127.0.0.1#10053"\} \d/,
    ),
  ]);
  const here = 'server="127.0.0.1#10053"';
  const events = (server: string) => [
    `dnsmasq_subscription_events_total{${server},event="started"} 1`,
    `dnsmasq_subscription_events_total{${server},event="lost"} 0`,
    `dnsmasq_subscription_events_total{${server},event="changed"} 0`,
  ];
  const flushes = (server: string) => [
    `dnsmasq_subscription_flushes_total{${server},reason="new-subscription"} 1`,
    `dnsmasq_subscription_flushes_total{${server},reason="by-server"} 0`,
    `dnsmasq_subscription_flushes_total{${server},reason="missed-message"} 0`,
  ];
  const down = 'server="down#53"';
  expect(lines.filter((line) => !ages.includes(line))).toEqual([
    `dnsmasq_subscription_coverage_ratio{${here}} 0.75`,
    `dnsmasq_subscription_dropped_answers_total{${here}} 5`,
    `dnsmasq_subscription_dropped_answers_total{${down}} 0`,
    ...events(here),
    ...events(down),
    ...flushes(here),
    ...flushes(down),
    `dnsmasq_subscription_kept_answers{${here}} 3`,
    `dnsmasq_subscription_kept_answers{${down}} 0`,
    `dnsmasq_subscription_live{${here},zone="a"} 1`,
    `dnsmasq_subscription_live{${here},zone="b"} 1`,
    `dnsmasq_subscription_live{${down},zone="cluster.local"} 0`,
    `dnsmasq_subscription_zone_answers{${here}} 4`,
    `dnsmasq_subscription_zone_answers{${down}} 0`,
  ]);
});
