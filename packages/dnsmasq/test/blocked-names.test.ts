import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ask, Dnsmasq, ownedBy, ScriptedNameServer } from '@kube-dns/testkit';

const opened = ownedBy(afterEach);
let upstream: ScriptedNameServer;

/** Each name has an address; those of `alias…` are CNAMEs of blocked names. */
beforeEach(async () => {
  upstream = opened(
    await ScriptedNameServer.start(({ question: { name } }) => {
      const target = /^alias\d*\.(.*)\.out\.test$/i.exec(name)?.[1] ?? name;
      const cname = { type: 'CNAME', name, ttl: 600, data: target } as const;
      const address = { type: 'A', name: target, ttl: 600, data: '203.0.113.66' } as const;
      return { answers: target === name ? [address] : [cname, address] };
    }),
  );
});

const RULES = [
  '--address=/x.test/',
  '--server=/x.test/',
  '--local=/x.test/',
  '--address=/x.test/0.0.0.0',
  '--address=/x.test/#',
];

describe('attack 19: a blocked name', () => {
  it.each(RULES)('is blocked each time, whatever was asked before: %s', async (rule) => {
    const args = [rule, `--server=${upstream.text}`, '--cache-size=1000'];
    const dnsmasq = opened(await Dnsmasq.start({ args }));
    await dnsmasq.ready();
    const isBlocked = async (name: string) => {
      const { rcode, texts } = await ask(dnsmasq.ports.dns, name);
      return rcode === 'NXDOMAIN' || texts.join() === 'A 0.0.0.0';
    };
    const names = ['x.test', 'www.x.test', 'WWW.X.tEsT', 'a.b.c.x.test', 'www\\.a.x.test'];
    for (const name of names) expect([name, await isBlocked(name)]).toEqual([name, true]);
    // Rules are about the name of a question, as in dnsmasq: a CNAME of another name leads there, and is cached.
    for (const name of ['alias.www.x.test.out.test', 'alias2.WWW.x.test.out.test']) {
      for (let i = 0; i < 2; i++) {
        const { texts } = await ask(dnsmasq.ports.dns, name);
        expect(texts).toContain('A 203.0.113.66');
      }
    }
    for (const name of names) expect([name, await isBlocked(name)]).toEqual([name, true]);
    expect((await ask(dnsmasq.ports.dns, 'xx.test')).texts).toEqual(['A 203.0.113.66']);
    const asked = upstream.requests.map(({ question }) => question.name.toLowerCase());
    expect(asked.filter((name) => name.endsWith('x.test') && name !== 'xx.test')).toEqual([]);
  });
});
