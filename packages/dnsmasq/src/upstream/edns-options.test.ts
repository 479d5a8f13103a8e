import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { encodeQuery, optionTexts } from '@kube-dns/testkit';
import { readQuery, ReplyOutline, writeUint16 } from '@kube-dns/wire';
import { type RecordedLog, recordedLog } from '../../test/recorded-log.js';
import { parseOptions } from '../options/parse-options.js';
import { addsOptions, EdnsOptions, Neighbours } from './edns-options.js';

const TABLE = `IP address       HW type     Flags       HW address            Mask     Device
10.0.0.1         0x1         0x2         02:fc:00:00:00:0A     *        eth0
10.0.0.2         0x1         0x0         00:00:00:00:00:00     *        eth0
`;
const EMPTY_FILE = '--conf-file=/dev/null';

let folder: string;
let log: RecordedLog;
let nowMs: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'edns-options-'));
  writeFileSync(join(folder, 'arp'), TABLE);
  log = recordedLog();
  nowMs = 5_000;
});

afterEach(() => rmSync(folder, { recursive: true }));

function optionsFor(line: string): EdnsOptions {
  const { ednsChanges } = parseOptions([...line.split(' '), EMPTY_FILE]);
  expect(addsOptions(ednsChanges)).toBe(true);
  const neighbours = new Neighbours({ path: join(folder, 'arp') });
  return new EdnsOptions(ednsChanges, neighbours, log, () => nowMs);
}

function sent(line: string, address: string, message = encodeQuery({ name: 'web.example' })) {
  const { bytes, isForAll } = optionsFor(line).optionsFor(readQuery(message), address);
  return { options: optionTexts(bytes).join(' | '), isForAll };
}

describe('the EDNS options of a forwarded query', () => {
  it.each([
    ['--add-mac', '65001 02fc0000000a'],
    ['--add-mac=text', `65073 ${Buffer.from('02:fc:00:00:00:0a').toString('hex')}`],
    ['--add-mac=base64', `65073 ${Buffer.from('AvwAAAAK').toString('hex')}`],
    [
      '--add-mac --add-mac=base64',
      `65001 02fc0000000a | 65073 ${Buffer.from('AvwAAAAK').toString('hex')}`,
    ],
  ])('have the MAC of a neighbour; its answer is for no other client: %s', (line, options) => {
    expect(sent(line, '10.0.0.1')).toEqual({ options, isForAll: false });
  });

  it.each(['10.0.0.2', '10.0.0.3', '127.0.0.1', 'fd00::1', 'fe80::1%eth0'])(
    'have no MAC of %s, which has none in the table',
    (address) => {
      expect(sent('--add-mac', address)).toEqual({ options: '', isForAll: true });
    },
  );

  it('have nothing of what a client sends', () => {
    const message = encodeQuery({
      name: 'web.example',
      options: ['65001 01', '10 0102030405060708'],
    });
    expect(sent('--add-mac', '10.0.0.1', message).options).toBe('65001 02fc0000000a');
    expect(sent('--add-mac --strip-mac', '10.0.0.3', message).options).toBe('');
    const own = encodeQuery({ name: 'web.example', options: ['8 000118000a0909'] });
    expect(sent('--add-cpe-id=x', '10.0.0.3', own).options).toBe('65074 78');
  });

  it('have the subnet that a client sends in place of its own, unless that is to be removed', () => {
    const own = encodeQuery({ name: 'web.example', options: ['8 000118000a0909'] });
    expect(sent('--add-subnet=24', '10.1.2.3', own)).toEqual({
      options: '8 000118000a0909',
      isForAll: false,
    });
    expect(sent('--add-subnet=24 --strip-subnet', '10.1.2.3', own).options).toBe(
      '8 000118000a0102',
    );
    for (const bad of ['8 0001', '8 000118180a0909', '8 000121000a09090900', '8 000318000a0909']) {
      const message = encodeQuery({ name: 'web.example', options: [bad] });
      expect(sent('--add-subnet', '10.1.2.3', message).options).toBe('8 00010000');
    }
  });

  it.each([
    ['--add-subnet=24,56', '10.1.2.3', '8 000118000a0102', false],
    ['--add-subnet=20', '10.1.255.3', '8 000114000a01f0', false],
    ['--add-subnet=24,56', 'fd00:1:2:3ff::9', '8 00023800fd000001000203', false],
    ['--add-subnet=24', 'fd00::9', '8 00020000', true],
    ['--add-subnet', '10.1.2.3', '8 00010000', true],
    ['--add-subnet=32,128', 'fe80::1%eth0', `8 00028000fe80${'00'.repeat(13)}01`, false],
    ['--add-subnet=1.2.3.4/32', '10.1.2.3', '8 0001200001020304', true],
    ['--add-subnet=1.2.3.4/32', 'fd00::9', '8 00020000', true],
  ])('have the network of %s with the client %s', (line, address, options, isForAll) => {
    expect(sent(line, address)).toEqual({ options, isForAll });
  });

  it('send the address of an IPv6 client to Umbrella', () => {
    expect(sent('--umbrella=orgid:1', 'fd00::9')).toEqual({
      options: `20292 4f444e530100000800000001` + `0020fd00${'00'.repeat(13)}09`,
      isForAll: false,
    });
  });

  it('are expected in no reply to a query with other records, which is sent without them', () => {
    const signature = Buffer.from('0000fa00ff000000000000', 'hex');
    const signed = Buffer.concat([encodeQuery({ name: 'x' }), signature]);
    writeUint16(signed, 10, 1);
    const options = optionsFor('--add-subnet=24').optionsFor(readQuery(signed), '10.0.0.9');
    expect(options.subnet).toBeUndefined();
  });
});

describe('a reply to a query with a subnet', () => {
  const reply = (...options: string[]) =>
    new ReplyOutline().read(encodeQuery({ name: 'web.example', options }));

  it.each([
    [false, ['8 000118000a0102']],
    [false, ['8 000118100a0102']],
    [false, []],
    [true, ['8 000118000a0103']],
    [true, ['8 000119000a0102']],
    [true, ['8 0001180a01']],
  ])('is foreign: %s, with %j', (isForeign, options) => {
    const ednsOptions = optionsFor('--add-subnet=24');
    const { subnet } = ednsOptions.optionsFor(
      readQuery(encodeQuery({ name: 'web.example' })),
      '10.1.2.3',
    );
    expect(ednsOptions.isForeign(reply(...options), subnet!)).toBe(isForeign);
  });

  it('is logged when it is foreign, once a second at most', () => {
    const ednsOptions = optionsFor('--add-subnet=24');
    for (let i = 0; i < 3; i++) ednsOptions.isForeign(reply('8 00'), new Uint8Array(7));
    expect(log.messages).toEqual(['discarding DNS reply: subnet option mismatch']);
    nowMs += 1_000;
    ednsOptions.isForeign(reply('8 00'), new Uint8Array(7));
    expect(log.messages).toHaveLength(2);
  });
});

describe('the neighbour table', () => {
  it('is read again when it is a second old, and may disappear', () => {
    let now = 0;
    const path = join(folder, 'arp');
    const neighbours = new Neighbours({ path, now: () => now });
    const address = Uint8Array.of(10, 0, 0, 9);
    expect(neighbours.macOf(address)).toBeUndefined();
    writeFileSync(path, `${TABLE}10.0.0.9 0x1 0x2 01:02:03:04:05:06 * eth0\n`);
    now = 999;
    expect(neighbours.macOf(address)).toBeUndefined();
    now = 1_000;
    expect(neighbours.macOf(address)).toEqual(Uint8Array.of(1, 2, 3, 4, 5, 6));
    rmSync(path);
    now = 2_000;
    expect(neighbours.macOf(address)).toBeUndefined();
  });
});
