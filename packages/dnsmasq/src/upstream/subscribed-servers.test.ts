import { describe, expect, it } from '@jest/globals';
import { serverText } from '@kube-dns/transport';
import { decodeName } from '@kube-dns/wire';
import { parseOptions } from '../options/parse-options.js';
import { subscribedServers } from './upstream-options.js';

const KUBEDNS = { address: '127.0.0.1', port: 10_053 };

/** Who is asked, and for which zones. */
const asked = (...argv: string[]) =>
  subscribedServers(parseOptions(argv), KUBEDNS).map(
    ({ server, zones }) =>
      `${zones.map((zone) => decodeName(zone)).join(' ')} ${serverText(server)}`,
  );

describe('dnsmasq subscribes', () => {
  it('to the servers of domains that are asked in plain text without a source', () => {
    const servers = [
      '--server=/a.test/192.0.2.1',
      '--server=/b.test/192.0.2.2@eth0',
      '--server=/c.test/tls://192.0.2.3',
      '--server=/d.test/https://192.0.2.4/q',
    ];
    expect(asked(...servers)).toEqual(['a.test 192.0.2.1#53']);
    expect(asked(...servers, '--no-subscribe')).toEqual([]);
    expect(asked(...servers, '--cache-size=0')).toEqual([]);
  });

  it('to no server of all names, such as a public one, unless --subscribe-all says so', () => {
    const servers = ['--server=9.9.9.9', '--server=/#/192.0.2.1', '--server=/a.test/192.0.2.2'];
    expect(asked(...servers)).toEqual(['a.test 192.0.2.2#53']);
    expect(asked(...servers, '--subscribe-all')).toEqual([
      '. 9.9.9.9#53',
      '. 192.0.2.1#53',
      'a.test 192.0.2.2#53',
    ]);
  });

  it('to kubedns, whatever its names', () => {
    expect(asked('--server=127.0.0.1#10053')).toEqual(['. 127.0.0.1#10053']);
  });
});
