import { beforeEach, describe, expect, it } from '@jest/globals';
import { hashLabel } from '../../test/support/hash-label.js';
import { HEADLESS } from '../../test/support/objects.js';
import { hosts, TCP, WEB, WebService } from '../../test/support/web-service.js';

const COUNT = 2_000;
const addressOf = (i: number) => `10.1.${i >> 8}.${i & 255}`;

let web: WebService;
beforeEach(() => {
  web = new WebService();
  const endpoints = Array.from({ length: COUNT }, (_, i) => addressOf(i));
  const dns = { name: 'dns', port: 53, protocol: 'UDP' };
  web.given(
    HEADLESS,
    { ...hosts(...endpoints.slice(0, 1_500)), ports: [TCP] },
    // Some are in both slices.
    { ...hosts(...endpoints.slice(1_400)), ports: [TCP] },
    {
      ...hosts(
        { addresses: ['10.9.0.1'], hostname: 'a' },
        { addresses: ['10.9.0.2'], hostname: 'a' },
        { addresses: ['fd00::1'], hostname: 'a' },
      ),
      ports: [dns],
    },
  );
});

const ask = (name: string, type: string, isOverTcp = true) =>
  web.answers.ask(name, type, { isOverTcp, hasEdns: true });

describe('a service with thousands of endpoints', () => {
  it('has every address once, as far as they fit', async () => {
    const whole = await ask(WEB, 'A');
    expect(whole.flags).toBe('aa ra rd');
    expect(whole.answers).toHaveLength(COUNT + 2);
    expect(new Set(whole.answers).size).toBe(COUNT + 2);
    expect((await ask(WEB, 'AAAA')).answers).toEqual([`${WEB} AAAA fd00::1`]);
    expect((await ask(WEB, 'A', false)).flags).toBe('aa ra rd tc');
  });

  it('has each record first sooner or later, of addresses and of targets', async () => {
    const tenthOf = new Map<string, number>();
    for (let i = 0; i < COUNT; i++) {
      const tenth = Math.floor((i * 10) / COUNT);
      const address = addressOf(i);
      tenthOf.set(address, tenth).set(`${hashLabel(address)}.${WEB}`, tenth);
    }
    for (const [name, type] of [
      [WEB, 'A'],
      [`_http._tcp.${WEB}`, 'SRV'],
    ] as const) {
      const tenths = new Array<number>(10).fill(0);
      for (let i = 0; i < 1_000; i++) {
        const text = (await ask(name, type, false)).answers[0]!;
        const at = tenthOf.get(text.slice(text.lastIndexOf(' ') + 1));
        if (at !== undefined) tenths[at]!++;
      }
      expect(Math.min(...tenths)).toBeGreaterThan(50);
    }
  });

  it('has no target twice with a port', async () => {
    const { answers: records } = await ask(`_http._tcp.${WEB}`, 'SRV');
    expect(records.length).toBeGreaterThan(800);
    expect(new Set(records).size).toBe(records.length);
    const few = await ask(`_dns._udp.${WEB}`, 'SRV');
    expect(few.answers).toEqual([`_dns._udp.${WEB} SRV 10 33 53 a.${WEB}`]);
  });

  it('has the records of its hosts', async () => {
    const generated = `${hashLabel(addressOf(77))}.${WEB}`;
    expect(await web.at(generated)).toEqual([`A ${addressOf(77)}`, `SRV 10 100 80 ${generated}`]);
    expect(await web.at(`a.${WEB}`)).toEqual([
      'A 10.9.0.1',
      'A 10.9.0.2',
      'AAAA fd00::1',
      `SRV 10 33 53 a.${WEB}`,
    ]);
    expect(await web.at(`a._dns._udp.${WEB}`)).toEqual([`SRV 10 33 53 a.${WEB}`]);
    for (const name of [`b.${WEB}`, `a._http._tcp.${WEB}`, `${hashLabel('10.9.0.1')}.${WEB}`]) {
      expect(await web.rcodeOf(name)).toBe('NXDOMAIN');
    }
  });

  it('is a small one again when slices go', async () => {
    web.given(HEADLESS, hosts('10.1.0.1'), hosts('10.1.0.2'));
    expect(await web.at(`a.${WEB}`)).toContain('A 10.9.0.1');
    expect((await ask(`_dns._udp.${WEB}`, 'SRV')).additionals).toHaveLength(3);
  });
});

describe('a service with thousands of ports', () => {
  it('has as many of endpoints times ports as fit, each of them first sooner or later', async () => {
    const ports = Array.from({ length: 1_000 }, (_, i) => ({ name: `p${i}`, port: i + 1 }));
    web = new WebService();
    web.given(HEADLESS, { ...hosts('10.1.0.1', '10.1.0.2', '10.1.0.3'), ports });
    const seen = new Set<string>();
    for (let i = 0; i < 40; i++) for (const text of (await ask(WEB, 'SRV')).answers) seen.add(text);
    expect(seen.size).toBe(3_000);
    const few = await ask(`_p77._tcp.${WEB}`, 'SRV');
    expect(few.answers).toHaveLength(3);
    expect(few.additionals).toHaveLength(3);
  });
});
