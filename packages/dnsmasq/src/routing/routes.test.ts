import { describe, expect, it } from '@jest/globals';
import { readQuery } from '@kube-dns/wire';
import { encodeQuery } from '@kube-dns/testkit';
import { serverText } from '@kube-dns/transport';
import fc from 'fast-check';
import { parseServerRule } from '../options/server-value.js';
import { Routes } from './routes.js';

const addresses = (...hosts: string[]) => hosts.map((address) => ({ address, port: 53 }));

function routesOf(rules: readonly string[], resolv: readonly string[] = []): Routes {
  return new Routes({ rules: rules.map(parseServerRule), resolvServers: addresses(...resolv) });
}

/** The route of a name: its servers, or `local`, or `nowhere`. */
function target(routes: Routes, name: string): string {
  const { servers, isLocal } = routes.find(readQuery(encodeQuery({ name })));
  if (isLocal) return 'local';
  const texts = servers.map((server) => serverText(server).replace('#53', ''));
  return texts.length === 0 ? 'nowhere' : texts.join(',');
}

describe('the route of a name', () => {
  const routes = routesOf(
    [
      '/example/1.0.0.1',
      '/deep.example/1.0.0.2',
      '/open.deep.example/#',
      '/private.deep.example/',
      '/Upper.Example./1.0.0.3',
      '/a.test/b.test/1.0.0.4',
      '/twice.test/1.0.0.5',
      '/twice.test/1.0.0.6',
      '/twice.test/1.0.0.5',
      '9.0.0.1',
    ],
    ['9.0.0.2', '9.0.0.1'],
  );

  it.each([
    ['example', '1.0.0.1', 'is the domain’s, for the domain itself'],
    ['www.example', '1.0.0.1', 'is the domain’s, below it'],
    ['WWW.Example', '1.0.0.1', 'does not depend on the question’s case'],
    ['badexample', '9.0.0.1,9.0.0.2', 'respects label boundaries'],
    ['example.com', '9.0.0.1,9.0.0.2', 'looks at the end of a name only'],
    ['deep.example', '1.0.0.2', 'is the longest domain’s'],
    ['x.y.deep.example', '1.0.0.2', 'is the longest domain’s, below it'],
    ['open.deep.example', '9.0.0.1,9.0.0.2', 'is the default for a domain with #'],
    ['x.open.deep.example', '9.0.0.1,9.0.0.2', 'is the default below a domain with #'],
    ['private.deep.example', 'local', 'is local for a domain without a target'],
    ['x.private.deep.example', 'local', 'is local below a domain without a target'],
    ['x.upper.example', '1.0.0.3', 'does not depend on the rule’s case and final dot'],
    ['a.test', '1.0.0.4', 'is the same for the first of a rule’s domains'],
    ['x.b.test', '1.0.0.4', 'is the same for each of a rule’s domains'],
    ['twice.test', '1.0.0.5,1.0.0.6', 'has all servers of the domain, each once'],
    ['.', '9.0.0.1,9.0.0.2', 'is the default for the root'],
    ['elsewhere', '9.0.0.1,9.0.0.2', 'is the default, rules before resolv servers, each once'],
  ])('%s → %s: it %s', (name, expected) => {
    expect(target(routes, name)).toBe(expected);
  });

  const wild = routesOf([
    ...['/wild.com/1.0.0.1', '/*wild.com/1.0.0.2', '/*ld.com/1.0.0.3', '/*.below.com/1.0.0.4'],
    ...['/below.com/1.0.0.5', '/single/1.0.0.6', '//1.0.0.7', '/*local.com/', '9.0.0.1'],
  ]);

  it.each([
    ['wild.com', '1.0.0.1', 'a domain beats a wildcard of the same length'],
    ['x.wild.com', '1.0.0.1', 'a domain beats a wildcard of the same length, below it'],
    ['notwild.com', '1.0.0.2', 'the longest wildcard counts'],
    ['x.notwild.com', '1.0.0.2', 'the longest wildcard counts, below it'],
    ['old.com', '1.0.0.3', 'a shorter wildcard counts when the longer does not fit'],
    ['ld.com', '1.0.0.3', 'a wildcard may be all of a label'],
    ['d.com', '9.0.0.1', 'a label that is shorter than the wildcard is none of its'],
    ['below.com', '1.0.0.5', '*.domain does not have the domain itself'],
    ['x.below.com', '1.0.0.4', '*.domain has what is below'],
    ['xbelow.com', '9.0.0.1', '*.domain respects label boundaries'],
    ['nonlocal.com', 'local', 'a wildcard may be local'],
    ['single', '1.0.0.6', 'a domain beats the rule for names of one label'],
    ['other', '1.0.0.7', 'names of one label have a rule'],
    ['.', '9.0.0.1', 'the root has no label'],
  ])('%s → %s: %s', (name, expected) => {
    expect(target(wild, name)).toBe(expected);
  });

  it('is nowhere without rules and resolv servers', () => {
    expect(target(routesOf([]), 'x.example')).toBe('nowhere');
  });

  it('is that of the resolv servers without a rule for it', () => {
    expect(target(routesOf(['/a/1.0.0.1'], ['9.0.0.9']), 'x.example')).toBe('9.0.0.9');
  });

  it('takes # for every name', () => {
    expect(target(routesOf(['/#/1.0.0.1']), 'x.example')).toBe('1.0.0.1');
  });

  it('leads to the servers of a domain that is local as well', () => {
    expect(target(routesOf(['/a/', '/a/1.0.0.1']), 'x.a')).toBe('1.0.0.1');
  });

  it('leads to the default servers for a domain that has # and servers', () => {
    expect(target(routesOf(['/a/1.0.0.1', '/a/#', '9.0.0.1']), 'x.a')).toBe('9.0.0.1');
  });

  it('is nowhere for a domain with # and no default servers', () => {
    expect(target(routesOf(['/a/#', '/b/']), 'x.a')).toBe('nowhere');
  });
});

describe('default servers that must not be asked', () => {
  const routes = new Routes({
    rules: ['1.0.0.1', '/a/1.0.0.1', '/b/#'].map(parseServerRule),
    resolvServers: addresses('9.0.0.1'),
    isUsable: ({ address }) => address !== '1.0.0.1',
  });

  it('are left out of the default route and of routes that use it', () => {
    expect(target(routes, 'x')).toBe('9.0.0.1');
    expect(target(routes, 'x.b')).toBe('9.0.0.1');
  });

  it('still serve their own domains', () => {
    expect(target(routes, 'x.a')).toBe('1.0.0.1');
  });

  it('stay listed among the default servers', () => {
    expect(routes.defaultServers.map(({ server }) => server.address)).toEqual([
      '1.0.0.1',
      '9.0.0.1',
    ]);
  });

  it('do not make the default local when none is left', () => {
    const none = new Routes({
      rules: ['/#/', '1.0.0.1'].map(parseServerRule),
      resolvServers: [],
      isUsable: () => false,
    });
    expect(target(none, 'x')).toBe('nowhere');
  });
});

describe('routes, compared with a plain search through the rules', () => {
  const label = fc.constantFrom('a', 'b', 'ab', 'A');
  const name = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
  const server = fc.integer({ min: 1, max: 5 }).map((n) => `1.0.0.${n}`);
  const rule = fc.record({
    domains: fc.array(name, { maxLength: 2 }),
    target: fc.oneof({ weight: 3, arbitrary: server }, fc.constantFrom('', '#')),
  });

  interface Rule {
    readonly domains: readonly string[];
    readonly target: string;
  }

  /** The same by text: of every domain that the name ends with, the longest, with all its targets. */
  function search(rules: readonly Rule[], resolv: readonly string[], text: string): string {
    const wanted = text.toLowerCase();
    const pairs = rules.flatMap(({ domains, target: to }) =>
      (domains.length === 0 ? [''] : domains).map((domain) => [domain.toLowerCase(), to] as const),
    );
    const matching = pairs
      .map(([domain]) => domain)
      .filter((domain) => domain !== '' && `.${wanted}`.endsWith(`.${domain}`));
    const longest = matching.reduce((best, next) => (next.length > best.length ? next : best), '');
    const targets = pairs.filter(([domain]) => domain === longest).map(([, to]) => to);
    if (longest !== '' && targets.includes('#')) {
      return search(
        rules.filter(({ domains }) => domains.length === 0),
        resolv,
        'none',
      );
    }
    const extra = longest === '' ? resolv : [];
    const servers = [...targets.filter((to) => to !== '' && to !== '#'), ...extra];
    if (servers.length > 0) return [...new Set(servers)].join(',');
    return targets.includes('') ? 'local' : 'nowhere';
  }

  it('agree for any rules and any name', () => {
    fc.assert(
      fc.property(
        fc.array(rule, { maxLength: 8 }),
        fc.array(server, { maxLength: 2 }),
        name,
        (rules, resolv, asked) => {
          const values = rules.map(({ domains, target: to }) =>
            domains.length === 0 ? to : `/${domains.join('/')}/${to}`,
          );
          expect(target(routesOf(values, resolv), asked)).toBe(search(rules, resolv, asked));
        },
      ),
      { numRuns: 500 },
    );
  });
});
