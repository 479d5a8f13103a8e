import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { chunksOf } from '../src/http/answer.js';
import { CONFIG_MAPS, configMap, server, startServerForEach } from './harness.js';

startServerForEach();

/** An answer as it comes over the wire. */
function raw(path: string, encoding?: string): Promise<IncomingMessage> {
  const headers = encoding === undefined ? {} : { 'accept-encoding': encoding };
  return new Promise((resolve, reject) => {
    request(server.url + path, { headers }, resolve)
      .on('error', reject)
      .end();
  });
}

async function fill(count: number, bytes: number): Promise<void> {
  const value = 'x'.repeat(bytes);
  await server.apply(Array.from({ length: count }, (_, i) => configMap(`m${i}`, { value })));
}

describe('an answer over 128 KiB', () => {
  it('is compressed where the client takes gzip', async () => {
    await fill(40, 4_000);
    const plain = await text(await raw(CONFIG_MAPS));
    expect(plain.length).toBeGreaterThan(128 * 1024);
    const answer = await raw(CONFIG_MAPS, 'deflate, gzip');
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'content-encoding': 'gzip',
      vary: 'Accept-Encoding',
    });
    expect(await text(answer.pipe(createGunzip()))).toBe(plain);
  });

  it.each([undefined, 'deflate, br', 'gzip;q=1.0', '*'])(
    'is not compressed for a client that takes %s',
    async (encoding) => {
      await fill(40, 4_000);
      const answer = await raw(CONFIG_MAPS, encoding);
      expect(answer.headers).not.toHaveProperty('content-encoding');
      expect(answer.headers).not.toHaveProperty('vary');
      expect(JSON.parse(await text(answer))).toMatchObject({ kind: 'ConfigMapList' });
    },
  );

  it('is compressed also when it is one object', async () => {
    await fill(1, 200_000);
    const object = await raw(`${CONFIG_MAPS}/m0`, 'gzip');
    expect(object.headers['content-encoding']).toBe('gzip');
    const whole = JSON.parse(await text(object.pipe(createGunzip()))) as object;
    expect(whole).toEqual(server.get('ConfigMap', 'default', 'm0'));
  });

  it('is written in many turns of the event loop', async () => {
    await fill(200, 20_000);
    let turns = 0;
    let isDone = false;
    const count = () => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const answer = await raw(CONFIG_MAPS);
    const body = await text(answer);
    isDone = true;
    // One for each chunk, of which those of such objects have up to 80 KB.
    expect(turns).toBeGreaterThan(body.length / 160_000);
    expect(answer.headers).not.toHaveProperty('content-length');
  });

  it('ends with its client', async () => {
    await fill(200, 50_000);
    for (const encoding of ['gzip', 'identity']) {
      const answer = await raw(CONFIG_MAPS, encoding);
      answer.destroy();
    }
    expect((await raw(`${CONFIG_MAPS}?limit=1`)).statusCode).toBe(200);
    await until('the end of both', () => server.watchCount() === 0);
  });
});

describe('a shorter answer', () => {
  it('is not compressed, and has its length and a line end', async () => {
    await fill(1, 100);
    for (const path of [CONFIG_MAPS, `${CONFIG_MAPS}/m0`, `${CONFIG_MAPS}/none`, '/api/v1']) {
      const answer = await raw(path, 'gzip');
      expect(answer.headers).not.toHaveProperty('content-encoding');
      expect(answer.headers).toMatchObject({
        'content-type': 'application/json',
        'cache-control': 'no-cache, private',
      });
      const body = await text(answer);
      expect(body.endsWith('}\n')).toBe(true);
      expect(answer.headers['content-length']).toBe(String(body.length));
    }
  });
});

describe('a watch', () => {
  it('is never compressed', async () => {
    await fill(40, 4_000);
    const answer = await raw(`${CONFIG_MAPS}?watch=1`, 'gzip');
    expect(answer.headers).not.toHaveProperty('content-encoding');
    answer.destroy();
  });
});

describe('pieces of an answer', () => {
  const joined = (pieces: readonly Buffer[]) => [...chunksOf(pieces)];

  it('that are neighbours in memory are joined without a copy', () => {
    const memory = Buffer.alloc(200_000, 'abc');
    const pieces = Array.from({ length: 200 }, (_, i) =>
      memory.subarray(i * 1_000, (i + 1) * 1_000),
    );
    const chunks = joined(pieces);
    expect(chunks.map(({ length }) => length)).toEqual([66_000, 66_000, 66_000, 2_000]);
    expect(chunks.every(({ buffer }) => buffer === memory.buffer)).toBe(true);
    expect(Buffer.concat(chunks).equals(memory)).toBe(true);
  });

  it('that are elsewhere are copied, and large ones alone are not', () => {
    const large = Buffer.alloc(100_000, 'l');
    const pieces = [Buffer.from('a'), Buffer.from('b'), large, large, Buffer.from('c')];
    const chunks = joined(pieces);
    expect(chunks.map(({ length }) => length)).toEqual([100_002, 100_000, 1]);
    expect(chunks[1]?.buffer).toBe(large.buffer);
    expect(Buffer.concat(chunks).equals(Buffer.concat(pieces))).toBe(true);
  });
});
