import { describe, expect, it } from '@jest/globals';
import { parseDnsConfig, parseNameservers } from './dns-config.js';
import { ConfigError } from './errors.js';
import { createLog } from './log.js';

const REFUSED = [
  'https://user:hunter2@127.0.0.1/dns-query',
  'tls://user:hunter2@127.0.0.1',
  'user:hunter2@127.0.0.1',
  `https://user:hunter2${'x'.repeat(200)}@127.0.0.1`,
  'https://127.0.0.1/{}?token=hunter2',
];

describe('a line of the log', () => {
  it.each(REFUSED)('has no password of a refused configuration: %s', (server) => {
    const lines: string[] = [];
    const log = createLog({ name: 'test', verbosity: 0, write: (line) => lines.push(line) });
    const refusals = [
      () => parseDnsConfig(new Map([['upstreamNameservers', JSON.stringify([server])]])),
      () => parseDnsConfig(new Map([['stubDomains', JSON.stringify({ 'a.b': [server] })]])),
      () => parseNameservers(server),
    ];
    for (const refuse of refusals) {
      expect(refuse).toThrow(ConfigError);
      try {
        refuse();
      } catch (error) {
        log.error((error as ConfigError).message);
      }
    }
    expect(lines).toHaveLength(3);
    expect(lines.join('')).not.toMatch(/hunter2|user/);
  });
});
