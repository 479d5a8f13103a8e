import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  endPrograms,
  ScriptedNameServer,
  soaRecord,
  STUB_RESOLVERS,
  StubResolver,
  TemporaryFolder,
} from '@kube-dns/testkit';
import { RCODE } from '@kube-dns/wire';
import { serve } from './processes.js';

const MANY = Array.from({ length: 100 }, (_, i) => `10.1.0.${i}`);
/** An upstream server's own cookie, for any client's (RFC 7873 section 4). */
const UPSTREAM_COOKIE = `10 ${'c0'.repeat(24)}`;

const SOA = [soaRecord(60)];

let upstream: ScriptedNameServer;
let folder: TemporaryFolder;

beforeAll(async () => {
  folder = new TemporaryFolder();
  upstream = await ScriptedNameServer.start(({ name, protocol, type }) => {
    if (name.startsWith('no')) return { rcode: RCODE.NXDOMAIN, authorities: SOA };
    if (type === 'AAAA') return { authorities: SOA };
    const isTruncated = name.startsWith('many') && protocol === 'udp';
    const addresses = name.startsWith('many') ? MANY : ['10.0.0.1'];
    const answers = isTruncated ? [] : addressRecords(60, ...addresses);
    return { answers, isTruncated, options: [UPSTREAM_COOKIE] };
  });
});
afterEach(() => endPrograms());
afterAll(async () => {
  await upstream.close();
  await folder.close();
});

/** Several replicas behind one address. */
async function replicas(count: number, ...options: string[]): Promise<number[]> {
  const all = Array.from({ length: count }, () =>
    serve(['-R', '-h', `--server=${upstream.text}`, '--address=/own.example/10.0.0.9', ...options]),
  );
  return (await Promise.all(all)).map(({ port }) => port);
}

describe('a stub resolver', () => {
  const secrets = () => folder.file('secrets', `${'ab'.repeat(16)}\n`);

  /** Misses, hits, truncated answers, denials and names of ours: each lookup rejects at the first time-out. */
  async function lookUpAll(resolver: StubResolver, suffix: string): Promise<void> {
    for (let round = 0; round < 3; round++) {
      const found = async (name: string) => {
        const { rcode, addresses } = await resolver.lookup(`${name}${suffix}.example`);
        return [rcode, [...addresses].sort()];
      };
      expect(await found('web')).toEqual(['NOERROR', ['10.0.0.1']]);
      expect(await found('many')).toEqual(['NOERROR', [...MANY].sort()]);
      expect(await found('no')).toEqual(['NXDOMAIN', []]);
      expect((await resolver.lookup('own.example')).addresses).toEqual(['10.0.0.9']);
    }
  }

  it('has every answer without a time-out, as one with other replicas and secrets has', async () => {
    const ports = await replicas(2);
    for (const [i, name] of STUB_RESOLVERS.entries()) {
      await lookUpAll(new StubResolver(name, ports), String(i));
    }
  });

  it('has every answer of replicas that share their secret', async () => {
    const ports = await replicas(2, `--cookie-secret-file=${secrets()}`);
    for (const name of ['c-ares 1.34', 'c-ares 1.34 dns0x20', 'go'] as const) {
      await lookUpAll(new StubResolver(name, ports), name.replace(/\W/g, ''));
    }
  });
});
