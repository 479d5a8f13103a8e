import { describe, expect, it } from '@jest/globals';
import { History } from './history.js';
import {
  expectedAnswers,
  found,
  isTarget,
  type ObjectState,
  podAnswer,
  reverseNameOf,
  reverseTargets,
  seenApart,
  type ServiceState,
} from './service-model.js';

const PORTS = [{ name: 'http', protocol: 'TCP', port: 80 }] as const;
const EMPTY: ServiceState = {
  kind: 'headless',
  clusterIps: [],
  externalName: '',
  ports: PORTS,
  endpoints: [],
};
const targetAnswers = (_name: string, type: string) => [
  found(type === 'A' ? ['A 198.18.0.1'] : []),
];
const answer = (
  state: ObjectState | undefined,
  question: Parameters<typeof expectedAnswers>[2],
) => {
  const answers = expectedAnswers('web.shop', state, question, targetAnswers);
  return answers
    .map(({ rcode, records }) => (records.length === 0 ? rcode : records.join(', ')))
    .join(' or ');
};

describe('what the specification says', () => {
  const headless: ServiceState = {
    ...EMPTY,
    endpoints: [
      { address: '10.0.0.2', hostname: 'a', isReady: true },
      { address: '10.0.0.1', isReady: true },
      { address: '10.0.0.3', hostname: 'c', isReady: false },
    ],
  };
  const cluster: ServiceState = { ...EMPTY, kind: 'ClusterIP', clusterIps: ['10.96.0.7'] };
  const external: ServiceState = { ...EMPTY, kind: 'ExternalName', externalName: 'x.example' };

  it.each([
    ['no service', undefined, { type: 'A' }, 'NXDOMAIN'],
    ['a cluster address', cluster, { type: 'A' }, 'A 10.96.0.7'],
    ['no cluster address of the family', cluster, { type: 'AAAA' }, 'NOERROR'],
    ['its port', cluster, { type: 'SRV', port: '_http._tcp' }, 'SRV 80 web.shop.svc'],
    ['another port', cluster, { type: 'SRV', port: '_http._udp' }, 'NXDOMAIN'],
    [
      'endpoints below a cluster address',
      { ...headless, kind: 'ClusterIP', clusterIps: ['10.96.0.7'] },
      { type: 'A' },
      'A 10.96.0.7',
    ],
    ['a namespace', { kind: 'Namespace' }, { type: 'A' }, 'NXDOMAIN'],
    ['a host of it', cluster, { type: 'A', host: 'a' }, 'NXDOMAIN'],
    ['ready endpoints', headless, { type: 'A' }, 'A 10.0.0.1, A 10.0.0.2'],
    [
      'their ports',
      headless,
      { type: 'SRV', port: '_http._tcp' },
      'SRV 80 *.web.shop.svc, SRV 80 a.web.shop.svc',
    ],
    ['a host', headless, { type: 'A', host: 'a' }, 'A 10.0.0.2'],
    ['a host that is not ready', headless, { type: 'A', host: 'c' }, 'NXDOMAIN'],
    ['no endpoint', EMPTY, { type: 'A' }, 'NXDOMAIN'],
    ['an external name', external, { type: 'A' }, 'A 198.18.0.1, CNAME x.example'],
    ['another type of it', external, { type: 'AAAA' }, 'CNAME x.example'],
  ] as const)('of %s', (_name, state, question, expected) => {
    expect(answer(state, question)).toBe(expected);
  });
});

describe('the name of a pod', () => {
  it.each([
    [undefined, 'A', 'NXDOMAIN', []],
    [{ kind: 'Namespace' }, 'A', 'NOERROR', ['A 10.0.0.1']],
    [{ kind: 'Namespace' }, 'AAAA', 'NOERROR', []],
  ] as const)('in %j, %s: %s', (namespace, type, rcode, records) => {
    expect(podAnswer(namespace, type, '10.0.0.1')).toEqual({ rcode, records });
  });
});

describe('a service that is seen apart from its slices', () => {
  const one = { address: '10.0.0.1', hostname: 'a', isReady: true };
  const other = { address: 'fd00::1', hostname: 'a', isReady: true };
  const full: ServiceState = { ...EMPTY, endpoints: [one, other] };
  const seen = (...states: (ObjectState | undefined)[]) =>
    seenApart(states).map((state) => answer(state, { type: 'A' }));

  it('may have any of its sets of endpoints, of each family', () => {
    expect(seen(full)).toEqual(['A 10.0.0.1']);
    expect(seen(full, { ...EMPTY, endpoints: [other] })).toEqual(['A 10.0.0.1', 'NOERROR']);
  });

  it('is gone before them, or after them', () => {
    expect(seen(full, undefined)).toEqual([
      'NXDOMAIN',
      'A 10.0.0.1',
      'A 10.0.0.1',
      'NOERROR',
      'NXDOMAIN',
    ]);
  });

  it('is no other than a namespace', () => {
    expect(seenApart([{ kind: 'Namespace' }])).toEqual([{ kind: 'Namespace' }]);
  });
});

describe('reverse names', () => {
  const headless: ServiceState = {
    ...EMPTY,
    endpoints: [
      { address: '10.0.0.2', hostname: 'a', isReady: true },
      { address: 'fd00::2', isReady: true },
      { address: '10.0.0.3', hostname: 'c', isReady: false },
    ],
  };
  const cluster: ServiceState = {
    ...EMPTY,
    kind: 'ClusterIP',
    clusterIps: ['10.96.0.7', 'fd00::7'],
  };

  it.each([
    ['a cluster address', cluster, 'fd00::7', ['web.shop.svc']],
    ['an endpoint with a host name', headless, '10.0.0.2', ['a.web.shop.svc']],
    ['an endpoint without one', headless, 'fd00::2', ['*.web.shop.svc']],
    ['an endpoint that is not ready', headless, '10.0.0.3', []],
    ['no service', undefined, '10.0.0.2', []],
  ] as const)('of %s', (_name, state, address, expected) => {
    expect(reverseTargets('web.shop', state, address)).toEqual(expected);
  });

  it('are as RFC 1035 and RFC 3596 have them', () => {
    expect(reverseNameOf('10.0.0.2')).toBe('2.0.0.10.in-addr.arpa');
    expect(reverseNameOf('fd00::2')).toBe(`2.${'0.'.repeat(29)}d.f.ip6.arpa`);
    expect(isTarget('x1.web.shop.svc', '*.web.shop.svc')).toBe(true);
    expect(isTarget('web.shop.svc', '*.web.shop.svc')).toBe(false);
  });
});

describe('the history of a service', () => {
  it('has both states while a request is not answered, and forgets what is long gone', () => {
    const history = new History<ServiceState>(100);
    const begin = history.begin('a', EMPTY, 10);
    expect(history.between('a', 0, 9)).toEqual([undefined]);
    expect(history.between('a', 11, 12)).toEqual([undefined, EMPTY]);
    begin(20);
    expect(history.between('a', 21, 30)).toEqual([EMPTY]);
    expect(history.between('a', 15, 30)).toEqual([undefined, EMPTY]);
    history.begin('a', undefined, 500)(510);
    expect(history.between('a', 0, 15)).toEqual([EMPTY]);
    expect(history.current('a')).toBeUndefined();
  });

  it('ends a state by a later one, whatever became of the requests between', () => {
    const history = new History<ServiceState>(100);
    history.begin('a', EMPTY, 10);
    history.begin('a', EMPTY, 20)(30);
    expect(history.between('a', 25, 29)).toEqual([undefined, EMPTY, EMPTY]);
    expect(history.between('a', 31, 40)).toEqual([EMPTY]);
  });
});
