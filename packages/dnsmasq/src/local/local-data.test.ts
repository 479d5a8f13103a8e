import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readUint16 } from '@kube-dns/wire';
import { readAnswer } from '../../test/client.js';
import { keyOf, type Question, queryFor } from '../../test/messages.js';
import { recordedLog, type RecordedLog } from '../../test/recorded-log.js';
import { until } from '../../test/until.js';
import { parseOptions } from '../options/parse-options.js';
import { parseServerRule } from '../options/server-value.js';
import { LocalData } from './local-data.js';

let folder: string;
let log: RecordedLog;
const opened: LocalData[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dnsmasq-local-'));
  log = recordedLog();
});

afterEach(() => {
  for (const local of opened.splice(0)) {
    local.close();
    local.close();
  }
  rmSync(folder, { recursive: true });
});

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** Local data of a command line, read once; /etc/hosts is `hosts` in the folder. */
async function load(...argv: string[]): Promise<LocalData> {
  const local = new LocalData({
    options: parseOptions(argv),
    log,
    etcHosts: join(folder, 'hosts'),
  });
  opened.push(local);
  await local.reload();
  return local;
}

const out = Buffer.alloc(4_096);

function texts(write: (query: ReturnType<typeof queryFor>) => number, question: Question | string) {
  const length = write(queryFor(typeof question === 'string' ? { name: question } : question));
  return length === 0 ? undefined : readAnswer(Buffer.from(out.subarray(0, length)));
}

/** The answer of hosts and static records as texts; undefined when there is none. */
function answerOf(local: LocalData, question: Question | string): readonly string[] | undefined {
  return texts((query) => local.answer(query, out), question)?.texts;
}

/** The answer by rule: its records, or its rcode where there are none; undefined when there is none. */
function ruleOf(local: LocalData, name: string, type = 'A'): string | undefined {
  const answer = texts((query) => local.answerByRule(query, out), { name, type });
  return answer === undefined ? undefined : answer.texts.join() || answer.rcode;
}

describe('/etc/hosts', () => {
  it('is answered from, unless --no-hosts is given', async () => {
    write('hosts', '10.0.0.1 one.x');
    expect(answerOf(await load(), 'One.X')).toEqual(['A 10.0.0.1']);
    expect(answerOf(await load('--no-hosts'), 'one.x')).toBeUndefined();
  });

  it('is only logged when it is not there', async () => {
    expect(answerOf(await load(), 'one.x')).toBeUndefined();
    expect(log.messages[0]).toMatch(`failed to load names from ${join(folder, 'hosts')}: `);
  });
});

describe('hosts files', () => {
  it('are read to the end of the last line, whatever ends the lines', async () => {
    write('hosts', '10.0.0.1 one.x\r\n\r\n# comment\n10.0.0.2\tmore.x # here\n::1 last.x');
    const local = await load();
    expect(answerOf(local, 'one.x')).toEqual(['A 10.0.0.1']);
    expect(answerOf(local, 'more.x')).toEqual(['A 10.0.0.2']);
    expect(answerOf(local, { name: 'last.x', type: 'AAAA' })).toEqual(['AAAA ::1']);
    expect(log.messages).toEqual([`read ${join(folder, 'hosts')} - 3 names`]);
  });

  it('have bad lines, which are logged and passed over', async () => {
    write('hosts', '1.2.3 one.x\nwhat\n10.0.0.1 a..b good.x\n10.0.0.2 next.x\n');
    const local = await load();
    expect(answerOf(local, 'good.x')).toEqual(['A 10.0.0.1']);
    expect(answerOf(local, 'next.x')).toEqual(['A 10.0.0.2']);
    expect(log.messages.slice(0, 3)).toEqual([
      `bad address at ${join(folder, 'hosts')} line 1`,
      `bad address at ${join(folder, 'hosts')} line 2`,
      `bad name at ${join(folder, 'hosts')} line 3`,
    ]);
  });

  it('do not fill the log however bad they are', async () => {
    write('hosts', 'what\n'.repeat(1_000));
    await load();
    expect(log.messages).toHaveLength(12);
    expect(log.messages[10]).toBe(`990 more bad lines in ${join(folder, 'hosts')}`);
  });

  it('may be given as directories, without backups and hidden files', async () => {
    mkdirSync(join(folder, 'more'));
    write('more/a', '10.0.0.1 a.x');
    for (const name of ['.b', 'b~', '#b#']) write(`more/${name}`, '10.0.0.2 b.x');
    const local = await load(`--addn-hosts=${join(folder, 'more')}`);
    expect(answerOf(local, 'a.x')).toEqual(['A 10.0.0.1']);
    expect(answerOf(local, 'b.x')).toBeUndefined();
  });

  it('give an address the first name that it was given', async () => {
    write('hosts', '10.0.0.1 First.x second.x\n10.0.0.1 third.x\nfd00::1 six.x');
    const local = await load('--host-record=other.x,10.0.0.1');
    const reverse = { name: '1.0.0.10.in-addr.arpa', type: 'PTR' };
    expect(answerOf(local, reverse)).toEqual(['PTR other.x']);
    expect(answerOf(await load(), reverse)).toEqual(['PTR First.x']);
    const six = { name: `1.${'0.'.repeat(29)}d.f.ip6.arpa`, type: 'PTR' };
    expect(answerOf(local, six)).toEqual(['PTR six.x']);
  });

  it('are regular files: what may have no end is not read', async () => {
    await load('--addn-hosts=/dev/zero');
    expect(log.messages).toContain('failed to load names from /dev/zero: not a regular file');
  });

  it('may give a name more addresses than an answer has room for', async () => {
    const line = (i: number) => `10.0.${i >> 8}.${i & 255} many.x\nfd00::${i.toString(16)} many.x`;
    write('hosts', Array.from({ length: 5_000 }, (_, i) => line(i)).join('\n'));
    const local = await load();
    expect(answerOf(local, 'many.x')!.length).toBeGreaterThan(100);
    expect(answerOf(local, { name: 'many.x', type: 'AAAA' })!.length).toBeGreaterThan(100);
  });

  it('are read again whole: what is gone is gone', async () => {
    write('hosts', '10.0.0.1 one.x');
    const local = await load();
    write('hosts', '10.0.0.2 two.x');
    await local.reload();
    expect(answerOf(local, 'one.x')).toBeUndefined();
    expect(answerOf(local, { name: '1.0.0.10.in-addr.arpa', type: 'PTR' })).toBeUndefined();
    expect(answerOf(local, 'two.x')).toEqual(['A 10.0.0.2']);
  });

  it('are read as they are when the last of several requests comes', async () => {
    write('hosts', '10.0.0.1 one.x');
    const local = await load();
    const first = local.reload();
    appendFileSync(join(folder, 'hosts'), '\n10.0.0.2 two.x\n');
    await Promise.all([first, local.reload()]);
    expect(answerOf(local, 'two.x')).toEqual(['A 10.0.0.2']);
  });
});

describe('a watched directory of hosts files', () => {
  it('is followed', async () => {
    const path = join(folder, 'watched');
    mkdirSync(path);
    const local = await load(`--hostsdir=${path}`);
    expect(answerOf(local, 'one.x')).toBeUndefined();
    write('watched/one', '10.0.0.1 one.x');
    await until(() => answerOf(local, 'one.x')?.join() === 'A 10.0.0.1');
    rmSync(join(path, 'one'));
    await until(() => answerOf(local, 'one.x') === undefined);
  });

  it('may be made later, and is followed from the next SIGHUP on', async () => {
    const path = join(folder, 'watched');
    const local = await load(`--hostsdir=${path}`);
    expect(log.messages).toContainEqual(expect.stringMatching(`bad dynamic directory ${path}: `));
    mkdirSync(path);
    await local.reload();
    write('watched/one', '10.0.0.1 one.x');
    await until(() => answerOf(local, 'one.x')?.join() === 'A 10.0.0.1');
  });
});

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
    const local = await load(
      ...[
        '--host-record=host.x,10.0.0.1,fd00::1',
        '--cname=alias.x,host.x',
        '--cname=far.x,Alias.x',
      ],
      ...['--cname=nowhere.x,gone.x', '--txt-record=text.x,a,b'],
    );
    expect(answerOf(local, { name, type })).toEqual(expected);
  });

  it('have each alias as the owner of what it leads to', async () => {
    const local = await load(
      ...['--cname=far.x,Alias.x', '--cname=alias.x,host.x', '--host-record=host.x,10.0.0.1'],
    );
    const answer = texts((query) => local.answer(query, out), 'FAR.x');
    expect(answer?.answers.map(({ name }) => name)).toEqual(['FAR.x', 'Alias.x', 'host.x']);
  });

  it('have the TTL that they were given, else that of --local-ttl', async () => {
    const local = await load('--local-ttl=7', '--host-record=a.x,10.0.0.1,60', '--cname=b.x,a.x');
    expect(texts((query) => local.answer(query, out), 'b.x')?.ttls).toEqual([7, 60]);
  });

  it('bring the addresses of their targets', async () => {
    const local = await load('--mx-host=x,host.x,5', '--host-record=host.x,10.0.0.1');
    const answer = texts((query) => local.answer(query, out), { name: 'x', type: 'MX' });
    expect(answer?.additionals).toMatchObject([{ name: 'host.x', data: '10.0.0.1' }]);
  });

  it('are turned at each answer, unless --no-round-robin is given', async () => {
    const set = ['--host-record=a.x,10.0.0.1', '--host-record=a.x,10.0.0.2'];
    const turning = await load(...set);
    const fixed = await load(...set, '--no-round-robin');
    const firsts = (local: LocalData) =>
      new Set(Array.from({ length: 4 }, () => answerOf(local, 'a.x')![0]));
    expect([firsts(turning).size, firsts(fixed).size]).toEqual([2, 1]);
  });

  it('are not for other classes', async () => {
    const local = await load('--txt-record=a.x,t');
    expect(answerOf(local, { name: 'a.x', type: 'TXT', class: 'CH' })).toBeUndefined();
  });

  it('name the addresses of an interface', async () => {
    const local = await load('--interface-name=me.x,lo/4');
    expect(answerOf(local, 'me.x')).toEqual(['A 127.0.0.1']);
    expect(answerOf(local, { name: 'me.x', type: 'AAAA' })).toBeUndefined();
    expect(answerOf(local, { name: '1.0.0.127.in-addr.arpa', type: 'PTR' })).toEqual(['PTR me.x']);
  });

  it('keep a filtered type of a host from being asked for, with the reason', async () => {
    const local = await load('--filter-AAAA', '--host-record=a.x,10.0.0.1');
    const question = { name: 'a.x', type: 'AAAA', ednsBytes: 1232 };
    const answer = texts((query) => local.answer(query, out), question);
    expect(answer?.texts).toEqual([]);
    expect(readUint16(answer!.bytes, answer!.bytes.length - 2)).toBe(17);
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
    const local = await load(
      ...['--address=/v4.x/1.2.3.4', '--address=/both.x/1.1.1.1', '--address=/both.x/fd00::5'],
      ...['--address=/zero.x/#', '--address=/gone.x/', '--txt-record=known.gone.x,t'],
      ...['--server=/served.v4.x/1.1.1.1', '--address=/mixed.x/2.2.2.2', '--local=/mixed.x/'],
      ...['--address=/*wild.x/3.3.3.3', '--address=/*.below.y/4.4.4.4', '--address=//7.7.7.7'],
      ...['--local=/known.x/', '--txt-record=a.above.known.x,t'],
    );
    expect(ruleOf(local, name, type)).toBe(expected);
  });

  it('give way to servers of every name, as those of the resolv file are', async () => {
    const local = await load('--local=/#/');
    expect(ruleOf(local, 'a.x')).toBe('NXDOMAIN');
    local.useServerRules(['/#/', '1.1.1.1'].map(parseServerRule));
    expect(ruleOf(local, 'a.x')).toBeUndefined();
  });

  it('give way to a longer domain of servers, wherever those come from', async () => {
    const local = await load('--address=/x/1.2.3.4');
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
  ])('keep private reverse names here with --bogus-priv: %s %s', async (name, type, expected) => {
    const local = await load('--bogus-priv', '--server=/9.10.in-addr.arpa/1.1.1.1');
    expect(ruleOf(local, name, type)).toBe(expected);
  });

  it.each([
    ['plain', 'A', 'NXDOMAIN'],
    ['plain', 'AAAA', 'NXDOMAIN'],
    ['known', 'A', 'NOERROR'],
    ['plain', 'TXT', undefined],
    ['two.labels', 'A', undefined],
    ['.', 'A', undefined],
  ])('keep plain names here with --domain-needed: %s %s', async (name, type, expected) => {
    const local = await load('--domain-needed', '--txt-record=known,t');
    expect(ruleOf(local, name, type)).toBe(expected);
  });

  it.each([
    ['a.x', 'SOA', 'NOERROR'],
    ['a.x', 'SRV', 'NOERROR'],
    ['_a.x', 'ANY', 'NOERROR'],
    ['a.x', 'ANY', undefined],
    ['_a.x', 'A', undefined],
  ])('keep what old Windows asks here with --filterwin2k: %s %s', async (name, type, expected) => {
    expect(ruleOf(await load('--filterwin2k'), name, type)).toBe(expected);
  });

  it('do not answer anything without options', async () => {
    const local = await load();
    for (const name of ['a', 'a.x', '1.0.0.10.in-addr.arpa', '.']) {
      expect(ruleOf(local, name)).toBeUndefined();
    }
  });

  it('say that a denial is authoritative only where dnsmasq does', async () => {
    const local = await load('--bogus-priv', '--local=/gone.x/');
    const isAuthoritative = (name: string, type: string) =>
      texts((query) => local.answerByRule(query, out), { name, type })?.isAuthoritative;
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
    'is known by its data, by that below it, or by its domain’s address: %s',
    async (name, expected) => {
      write('hosts', '10.0.0.2 hosts.file');
      const local = await load(
        ...['--host-record=host.x,10.0.0.1', '--cname=alias.y,host.x', '--address=/lit.z/1.2.3.4'],
      );
      expect(local.knows(keyOf(name))).toBe(expected);
    },
  );
});
