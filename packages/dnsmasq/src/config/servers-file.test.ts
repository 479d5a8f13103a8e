import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { decodeName } from '@kube-dns/wire';
import { type RecordedLog, recordedLog } from '../../test/recorded-log.js';
import { parseServersFile, ServersFile } from './servers-file.js';

let folder: string;
let path: string;
let log: RecordedLog;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'servers-file-'));
  path = join(folder, 'servers');
  log = recordedLog();
});

afterEach(() => rm(folder, { recursive: true }));

describe('a servers file', () => {
  it('has servers of both kinds, and comments', () => {
    const text = '# ours\nserver=/a.x/1.2.3.4#53 # here\n\nrev-server=10.0.0.0/8,1.2.3.5\n';
    const { rules, complaints } = parseServersFile(text, '/f');
    expect(rules.map(({ domains }) => decodeName(domains[0]!))).toEqual(['a.x', '10.in-addr.arpa']);
    expect(complaints).toEqual([]);
  });

  it('has encrypted servers, whose # and // begin no comment', () => {
    const text = 'server=/a.x/tls://1.2.3.4#8853%dns.example\nserver=https://1.2.3.4/q # here\n';
    const { rules, complaints } = parseServersFile(text, '/f');
    expect(rules.map(({ target }) => target)).toMatchObject([
      { server: { port: 8853, encryption: { protocol: 'tls', name: 'dns.example' } } },
      { server: { port: 443, encryption: { protocol: 'https', path: '/q' } } },
    ]);
    expect(complaints).toEqual([]);
  });

  it('has bad lines, each of which is reported while the others apply', () => {
    const lines = [
      'port=5',
      'frob=1',
      'server',
      'server=1.2.3.4#x',
      'no-resolv',
      'no-resolv=1',
      'server="',
      'local=/a.x/',
      'address=/a.x/1.2.3.4',
      'dhcp-range=1',
      'port',
      'rev-server=10.0.0.0/99,1.1.1.1',
      'server=1.1.1.1',
    ];
    const { rules, complaints } = parseServersFile(lines.join('\n'), '/f');
    expect(rules).toHaveLength(1);
    expect(complaints).toEqual([
      'illegal option at line 1 of /f',
      'bad option at line 2 of /f (unknown option "frob")',
      'missing parameter at line 3 of /f',
      'bad port at line 4 of /f (bad port "x")',
      'illegal option at line 5 of /f',
      'extraneous parameter at line 6 of /f',
      'missing " at line 7 of /f (a quote does not end)',
      'illegal option at line 8 of /f',
      'illegal option at line 9 of /f',
      'illegal option at line 10 of /f',
      'missing parameter at line 11 of /f',
      'bad IPv4 prefix length at line 12 of /f (bad number "99")',
    ]);
  });
});

describe('a servers file that is read again', () => {
  it('has its current rules', async () => {
    const file = new ServersFile(path, log);
    await writeFile(path, 'server=/a/1.0.0.1\n');
    expect(file.read()).toHaveLength(1);
    await writeFile(path, 'server=/a/1.0.0.1\nserver=/b/1.0.0.1\n');
    expect(file.read()).toHaveLength(2);
    expect(log.messages).toEqual([]);
  });

  it('retains the rules of the last read when it is deleted', async () => {
    const file = new ServersFile(path, log);
    await writeFile(path, 'server=/a/1.0.0.1\n');
    const rules = file.read();
    await unlink(path);
    expect(file.read()).toBe(rules);
    expect(log.messages).toEqual([`cannot read ${path}: No such file or directory`]);
  });

  it('retains them when a pipe takes its place, and does not wait for it', async () => {
    const file = new ServersFile(path, log);
    await writeFile(path, 'server=/a/1.0.0.1\n');
    const rules = file.read();
    await unlink(path);
    execFileSync('mkfifo', [path]);
    expect(file.read()).toBe(rules);
    expect(log.messages).toEqual([`cannot read ${path}: not a regular file, but a pipe`]);
  });

  it('logs twenty bad lines and counts the others', async () => {
    await writeFile(path, 'frob\n'.repeat(1_000));
    expect(new ServersFile(path, log).read()).toEqual([]);
    expect(log.messages).toHaveLength(21);
    expect(log.messages[19]).toBe(`bad option at line 20 of ${path} (unknown option "frob")`);
    expect(log.messages[20]).toBe(`980 more bad lines in ${path}`);
  });
});
