import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { StartupError } from '@kube-dns/daemon';
import { parseOptions } from './parse-options.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dnsmasq-options-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

function write(name: string, ...lines: string[]): string {
  const path = join(folder, name);
  writeFileSync(path, lines.join('\n'));
  return path;
}

describe('a script', () => {
  it('prints lines that are applied as those of a file', () => {
    const options = parseOptions([
      '--conf-script=echo port=99; echo "# comment"; echo no-negcache',
    ]);
    expect(options).toMatchObject({ port: 99, cachesNegatives: false });
    const file = write('file', 'conf-script=echo port=98');
    expect(parseOptions(['-C', file])).toMatchObject({ port: 98 });
  });

  it.each([
    ['exit 3', 'exit 3 returns non-zero error code', 10],
    [
      'echo no-such',
      'bad option in output from echo no-such (no-such: unknown option "no-such")',
      1,
    ],
  ])('that cannot be obeyed is refused: %s', (command, message, exitCode) => {
    const error = refusal([`--conf-script=${command}`]);
    expect(error).toEqual(new StartupError(message, exitCode));
    expect(error).toMatchObject({ exitCode });
  });
});

function refusal(argv: readonly string[], defaultFile = ''): unknown {
  try {
    parseOptions(argv, defaultFile);
  } catch (error) {
    return error;
  }
  throw new Error('it was not refused');
}

describe('a configuration file', () => {
  it('has the options of the command line without dashes', () => {
    const path = write('a', '# all', '', '  port = 1053 # ours', 'no-resolv', 'cache-size=7\r');
    expect(parseOptions(['-C', path])).toMatchObject({
      port: 1053,
      usesResolvFile: false,
      cacheSize: 7,
    });
  });

  it('takes precedence over the command line, and adds to its lists', () => {
    const path = write('a', 'port=2', 'listen-address=127.0.0.2');
    expect(
      parseOptions([`--conf-file=${path}`, '--port=1', '--listen-address=127.0.0.1']),
    ).toMatchObject({ port: 2, listenAddresses: ['127.0.0.1', '127.0.0.2'] });
  });

  it('does not divide quoted text', () => {
    const path = write('a', String.raw`txt-record=a.example,"one, \"two\"\t#3",four`);
    const { records } = parseOptions(['-C', path]);
    expect(Buffer.from(records[0]!.rdata).toString('latin1')).toBe('\x0done, "two"\t#3\x04four');
  });

  it('may quote values that have no fields', () => {
    const path = write('a', 'addn-hosts="/a b/c,d"', 'server="/x.y/127.0.0.1#5353"');
    const { hostsPaths, serverRules } = parseOptions(['-C', path]);
    expect(hostsPaths).toEqual(['/a b/c,d']);
    expect(serverRules[0]!.target).toMatchObject({ server: { address: '127.0.0.1', port: 5353 } });
  });

  it('may include another, and each is read once', () => {
    const [one, other] = [join(folder, 'one'), join(folder, 'other')];
    write('one', `conf-file=${other}`, 'listen-address=127.0.0.1');
    write('other', `conf-file=${one}`, 'listen-address=127.0.0.2');
    expect(parseOptions(['-C', one])).toMatchObject({
      listenAddresses: ['127.0.0.2', '127.0.0.1'],
    });
  });

  it('is the default one when the command line has none', () => {
    const path = write('default', 'port=1053');
    expect(parseOptions([], path)).toMatchObject({ port: 1053 });
    expect(parseOptions(['-C', write('empty')], path)).toMatchObject({ port: 53 });
    expect(parseOptions(['--conf-file'], path)).toMatchObject({ port: 53 });
  });

  it('may be missing only when it is the default one', () => {
    const missing = join(folder, 'missing');
    expect(parseOptions([], missing)).toMatchObject({ port: 53 });
    expect(refusal(['-C', missing])).toEqual(
      new StartupError(`cannot read ${missing}: No such file or directory`, 3),
    );
    expect(refusal(['-C', missing])).toMatchObject({ exitCode: 3 });
  });

  it('is no pipe, which may never end; it may be /dev/null', () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    expect(refusal(['-C', pipe])).toEqual(
      new StartupError(`cannot read ${pipe}: not a regular file, but a pipe`, 3),
    );
    expect(parseOptions(['-C', '/dev/null'])).toMatchObject({ port: 53 });
  });

  it.each([
    [['frob'], 'bad option at line 1 of FILE (frob: unknown option "frob")'],
    [
      ['cache-s=5'],
      'bad option at line 1 of FILE (cache-s: unknown option "cache-s"; did you mean cache-size?)',
    ],
    [
      ['port=5', '', 'port=6'],
      'illegal repeated keyword at line 3 of FILE (port: a file contains it already)',
    ],
    [['port=abc'], 'error at line 1 of FILE (port: bad number "abc")'],
    [['no-resolv=1'], 'extraneous parameter at line 1 of FILE (no-resolv: it takes no value)'],
    [['server'], 'missing parameter at line 1 of FILE (server: it needs a value)'],
    [['txt-record=a,"x'], 'missing " at line 1 of FILE (a quote does not end)'],
    [['server=1.2.3.4#abc'], 'bad port at line 1 of FILE (server: bad port "abc")'],
    [['', 'dhcp-range=1.2.3.4,1.2.3.8'], 'unsupported option: --dhcp-range at line 2 of FILE'],
    [
      ['--port=5'],
      'bad option at line 1 of FILE (--port: unknown option "--port"; did you mean port?)',
    ],
  ])('is refused with line and file: %j', (lines, message) => {
    const path = write('a', ...lines);
    const error = refusal(['-C', path]);
    expect(error).toEqual(new StartupError(message.replace('FILE', path), 1));
    expect(error).toMatchObject({ exitCode: 1 });
  });
});

describe('a directory of configuration files', () => {
  it.each([
    ['', ['127.0.0.1', '127.0.0.2']],
    [',.bak', ['127.0.0.1']],
    [',*.bak', ['127.0.0.2']],
  ])('is read in the order of the names, by extension: %j', (extensions, listenAddresses) => {
    write('a.conf', 'listen-address=127.0.0.1');
    write('b.bak', 'listen-address=127.0.0.2');
    for (const name of ['.hidden', 'backup~', '#auto#']) write(name, 'port=nonsense');
    mkdirSync(join(folder, 'c.conf'));
    expect(parseOptions([`--conf-dir=${folder}${extensions}`])).toMatchObject({ listenAddresses });
  });

  it('must exist', () => {
    const error = refusal([`--conf-dir=${join(folder, 'missing')}`]);
    expect(error).toMatchObject({
      exitCode: 3,
      message: `cannot access directory ${join(folder, 'missing')}: No such file or directory`,
    });
  });
});
