import { expect, it } from '@jest/globals';
import { serverText } from '@kube-dns/transport';
import { parseServerRule } from '../options/server-value.js';
import { subscribedServers } from './upstream-options.js';

it('subscribes to the servers of domains that are asked in plain text without a source', () => {
  const rules = [
    '/a.test/192.0.2.1',
    '/b.test/192.0.2.2@eth0',
    '/c.test/tls://192.0.2.3',
    '/d.test/https://192.0.2.4/q',
  ];
  const subscribed = subscribedServers(rules.map(parseServerRule));
  expect(subscribed.map(({ server }) => serverText(server))).toEqual(['192.0.2.1#53']);
});
