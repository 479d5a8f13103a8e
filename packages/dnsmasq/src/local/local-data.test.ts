import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { encodeKey } from '@kube-dns/wire';
import { FILTERED_TYPE } from '../explanations.js';
import { parseServerRule } from '../options/server-value.js';
import type { LocalData } from './local-data.js';
import { answerOf, LocalTestbed, replyByRule, replyOf, ruleOf } from '../../test/local-testbed.js';

let testbed: LocalTestbed;

beforeEach(() => {
  testbed = new LocalTestbed();
});

afterEach(() => testbed.close());

describe('static records', () => {
  it.each([
    ['alias.x', 'A', ['CNAME host.x', 'A 10.0.0.1']],
    ['alias.x', 'TXT', ['CNAME host.x']],
    ['alias.x', 'CNAME', ['CNAME host.x']],
    ['far.x', 'AAAA', ['CNAME Alias.x', 'CNAME host.x', 'AAAA fd00::1']],
    ['nowhere.x', 'A', ['CNAME gone.x']],
    ['text.x', 'TXT', ['TXT a|b']],
    ['text.x', 'A', undefined],
    ['host.x', 'ANY', ['A 10.0.0.1', 'AAAA fd00::1']],
    ['below.text.x', 'TXT', undefined],
  ])('answer for their names: %s %s', async (name, type, expected) => {
    const local = await testbed.load(
      ...[
        '--host-record=host.x,10.0.0.1,fd00::1',
        '--cname=alias.x,host.x',
        '--cname=far.x,Alias.x',
      ],
      ...['--cname=nowhere.x,gone.x', '--txt-record=text.x,a,b'],
    );
    expect(answerOf(local, { name, type })).toEqual(expected);
  });

  it('have the target of each CNAME as the owner of the next record', async () => {
    const local = await testbed.load(
      ...['--cname=far.x,Alias.x', '--cname=alias.x,host.x', '--host-record=host.x,10.0.0.1'],
    );
    const answer = replyOf(local, 'FAR.x');
    expect(answer?.answers.map(({ name }) => name)).toEqual(['FAR.x', 'Alias.x', 'host.x']);
  });

  it('have the TTL that they were given, else that of --local-ttl', async () => {
    const local = await testbed.load(
      '--local-ttl=7',
      '--host-record=a.x,10.0.0.1,60',
      '--cname=b.x,a.x',
    );
    expect(replyOf(local, 'b.x')?.ttls).toEqual([7, 60]);
  });

  it('bring the addresses of their targets', async () => {
    const local = await testbed.load('--mx-host=x,host.x,5', '--host-record=host.x,10.0.0.1');
    const answer = replyOf(local, { name: 'x', type: 'MX' });
    expect(answer?.additionals).toMatchObject([{ name: 'host.x', data: '10.0.0.1' }]);
  });

  it('rotate at each answer, unless --no-round-robin is given', async () => {
    const set = ['--host-record=a.x,10.0.0.1', '--host-record=a.x,10.0.0.2'];
    const turning = await testbed.load(...set);
    const fixed = await testbed.load(...set, '--no-round-robin');
    const firsts = (local: LocalData) =>
      new Set(Array.from({ length: 4 }, () => answerOf(local, 'a.x')![0]));
    expect([firsts(turning).size, firsts(fixed).size]).toEqual([2, 1]);
  });

  it('are not for other classes', async () => {
    const local = await testbed.load('--txt-record=a.x,t');
    expect(answerOf(local, { name: 'a.x', type: 'TXT', class: 'CH' })).toBeUndefined();
  });

  it('name the addresses of an interface', async () => {
    const local = await testbed.load('--interface-name=me.x,lo/4');
    expect(answerOf(local, 'me.x')).toEqual(['A 127.0.0.1']);
    expect(answerOf(local, { name: 'me.x', type: 'AAAA' })).toBeUndefined();
    expect(answerOf(local, { name: '1.0.0.127.in-addr.arpa', type: 'PTR' })).toEqual(['PTR me.x']);
  });

  it('answer a filtered type of a host without asking, with the reason', async () => {
    const local = await testbed.load('--filter-AAAA', '--host-record=a.x,10.0.0.1');
    const question = { name: 'a.x', type: 'AAAA', ednsBytes: 1232 };
    const answer = replyOf(local, question);
    expect(answer?.texts).toEqual([]);
    expect(answer!.bytes.subarray(-FILTERED_TYPE.length)).toEqual(Buffer.from(FILTERED_TYPE));
  });
});

describe('rules', () => {
  it.each([
    ['a.v4.x', 'A', 'A 1.2.3.4'],
    ['a.v4.x', 'AAAA', undefined],
    ['v4.x', 'TXT', undefined],
    ['xv4.x', 'A', undefined],
    ['both.x', 'ANY', 'A 1.1.1.1,AAAA fd00::5'],
    ['zero.x', 'AAAA', 'AAAA ::'],
    ['gone.x', 'TXT', 'NOERROR'],
    ['known.gone.x', 'MX', 'NOERROR'],
    ['a.gone.x', 'A', 'NXDOMAIN'],
    ['above.known.x', 'A', 'NOERROR'],
    ['served.v4.x', 'A', undefined],
    ['mixed.x', 'A', 'A 2.2.2.2'],
    ['mixed.x', 'AAAA', 'NOERROR'],
    ['notwild.x', 'A', 'A 3.3.3.3'],
    ['a.below.y', 'A', 'A 4.4.4.4'],
    ['below.y', 'A', undefined],
    ['plain', 'A', 'A 7.7.7.7'],
    ['.', 'A', undefined],
  ])('answer for the longest domain that has an answer: %s %s', async (name, type, expected) => {
    const local = await testbed.load(
      ...['--address=/v4.x/1.2.3.4', '--address=/both.x/1.1.1.1', '--address=/both.x/fd00::5'],
      ...['--address=/zero.x/#', '--address=/gone.x/', '--txt-record=known.gone.x,t'],
      ...['--server=/served.v4.x/1.1.1.1', '--address=/mixed.x/2.2.2.2', '--local=/mixed.x/'],
      ...['--address=/*wild.x/3.3.3.3', '--address=/*.below.y/4.4.4.4', '--address=//7.7.7.7'],
      ...['--local=/known.x/', '--txt-record=a.above.known.x,t'],
    );
    expect(ruleOf(local, name, type)).toBe(expected);
  });

  it('yield to servers for every name, as those of the resolv file are', async () => {
    const local = await testbed.load('--local=/#/');
    expect(ruleOf(local, 'a.x')).toBe('NXDOMAIN');
    local.useServerRules(['/#/', '1.1.1.1'].map(parseServerRule));
    expect(ruleOf(local, 'a.x')).toBeUndefined();
  });

  it('yield to a longer domain of servers from any source', async () => {
    const local = await testbed.load('--address=/x/1.2.3.4');
    expect(ruleOf(local, 'a.stub.x')).toBe('A 1.2.3.4');
    local.useServerRules([parseServerRule('/stub.x/1.1.1.1')]);
    expect(ruleOf(local, 'a.stub.x')).toBeUndefined();
    local.useServerRules([]);
    expect(ruleOf(local, 'a.stub.x')).toBe('A 1.2.3.4');
  });

  it.each([
    ['3.2.1.10.in-addr.arpa', 'PTR', 'NXDOMAIN'],
    ['10.in-addr.arpa', 'PTR', 'NXDOMAIN'],
    ['1.0.16.172.in-addr.arpa', 'ANY', 'NXDOMAIN'],
    ['d.f.ip6.arpa', 'PTR', 'NXDOMAIN'],
    ['3.2.9.10.in-addr.arpa', 'PTR', undefined],
    ['1.0.64.100.in-addr.arpa', 'PTR', undefined],
    ['c.f.ip6.arpa', 'PTR', undefined],
    ['3.2.1.10.in-addr.arpa', 'A', undefined],
    ['in-addr.arpa', 'PTR', undefined],
    ['1.2.3.4.5.in-addr.arpa', 'PTR', undefined],
    ['01234.in-addr.arpa', 'PTR', undefined],
    ['x.10.in-addr.arpa', 'PTR', undefined],
  ])(
    'do not forward private reverse names with --bogus-priv: %s %s',
    async (name, type, expected) => {
      const local = await testbed.load('--bogus-priv', '--server=/9.10.in-addr.arpa/1.1.1.1');
      expect(ruleOf(local, name, type)).toBe(expected);
    },
  );

  it.each([
    ['plain', 'A', 'NXDOMAIN'],
    ['plain', 'AAAA', 'NXDOMAIN'],
    ['known', 'A', 'NOERROR'],
    ['plain', 'TXT', undefined],
    ['two.labels', 'A', undefined],
    ['.', 'A', undefined],
  ])('do not forward plain names with --domain-needed: %s %s', async (name, type, expected) => {
    const local = await testbed.load('--domain-needed', '--txt-record=known,t');
    expect(ruleOf(local, name, type)).toBe(expected);
  });

  it.each([
    ['a.x', 'SOA', 'NOERROR'],
    ['a.x', 'SRV', 'NOERROR'],
    ['_a.x', 'ANY', 'NOERROR'],
    ['a.x', 'ANY', undefined],
    ['_a.x', 'A', undefined],
  ])(
    'do not forward the questions of old Windows with --filterwin2k: %s %s',
    async (name, type, expected) => {
      expect(ruleOf(await testbed.load('--filterwin2k'), name, type)).toBe(expected);
    },
  );

  it('do not answer anything without options', async () => {
    const local = await testbed.load();
    for (const name of ['a', 'a.x', '1.0.0.10.in-addr.arpa', '.']) {
      expect(ruleOf(local, name)).toBeUndefined();
    }
  });

  it('mark a negative answer as authoritative only where dnsmasq does', async () => {
    const local = await testbed.load('--bogus-priv', '--local=/gone.x/');
    const isAuthoritative = (name: string, type: string) =>
      replyByRule(local, { name, type })?.isAuthoritative;
    expect(isAuthoritative('1.0.0.10.in-addr.arpa', 'PTR')).toBe(true);
    expect(isAuthoritative('gone.x', 'A')).toBe(false);
  });
});

describe('a name', () => {
  it.each([
    ['host.x', true],
    ['hosts.file', true],
    ['x', true],
    ['alias.y', true],
    ['below.host.x', false],
    ['a.lit.z', true],
    ['1.0.0.10.in-addr.arpa', false],
    ['other', false],
  ])(
    'exists by its data, by that below it, or by its domain’s address: %s',
    async (name, expected) => {
      testbed.write('hosts', '10.0.0.2 hosts.file');
      const local = await testbed.load(
        ...['--host-record=host.x,10.0.0.1', '--cname=alias.y,host.x', '--address=/lit.z/1.2.3.4'],
      );
      expect(local.hasName(encodeKey(name))).toBe(expected);
    },
  );
});
