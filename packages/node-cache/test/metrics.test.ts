import { afterEach, expect, it } from '@jest/globals';
import { renderFamilies } from '@kube-dns/daemon';
import { addressRecords, ask, encodeReply, ownedBy } from '@kube-dns/testkit';
import { Telemetry } from '@kube-dns/telemetry';
import { metricFamilies } from '../src/metric-families.js';
import { holdTime } from './support/held-time.js';
import { labelsByMetric, ORIGINAL_METRICS, seriesTwice } from './support/original-metrics.js';
import { Testbed } from './support/testbed.js';

const opened = ownedBy(afterEach);
holdTime();
const ZONE = '.:PORT {\n    errors\n    cache 30\n    forward . UPSTREAM\n}\n';
const TCP = ZONE.replace('.:', 'cluster.local:').replace(
  'UPSTREAM',
  'UPSTREAM {\n        force_tcp\n    }',
);

async function page(testbed: Testbed): Promise<string> {
  const noErrors = { iptables: 0, iptables_lock: 0, interface_add: 0, interface_check: 0 };
  return renderFamilies(
    metricFamilies({
      server: testbed.server,
      telemetry: new Telemetry(),
      facts: { version: '1.2.3', unexpectedErrors: () => 0 },
      source: { errors: { configmap: 0, refused: 0 } },
      network: { errors: noErrors, state: { hasRules: false } as never },
    }),
  );
}

it('has every metric of the original with its labels, and no series twice', async () => {
  const testbed = opened(
    await Testbed.create(() => ({ answers: [{ type: 'A', ttl: 30, data: '10.0.0.1' }] })),
  );
  await testbed.serve(TCP + ZONE);
  // One server that is asked both ways.
  for (const name of ['a.cluster.local', 'a.example']) await ask(testbed.port, name);
  await ask(testbed.port, { name: 'b.example', ednsBytes: 1_232, isDnssecOk: true });
  const text = await page(testbed);
  const labels = labelsByMetric(text);
  for (const [name, expected] of Object.entries(ORIGINAL_METRICS)) {
    expect([name, labels[name]]).toEqual([name, [...expected].sort()]);
  }
  expect(seriesTwice(text)).toEqual([]);
  expect(text).toMatch(/coredns_dns_do_requests_total\{.*zone="\.".*\} 1\n/);
  const replies = /coredns_proxy_request_duration_seconds_count\{.*rcode="NOERROR".*\} (\d+)/;
  expect(replies.exec(text)?.[1]).toBe('3');
});

it('attack 1: counts a port where IDs are guessed', async () => {
  const testbed = opened(
    await Testbed.create((request) => {
      const response = { answers: addressRecords(30, '10.0.0.1') };
      if (request.protocol === 'tcp' || request.count > 0) return response;
      const reply = encodeReply(request.query, response);
      const guess = Buffer.from(reply);
      guess.writeUInt16BE(reply.readUInt16BE() ^ 1);
      return [guess, reply];
    }),
  );
  await testbed.serve(ZONE);
  expect(await page(testbed)).toContain('\nnodecache_upstream_guessed_ports_total 0\n');
  expect((await ask(testbed.port, 'a.example')).texts).toEqual(['A 10.0.0.1']);
  expect(await page(testbed)).toContain('\nnodecache_upstream_guessed_ports_total 1\n');
});
