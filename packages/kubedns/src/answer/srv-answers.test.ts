import { beforeEach, describe, expect, it } from '@jest/globals';
import { hashLabel } from '../../test/support/hash-label.js';
import { HEADLESS } from '../../test/support/objects.js';
import { hosts, TCP, WEB, WebService } from '../../test/support/web-service.js';

let web: WebService;
beforeEach(() => {
  web = new WebService();
});

describe('a headless service', () => {
  it('has the SRV record of one host and port, if that host has the port', async () => {
    web.given(
      HEADLESS,
      { ...hosts({ addresses: ['10.1.0.1'], hostname: 'a' }), ports: [TCP] },
      { ...hosts({ addresses: ['10.1.0.2'], hostname: 'b' }), ports: [{ name: 'dns', port: 53 }] },
    );
    expect(await web.at(`a._http._tcp.${WEB}`)).toEqual([`SRV 10 100 80 a.${WEB}`]);
    expect(await web.rcodeOf(`a._http._tcp.${WEB}`)).toBe('NOERROR');
    expect(await web.rcodeOf(`b._http._tcp.${WEB}`)).toBe('NXDOMAIN');
    expect(await web.rcodeOf(`x.a._http._tcp.${WEB}`)).toBe('NXDOMAIN');
  });

  it('has no SRV record for a port without a number', async () => {
    web.given(HEADLESS, { ...hosts('10.1.0.1'), ports: [{ name: 'any' }] });
    expect(await web.rcodeOf(`_any._tcp.${WEB}`)).toBe('NXDOMAIN');
    expect(await web.at(WEB)).toContain(`SRV 10 100 0 ${hashLabel('10.1.0.1')}.${WEB}`);
  });

  it.each([
    [1, 100],
    [3, 33],
    [7, 14],
    [101, 0],
  ])('shares the weight of 100 among %i targets: %i each', async (count, weight) => {
    const endpoints = Array.from({ length: count }, (_, i) => `10.1.0.${i}`);
    web.given(HEADLESS, { endpoints, ports: [TCP] });
    const srv = await web.at(`_http._tcp.${WEB}`);
    expect(srv).toHaveLength(count);
    expect(srv.every((record) => record.startsWith(`SRV 10 ${weight} 80 `))).toBe(true);
  });

  it('has addresses of the targets that the answer has, as far as they fit', async () => {
    const endpoints = Array.from({ length: 60 }, (_, i) => `10.1.0.${i}`);
    web.given(HEADLESS, { endpoints, ports: [TCP] });
    const name = `_http._tcp.${WEB}`;
    const whole = await web.answers.ask(name, 'SRV', { isOverTcp: true });
    expect(whole.additionals).toHaveLength(60);
    const cut = await web.answers.ask(name, 'SRV', { hasEdns: true });
    expect(cut.flags).toBe('aa ra rd tc');
    expect(cut.additionals).toEqual([]);
    expect(cut.answers.length).toBeGreaterThan(10);
  });

  it('has the addresses of each target once, however many ports and targets there are', async () => {
    const endpoints = Array.from({ length: 150 }, (_, i) => `10.1.0.${i}`);
    web.given(HEADLESS, { endpoints, ports: [TCP, { ...TCP, name: 'more', port: 81 }] });
    const { answers: records, additionals } = await web.answers.ask(WEB, 'SRV', {
      isOverTcp: true,
    });
    expect(records).toHaveLength(300);
    expect(new Set(additionals).size).toBe(150);
    expect(additionals).toHaveLength(150);
  });

  it('has both addresses of a generated label that two of them share', async () => {
    const both = ['10.2.91.207', '10.3.42.200'];
    web.given(HEADLESS, hosts(...both));
    expect(hashLabel(both[0]!)).toBe(hashLabel(both[1]!));
    const name = `${hashLabel(both[0]!)}.${WEB}`;
    expect(await web.answers.records(name, ['A'])).toEqual(both.map((address) => `A ${address}`));
  });

  it('has the SRV record of a port once that the object has twice', async () => {
    web.given({ ports: [TCP, TCP] });
    expect(await web.at(`_http._tcp.${WEB}`)).toEqual([`SRV 10 100 80 ${WEB}`]);
  });
});
