import { appendFileSync, mkdirSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { answerOf, LocalTestbed } from '../../test/local-testbed.js';

let testbed: LocalTestbed;

beforeEach(() => {
  testbed = new LocalTestbed();
});

afterEach(() => testbed.close());

describe('/etc/hosts', () => {
  it('is answered from, unless --no-hosts is given', async () => {
    testbed.write('hosts', '10.0.0.1 one.x');
    expect(answerOf(await testbed.load(), 'One.X')).toEqual(['A 10.0.0.1']);
    expect(answerOf(await testbed.load('--no-hosts'), 'one.x')).toBeUndefined();
  });

  it('is only logged when it is not there', async () => {
    expect(answerOf(await testbed.load(), 'one.x')).toBeUndefined();
    expect(testbed.log.messages[0]).toMatch(
      `failed to load names from ${join(testbed.folder, 'hosts')}: `,
    );
  });
});

describe('hosts files', () => {
  it('are read to the end of the last line, whatever ends the lines', async () => {
    testbed.write('hosts', '10.0.0.1 one.x\r\n\r\n# comment\n10.0.0.2\tmore.x # here\n::1 last.x');
    const local = await testbed.load();
    expect(answerOf(local, 'one.x')).toEqual(['A 10.0.0.1']);
    expect(answerOf(local, 'more.x')).toEqual(['A 10.0.0.2']);
    expect(answerOf(local, { name: 'last.x', type: 'AAAA' })).toEqual(['AAAA ::1']);
    expect(testbed.log.messages).toEqual([`read ${join(testbed.folder, 'hosts')} - 3 names`]);
  });

  it('have bad lines, which are logged and passed over', async () => {
    testbed.write('hosts', '1.2.3 one.x\nwhat\n10.0.0.1 a..b good.x\n10.0.0.2 next.x\n');
    const local = await testbed.load();
    expect(answerOf(local, 'good.x')).toEqual(['A 10.0.0.1']);
    expect(answerOf(local, 'next.x')).toEqual(['A 10.0.0.2']);
    expect(testbed.log.messages.slice(0, 3)).toEqual([
      `bad address at ${join(testbed.folder, 'hosts')} line 1`,
      `bad address at ${join(testbed.folder, 'hosts')} line 2`,
      `bad name at ${join(testbed.folder, 'hosts')} line 3`,
    ]);
  });

  it('do not fill the log however bad they are', async () => {
    testbed.write('hosts', 'what\n'.repeat(1_000));
    await testbed.load();
    expect(testbed.log.messages).toHaveLength(12);
    expect(testbed.log.messages[10]).toBe(`990 more bad lines in ${join(testbed.folder, 'hosts')}`);
  });

  it('may be given as directories, without backups and hidden files', async () => {
    mkdirSync(join(testbed.folder, 'more'));
    testbed.write('more/a', '10.0.0.1 a.x');
    for (const name of ['.b', 'b~', '#b#']) testbed.write(`more/${name}`, '10.0.0.2 b.x');
    const local = await testbed.load(`--addn-hosts=${join(testbed.folder, 'more')}`);
    expect(answerOf(local, 'a.x')).toEqual(['A 10.0.0.1']);
    expect(answerOf(local, 'b.x')).toBeUndefined();
  });

  it('give an address its first name', async () => {
    testbed.write('hosts', '10.0.0.1 First.x second.x\n10.0.0.1 third.x\nfd00::1 six.x');
    const local = await testbed.load('--host-record=other.x,10.0.0.1');
    const reverse = { name: '1.0.0.10.in-addr.arpa', type: 'PTR' };
    expect(answerOf(local, reverse)).toEqual(['PTR other.x']);
    expect(answerOf(await testbed.load(), reverse)).toEqual(['PTR First.x']);
    const six = { name: `1.${'0.'.repeat(29)}d.f.ip6.arpa`, type: 'PTR' };
    expect(answerOf(local, six)).toEqual(['PTR six.x']);
  });

  it('are regular files: what may have no end is not read', async () => {
    await testbed.load('--addn-hosts=/dev/zero');
    expect(testbed.log.messages).toContain(
      'failed to load names from /dev/zero: not a regular file',
    );
  });

  it('finding 11: are not above 64 MiB, and nothing of such a one is read', async () => {
    testbed.write('hosts', '10.0.0.1 one.x\n');
    const path = join(testbed.folder, 'hosts');
    truncateSync(path, 3 * 2 ** 30);
    const local = await testbed.load();
    expect(answerOf(local, 'one.x')).toBeUndefined();
    expect(testbed.log.messages).toContain(
      `failed to load names from ${path}: larger than ${64 * 2 ** 20} bytes`,
    );
  });

  it('may give a name more addresses than fit an answer', async () => {
    const line = (i: number) => `10.0.${i >> 8}.${i & 255} many.x\nfd00::${i.toString(16)} many.x`;
    testbed.write('hosts', Array.from({ length: 5_000 }, (_, i) => line(i)).join('\n'));
    const local = await testbed.load();
    expect(answerOf(local, 'many.x')!.length).toBeGreaterThan(100);
    expect(answerOf(local, { name: 'many.x', type: 'AAAA' })!.length).toBeGreaterThan(100);
  });

  it('are read again whole: removed names are gone', async () => {
    testbed.write('hosts', '10.0.0.1 one.x');
    const local = await testbed.load();
    testbed.write('hosts', '10.0.0.2 two.x');
    await local.reload();
    expect(answerOf(local, 'one.x')).toBeUndefined();
    expect(answerOf(local, { name: '1.0.0.10.in-addr.arpa', type: 'PTR' })).toBeUndefined();
    expect(answerOf(local, 'two.x')).toEqual(['A 10.0.0.2']);
  });

  it('are read as they are at the last of several requests', async () => {
    testbed.write('hosts', '10.0.0.1 one.x');
    const local = await testbed.load();
    const first = local.reload();
    appendFileSync(join(testbed.folder, 'hosts'), '\n10.0.0.2 two.x\n');
    await Promise.all([first, local.reload()]);
    expect(answerOf(local, 'two.x')).toEqual(['A 10.0.0.2']);
  });
});

describe('a watched directory of hosts files', () => {
  it('is followed', async () => {
    const path = join(testbed.folder, 'watched');
    mkdirSync(path);
    const local = await testbed.load(`--hostsdir=${path}`);
    expect(answerOf(local, 'one.x')).toBeUndefined();
    testbed.write('watched/one', '10.0.0.1 one.x');
    await until(() => answerOf(local, 'one.x')?.join() === 'A 10.0.0.1');
    rmSync(join(path, 'one'));
    await until(() => answerOf(local, 'one.x') === undefined);
  });

  it('may be made later, and is followed from the next SIGHUP on', async () => {
    const path = join(testbed.folder, 'watched');
    const local = await testbed.load(`--hostsdir=${path}`);
    expect(testbed.log.messages).toContainEqual(
      expect.stringMatching(`bad dynamic directory ${path}: `),
    );
    mkdirSync(path);
    await local.reload();
    testbed.write('watched/one', '10.0.0.1 one.x');
    await until(() => answerOf(local, 'one.x')?.join() === 'A 10.0.0.1');
  });
});
