import { expect, it } from '@jest/globals';
import { AnswerCache } from '../cache/answer-cache.js';
import { neverHeard } from '../cache/kept-entries.js';
import { parseServerRule } from '../options/server-value.js';
import { Subscriptions } from './subscriptions.js';

it('subscribes to the servers of domains that are asked in plain text without a source', () => {
  const rules = [
    '/a.test/192.0.2.1',
    '/b.test/192.0.2.2@eth0',
    '/c.test/tls://192.0.2.3',
    '/d.test/https://192.0.2.4/q',
  ];
  const heardAt = neverHeard();
  const subscriptions = new Subscriptions({
    rules: rules.map(parseServerRule),
    own: { ownAddresses: [] },
    isEnabled: true,
    cache: new AnswerCache({ maxRecords: 10, heardAt }),
    heardAt,
    onChange: () => undefined,
    onLive: () => undefined,
    log: { info: () => undefined, warn: () => undefined },
  });
  expect(subscriptions.servers.map(({ text }) => text)).toEqual(['192.0.2.1#53']);
});
