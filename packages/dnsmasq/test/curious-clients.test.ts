import { afterEach, beforeEach, expect, it } from '@jest/globals';
import {
  addressRecords,
  decodeMessage,
  ednsText,
  encodeQuery,
  endPrograms,
  exchange,
  ScriptedNameServer,
} from '@kube-dns/testkit';
import { serve } from './processes.js';

let upstream: ScriptedNameServer;
let seen: string[];

beforeEach(async () => {
  seen = [];
  upstream = await ScriptedNameServer.start(({ query }) => {
    seen.push(ednsText(query));
    return { answers: addressRecords(60, `10.0.0.${seen.length}`) };
  });
});

afterEach(async () => {
  await endPrograms();
  await upstream.close();
});

const NETWORKS = ['0001180001020300', '00011800c0000200', '00022000fd000000'];

it('attack 4: the subnet that a client sends reaches no server, and its answer is that of all clients', async () => {
  const { port } = await serve(['-R', `--server=${upstream.text}`]);
  for (const network of NETWORKS) {
    const query = encodeQuery({ name: 'web.example', options: [`8 ${network.slice(0, -2)}`] });
    const answer = await exchange(port, query);
    expect(decodeMessage(answer).texts).toEqual(['A 10.0.0.1']);
    expect(ednsText(answer)).not.toMatch(/\| 8 /);
  }
  const answer = await exchange(port, encodeQuery({ name: 'web.example' }));
  expect(decodeMessage(answer).texts).toEqual(['A 10.0.0.1']);
  expect(seen).toEqual(['1232']);
});

it('attack 26: a question without RD does not show what is in the cache: it is forwarded', async () => {
  const { port } = await serve(['-R', `--server=${upstream.text}`]);
  const without = encodeQuery({ name: 'web.example', isRecursionDesired: false });
  for (const [query, text] of [
    [encodeQuery({ name: 'web.example' }), 'A 10.0.0.1'],
    [without, 'A 10.0.0.2'],
    [without, 'A 10.0.0.3'],
    [encodeQuery({ name: 'web.example' }), 'A 10.0.0.1'],
  ] as const) {
    expect(decodeMessage(await exchange(port, query)).texts).toEqual([text]);
  }
});
