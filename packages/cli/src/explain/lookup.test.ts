import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, afterEach } from '@jest/globals';
import { runHere } from '../../test/support/run-command.js';
import {
  assumedResolver,
  decidingOutcome,
  muslNote,
  podResolver,
  searchPath,
  lookUp,
} from './lookup.js';

const CLUSTER = {
  searches: ['shop.svc.cluster.local', 'svc.cluster.local', 'cluster.local'],
  ndots: 5,
};

describe('the search path', () => {
  it('tries the search domains first for a name with fewer dots than ndots', () => {
    expect(searchPath('web.data', CLUSTER)).toEqual({
      reason: 'searched',
      candidates: [
        'web.data.shop.svc.cluster.local.',
        'web.data.svc.cluster.local.',
        'web.data.cluster.local.',
        'web.data.',
      ],
    });
  });

  it('tries a name with enough dots as it is first, and one with a final dot as it is alone', () => {
    const { reason, candidates } = searchPath('a.b.c', { ...CLUSTER, ndots: 2 });
    expect([reason, candidates[0], candidates.length]).toEqual(['enough-dots', 'a.b.c.', 4]);
    expect(searchPath('web.', CLUSTER)).toEqual({ reason: 'absolute', candidates: ['web.'] });
    expect(searchPath('web', { searches: [], ndots: 1 }).reason).toBe('no-searches');
  });

  it('leaves out names that are too long', () => {
    const name = `${'a'.repeat(63)}.`.repeat(3) + 'a'.repeat(50);
    expect(searchPath(name, CLUSTER).candidates).toEqual([`${name}.`]);
  });
});

describe('what decides', () => {
  it('is an answer, else an empty one, else a failure, else the last name', () => {
    expect(decidingOutcome(['no-name', 'no-data', 'answered'])).toBe(2);
    expect(decidingOutcome(['no-name', 'failed', 'no-data', 'no-name'])).toBe(2);
    expect(decidingOutcome(['no-name', 'failed', 'no-name'])).toBe(1);
    expect(decidingOutcome(['no-name', 'no-name'])).toBe(1);
  });

  it('is another with musl after an empty answer or a failure, and for a name with enough dots', () => {
    const path = searchPath('web', CLUSTER);
    expect(muslNote(path, ['no-data', 'answered'])).toBe(
      'musl (Alpine) ends the lookup at web.shop.svc.cluster.local. because of an empty answer; glibc goes on',
    );
    expect(muslNote(path, ['failed', 'answered'])).toMatch(/because of a failure/);
    expect(muslNote(path, ['no-name', 'answered'])).toBeUndefined();
    const dotted = searchPath('a.b', { ...CLUSTER, ndots: 1 });
    expect(muslNote(dotted, ['no-name', 'answered'])).toMatch(/there the lookup ends with a\.b\./);
  });
});

function resolverOf(spec: object) {
  const pod = {
    metadata: { name: 'app', namespace: 'shop' },
    spec: { containers: [], ...spec },
    status: { podIP: '10.244.1.9' },
  };
  const { searches, ndots, address } = podResolver(
    JSON.parse(JSON.stringify(pod)) as never,
    'c.local',
  );
  return { searches, ndots, address };
}

const SEARCHES = ['shop.svc.c.local', 'svc.c.local', 'c.local'];

describe('the resolver of a pod', () => {
  it('has the domains of the cluster and ndots 5 with ClusterFirst, and its dnsConfig after these', () => {
    const address = '10.244.1.9';
    expect(resolverOf({})).toEqual({ searches: SEARCHES, ndots: 5, address });
    const dnsConfig = { searches: ['corp.'], options: [{ name: 'ndots', value: '1' }] };
    expect(resolverOf({ dnsConfig })).toEqual({
      searches: [...SEARCHES, 'corp'],
      ndots: 1,
      address,
    });
    expect(assumedResolver('shop', 'c.local')).toMatchObject({ searches: SEARCHES, ndots: 5 });
  });

  it('has none of these with Default, None, and ClusterFirst on the host’s network', () => {
    for (const spec of [{ dnsPolicy: 'Default' }, { dnsPolicy: 'None' }, { hostNetwork: true }])
      expect(resolverOf(spec)).toMatchObject({ searches: [], ndots: 1 });
    const onHost = { dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true };
    expect(resolverOf(onHost)).toMatchObject({ searches: SEARCHES, ndots: 5 });
  });
});

const servers: Server[] = [];
const VERDICT = { answers: [], authorities: [], ede: [], flags: [], rcode: 'NXDOMAIN' };

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function serve(onRequest: RequestListener): Promise<number> {
  const server = createServer(onRequest);
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

/** A page that explains all names the same way. */
async function page(
  program: 'dnsmasq' | 'kubedns',
  onAsked: (name: string) => void,
): Promise<{ program: 'dnsmasq' | 'kubedns'; port: number }> {
  const port = await serve((request, response) => {
    const name = new URL(request.url ?? '', 'http://page').searchParams.get('name') ?? '';
    onAsked(name);
    const question = { name, type: 'A' };
    response.end(JSON.stringify({ program, question, steps: [], verdict: VERDICT }));
  });
  return { program, port };
}

it('each program is asked once for each name, the one that is furthest from the client first', async () => {
  const asked: string[] = [];
  const programs = [
    await page('dnsmasq', (name) => asked.push(`dnsmasq ${name}`)),
    await page('kubedns', (name) => asked.push(`kubedns ${name}`)),
  ];
  const path = { candidates: ['a.b.', 'a.'], reason: 'searched' } as const;
  const { deciding, explained } = await lookUp({ path, type: 'A', client: undefined, programs });
  expect(asked).toEqual(['kubedns a.b.', 'dnsmasq a.b.', 'kubedns a.', 'dnsmasq a.']);
  expect(deciding.explanation.program).toBe('dnsmasq');
  expect(explained.explanations.map(({ program }) => program)).toEqual(['dnsmasq', 'kubedns']);
});

it('a service whose target has no server says more than names that do not exist', async () => {
  const zone = 'svc.cluster.local.';
  const cname = { step: 'name', kind: 'cname', text: 'It is a CNAME of pay.example.com.' };
  const steps = {
    failed: [
      cname,
      { step: 'service', text: 'The service shop/pay is of type ExternalName.' },
      { step: 'route', text: 'The target goes to 192.0.2.1#53.', servers: ['192.0.2.1#53'] },
    ],
    absent: [
      { step: 'absent', text: 'There is no such name.', missing: 'service', labelsBelow: 0 },
    ],
  };
  const port = await serve((request, response) => {
    const name = new URL(request.url ?? '', 'http://page').searchParams.get('name') ?? '';
    const isService = name.endsWith(zone);
    const ede = [{ code: 23, text: 'target of the CNAME' }];
    const verdict = isService
      ? { ...VERDICT, rcode: 'SERVFAIL', answers: [], ede }
      : { ...VERDICT, rcode: 'NXDOMAIN', answers: [] };
    const question = { name, type: 'A' };
    const own = isService ? steps.failed : steps.absent;
    response.end(JSON.stringify({ program: 'kubedns', question, steps: own, verdict }));
  });
  const path = { candidates: [`pay.shop.${zone}`, 'pay.shop.'], reason: 'searched' } as const;
  const programs = [{ program: 'kubedns', port } as const];
  const { deciding, explained } = await lookUp({ path, type: 'A', client: undefined, programs });
  expect(explained).toBe(deciding);
  expect(explained.why).toBe('It is a CNAME of pay.example.com. The target goes to 192.0.2.1#53.');
});

const REMEMBERED = { code: 13, text: 'upstream: SERVFAIL of a moment ago' };

/** The port of a page on which `program` explains a failure with this Extended DNS Error. */
function failingPage(
  program: 'dnsmasq' | 'kubedns',
  ede: { code: number; text: string },
  source = 'upstream',
): Promise<number> {
  const verdict = { rcode: 'SERVFAIL', flags: [], answers: [], authorities: [], source, ms: 1 };
  const steps = [{ step: 'outcome', text: `This is what ${program} does.` }];
  return serve((request, response) => {
    const name = new URL(request.url ?? '', 'http://page').searchParams.get('name');
    // The question of whether there is a page has no name.
    if (name === null) response.statusCode = 400;
    const question = { name, type: 'A' };
    const explanation = { program, question, steps, verdict: { ...verdict, ede: [ede] } };
    response.end(JSON.stringify(name === null ? { error: 'a name is missing' } : explanation));
  });
}

async function explained(dnsmasq: number, kubedns: number): Promise<string> {
  const ports = [`--dnsmasq=${dnsmasq}`, `--kubedns=${kubedns}`, '--node-cache=0'];
  const { stdout } = await runHere(['explain', 'x.dead.test.', ...ports]);
  return stdout.replace(/\s+/g, ' ');
}

describe('a failure that kubedns remembers', () => {
  it('because explain itself asked it just before is not shown as one of before', async () => {
    const kubedns = await failingPage('kubedns', { code: 22, text: 'SERVFAIL 192.0.2.1#53' });
    const text = await explained(await failingPage('dnsmasq', REMEMBERED), kubedns);
    expect(text).toMatch(
      /^x\.dead\.test cannot be answered: SERVFAIL \(EDE 22 SERVFAIL 192\.0\.2\.1#53\)\. /,
    );
    expect(text).toContain(
      'Extended DNS Error 13 (upstream: SERVFAIL of a moment ago): kubedns remembers the failure of what explain itself asked it just before.',
    );
  });

  it.each([
    ['which kubedns itself says', REMEMBERED, REMEMBERED],
    ['which only kubedns says', { code: 22, text: 'SERVFAIL' }, REMEMBERED],
  ])('from a question of before is shown as one: %s', async (_what, dnsmasq, kubedns) => {
    const text = await explained(
      await failingPage('dnsmasq', dnsmasq),
      await failingPage('kubedns', kubedns),
    );
    expect(text).not.toContain('of what explain itself asked');
  });

  it('is not looked for behind an answer from the cache', async () => {
    const kubedns = await failingPage('kubedns', { code: 22, text: 'SERVFAIL' });
    const text = await explained(await failingPage('dnsmasq', REMEMBERED, 'cache'), kubedns);
    expect(text).not.toContain('of what explain itself asked');
  });
});
