import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { lookUp } from './lookup.js';

const servers: Server[] = [];
const VERDICT = { answers: [], authorities: [], ede: [], flags: [], rcode: 'NXDOMAIN' };

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A page that explains all names the same way. */
async function page(
  program: 'dnsmasq' | 'kubedns',
  onAsked: (name: string) => void,
): Promise<{ program: 'dnsmasq' | 'kubedns'; port: number }> {
  const server = createServer((request, response) => {
    const name = new URL(request.url ?? '', 'http://page').searchParams.get('name') ?? '';
    onAsked(name);
    const question = { name, type: 'A' };
    response.end(JSON.stringify({ program, question, steps: [], verdict: VERDICT }));
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { program, port: (server.address() as AddressInfo).port };
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
