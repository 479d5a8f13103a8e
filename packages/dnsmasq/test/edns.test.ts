import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { endPrograms, until } from '@kube-dns/testkit';
import { writeUint16 } from '@kube-dns/wire';
import { exchangeTcp, exchangeUdp, readAnswer } from './client.js';
import { echoingResponse, optText, queryWithOptions } from './edns-messages.js';
import { FakeUpstream } from './fake-upstream.js';
import { addressRecords, queryMessage } from './messages.js';
import { serve } from './processes.js';

describe('queries with data of the client', () => {
  let upstream: FakeUpstream;
  let seen: string[];

  beforeEach(async () => {
    seen = [];
    upstream = await FakeUpstream.start((query) => {
      seen.push(optText(query.bytes.subarray(0, query.length)));
      return [echoingResponse(query, { answers: addressRecords(60, '10.0.0.1') })];
    });
  });

  afterEach(async () => {
    await endPrograms();
    await upstream.close();
  });

  const start = (...options: string[]) => serve(['-R', `--server=${upstream.text}`, ...options]);

  it('are answered without a trace of it, and asked for each time', async () => {
    const { port } = await start('--add-subnet=24');
    for (const exchange of [exchangeUdp, exchangeUdp, exchangeTcp]) {
      const answer = await exchange(port, queryMessage({ name: 'web.example' }));
      expect(readAnswer(answer).texts).toEqual(['A 10.0.0.1']);
      expect(optText(answer)).toBe('none');
    }
    expect(seen).toEqual(new Array(3).fill('512 | 8 000118007f0000'));
  });

  it('are cached where all clients send the same', async () => {
    const { port } = await start('--add-cpe-id=here');
    for (let i = 0; i < 2; i++) await exchangeUdp(port, queryMessage({ name: 'web.example' }));
    expect(seen).toEqual([`512 | 65074 ${Buffer.from('here').toString('hex')}`]);
  });

  it('are the same when an expired answer is refreshed', async () => {
    upstream.script = (query) => {
      seen.push(optText(query.bytes.subarray(0, query.length)));
      return [echoingResponse(query, { answers: addressRecords(1, '10.0.0.1') })];
    };
    const { port } = await start('--add-cpe-id=x', '--use-stale-cache');
    await until(async () => {
      const answer = await exchangeUdp(port, queryMessage({ name: 'web.example' }));
      expect(readAnswer(answer).texts).toEqual(['A 10.0.0.1']);
      return seen.length === 2;
    });
    expect(seen).toEqual(['512 | 65074 78', '512 | 65074 78']);
  });

  it('pass on what else clients say, but not what is taken out', async () => {
    const { port } = await start('--strip-mac');
    await exchangeUdp(port, queryWithOptions({ name: 'web.example' }, '65001 0102', '10 0304'));
    expect(seen).toEqual(['1232 | 10 0304']);
  });

  it('get no answer about another network', async () => {
    const { port } = await start('--add-subnet=24', '--query-timeout=300');
    upstream.script = (query) => {
      const reply = echoingResponse(query, { answers: addressRecords(60, '10.6.6.6') });
      writeUint16(reply, reply.length - 2, 0x0909);
      return [reply];
    };
    const answer = await exchangeUdp(port, queryMessage({ name: 'web.example' }));
    expect(readAnswer(answer)).toMatchObject({ rcode: 'SERVFAIL', texts: [] });
  });
});
