import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { optionText } from './given-options.js';
import { parseOptions } from './parse-options.js';

const folder = mkdtempSync(join(tmpdir(), 'given-options-'));
const path = join(folder, 'dnsmasq.conf');
afterAll(() => rmSync(folder, { recursive: true }));

describe('the options that were given', () => {
  it('are listed in order, with where they are from', () => {
    writeFileSync(path, '# ours\ncache-size=100\n\nserver="/a.x/10.0.0.1"\n');
    const { given } = parseOptions(['-p', '53', '--no-res', `--conf-file=${path}`]);
    expect(given.all.map((each) => [optionText(each), each.place])).toEqual([
      ['--port=53', 'the command line'],
      ['--no-resolv', 'the command line'],
      ['--cache-size=100', `line 2 of ${path}`],
      ['--server=/a.x/10.0.0.1', `line 4 of ${path}`],
    ]);
  });

  it('are known of each rule and record that they made', () => {
    const { given, records, serverRules, addressRules } = parseOptions([
      ...['--host-record=a.x,b.x,10.0.0.1,::1', '--cname=c.x,a.x', '--local=/x/'],
      ...['--address=/y/10.0.0.2', '--rev-server=10.0.0.0/16,10.0.0.3', '--mx-host=d.x'],
    ]);
    const names = (made: readonly object[]) => made.map((each) => given.of(each)?.name);
    expect(new Set(names(records.slice(0, 6)))).toEqual(new Set(['host-record']));
    expect(names(records.slice(6))).toEqual(['cname', undefined]);
    expect(names(serverRules)).toEqual(['local', 'rev-server']);
    expect(names(addressRules)).toEqual(['address']);
  });
});
