import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { addressRecords, ScriptedNameServer, until } from '@kube-dns/testkit';
import { ServerHosts, type ServerHostsOptions, UpstreamSockets } from '@kube-dns/transport';
import { type RecordedLog, recordedLog } from './support/recorded-log.js';

const NS = 'ns.example.com';
const PACE = { minMs: 20, maxMs: 20, retryMs: 20, deadlineMs: 60_000 };

let server: ScriptedNameServer;
let log: RecordedLog;
let sockets: UpstreamSockets;
let hosts: ServerHosts;
let changes: number;
beforeEach(async () => {
  server = await ScriptedNameServer.start();
  log = recordedLog();
  changes = 0;
  sockets = new UpstreamSockets();
  hosts = create();
});
afterEach(async () => {
  hosts.close();
  hosts.close();
  sockets.close();
  await server.close();
});

function create(options: Partial<ServerHostsOptions> = {}): ServerHosts {
  return new ServerHosts({
    log,
    sockets,
    serversFor: () => [{ address: '127.0.0.1', port: server.port }],
    onChange: () => changes++,
    pace: PACE,
    ...options,
  });
}

const says = (type: 'A' | 'AAAA', ...addresses: string[]) =>
  server.respond(`${NS} ${type}`, {
    answers: addresses.map((data) => ({ type, name: NS, ttl: 0, data })),
  });
const resolved = (...addresses: string[]) =>
  until(addresses.join(), () => hosts.addressesOf(NS).join() === addresses.join());

describe('ServerHosts', () => {
  it('has the addresses of both families, IPv4 first, and those after a CNAME', async () => {
    says('AAAA', 'fd00::1');
    server.respond(`${NS} A`, {
      answers: [
        { type: 'CNAME', name: NS, ttl: 60, data: 'ns.example.net' },
        { type: 'A', name: 'ns.example.net', ttl: 60, data: '192.0.2.1' },
      ],
    });
    hosts.follow(new Set([NS]));
    expect(hosts.addressesOf(NS)).toEqual([]);
    await resolved('192.0.2.1', 'fd00::1');
    expect(changes).toBe(1);
    expect(log.lines).toEqual([`I the server ${NS} is at 192.0.2.1, fd00::1`]);
  });

  it('asks again when the TTL is over', async () => {
    says('A', '192.0.2.1');
    hosts.follow(new Set([NS]));
    await resolved('192.0.2.1');
    says('A', '192.0.2.2', '192.0.2.3');
    await resolved('192.0.2.2', '192.0.2.3');
  });

  it('asks again after a failure, which it logs once', async () => {
    // SERVFAIL would be remembered for a second.
    server.respond(`${NS} A`, { rcode: 'NXDOMAIN' });
    hosts.follow(new Set([NS]));
    await until('three tries', () => server.asked.length > 8);
    says('A', '192.0.2.1');
    await resolved('192.0.2.1');
    const failures = log.lines.filter((line) => line.startsWith('W'));
    expect(failures).toHaveLength(1);
    expect(failures[0]).toMatch(/cannot resolve the server ns\.example\.com: the answer is /);
  });

  it('retains the addresses while no server answers', async () => {
    says('A', '192.0.2.1');
    hosts.follow(new Set([NS]));
    await resolved('192.0.2.1');
    for (const type of ['A', 'AAAA']) server.respond(`${NS} ${type}`, { rcode: 'SERVFAIL' });
    await until('a failure', () => log.lines.some((line) => line.startsWith('W')));
    expect(hosts.addressesOf(NS)).toEqual(['192.0.2.1']);
  });

  it('treats a name without addresses as a failure', async () => {
    server.respond(`${NS} A`, {});
    server.respond(`${NS} AAAA`, {});
    hosts.follow(new Set([NS]));
    const line = `W cannot resolve the server ${NS}: it has no address`;
    await until('the log line', () => log.lines.includes(line));
  });

  it('tries again when there is no name server yet', async () => {
    let isThere = false;
    says('A', '192.0.2.1');
    hosts = create({
      serversFor: () => (isThere ? [{ address: '127.0.0.1', port: server.port }] : []),
    });
    hosts.follow(new Set([NS]));
    expect(log.lines[0]).toMatch(
      /there is no name server to ask; write its address in place of its name /,
    );
    isThere = true;
    await resolved('192.0.2.1');
  });

  it('drops names that are not followed any more, and retains the addresses of the others', async () => {
    says('A', '192.0.2.1');
    hosts.follow(new Set([NS]));
    await resolved('192.0.2.1');
    hosts.follow(new Set([NS, 'other.example.com']));
    expect(hosts.addressesOf(NS)).toEqual(['192.0.2.1']);
    hosts.follow(new Set());
    expect(hosts.addressesOf(NS)).toEqual([]);
  });

  it('does not follow more than 64 names', () => {
    server.script = () => null;
    hosts.follow(new Set(Array.from({ length: 70 }, (_, i) => `ns${i}.example.com`)));
    expect(log.lines[0]).toBe('W 70 servers by name; only the first 64 are used');
  });

  describe('with 64 names', () => {
    const names = Array.from({ length: 64 }, (_, i) => `ns${i}.example.com`);
    /** Large enough that nothing is asked twice. */
    const ONCE = { minMs: 60_000, maxMs: 60_000, retryMs: 60_000, deadlineMs: 60_000 };

    it('outsider 2: asks for one in a turn of the event loop', async () => {
      const asked: string[] = [];
      hosts = create({
        pace: ONCE,
        serversFor: (host) => {
          asked.push(host);
          return [];
        },
      });
      hosts.follow(new Set(names));
      for (let turns = 1; turns < names.length; turns++) {
        expect(asked.length).toBeLessThanOrEqual(turns);
        await new Promise(setImmediate);
      }
      await until('all', () => asked.length === names.length);
    });

    it('outsider 2: changes are reported together, not one by one', async () => {
      server.script = ({ type }) =>
        type === 'A' ? { answers: addressRecords(0, '192.0.2.1') } : {};
      hosts = create({ pace: ONCE });
      const startMs = performance.now();
      hosts.follow(new Set(names));
      await until('all', () => names.every((name) => hosts.addressesOf(name).length > 0));
      await until('the report', () => changes > 0);
      // One in 50 ms, and one when the last answer is there.
      expect(changes).toBeLessThanOrEqual((performance.now() - startMs) / 50 + 1);
      expect(changes).toBeLessThan(32);
    });

    it('outsider 2: those that fail for one reason are one line', async () => {
      hosts = create({ pace: ONCE, serversFor: () => [] });
      hosts.follow(new Set(names));
      const failed = () => log.lines.filter((line) => line.startsWith('W'));
      const count = () =>
        failed().reduce(
          (sum, line) => sum + Number(/resolve (\d+) servers/.exec(line)?.[1] ?? 1),
          0,
        );
      await until('all', () => count() === names.length);
      expect(failed().length).toBeLessThan(16);
      expect(failed()[0]).toMatch(
        /^W cannot resolve \d+ servers, ns0\.example\.com, .*: there is no/,
      );
    });
  });

  it('asks no server once it is closed', async () => {
    says('A', '192.0.2.1');
    hosts.follow(new Set([NS]));
    await resolved('192.0.2.1');
    hosts.close();
    const other = create();
    other.follow(new Set(['other.example.com']));
    // What was sent before the close arrives first.
    const isOther = (asked: string) => asked.startsWith('other.');
    await until('later questions', () => server.asked.filter(isOther).length > 4);
    other.close();
    const later = server.asked.slice(server.asked.findIndex(isOther));
    expect(later.filter((asked) => asked.startsWith(NS))).toEqual([]);
  });
});
