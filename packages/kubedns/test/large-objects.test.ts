import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import {
  closeAll,
  eventText,
  fakeServer,
  Follower,
  listText,
  rawServer,
} from './support/follower.js';

afterEach(closeAll);

const THREE_MIB = ' '.repeat(3 * 1024 * 1024);
const TOO_LARGE = 'it has more than 2097152 bytes; passed over';

/** An object with something in it that may be large. */
const objectText = (name: string, version: string, large: string, kind = '') =>
  `{${kind}"metadata":{"name":"${name}","namespace":"default","resourceVersion":"${version}"},"x":${large}}`;
const withItem = (text: string, item: string) => text.replace('"items":[', `"items":[${item},`);
const event = (type: string, object: string) => `{"type":"${type}","object":${object}}\n`;

describe('an object above 2 MiB', () => {
  const large = (name: string, version = '1') =>
    objectText(name, version, `"${THREE_MIB}"`, '"kind":"Service",');

  it('is passed over in a list, counted each time and logged once, and the rest is there', async () => {
    let lists = 0;
    const { url } = await fakeServer((isWatch) => {
      if (isWatch) return ['nonsense\n'];
      lists++;
      return [withItem(listText([`web${lists}`], String(lists)), large('big'))];
    });
    const follower = new Follower(url).start();
    await until('two lists', () => follower.has('web2'));
    expect(follower.synced).toBe(1);
    expect(follower.has('big')).toBe(false);
    expect(follower.watch.passedOver).toBeGreaterThanOrEqual(2);
    expect(follower.said(/^E.*big/)).toEqual([
      `E /api/v1/services: Service default/big: ${TOO_LARGE}`,
    ]);
  });

  it('is passed over in a watch, which goes on, and counts as deleted', async () => {
    const watches: string[] = [];
    let open: ServerResponse | undefined;
    const url = await rawServer((request, response) => {
      const query = new URL(request.url ?? '', 'http://x').searchParams;
      const version = watches.length === 0 ? '1' : '4';
      if (!query.has('watch')) return void response.end(listText(['big', 'web'], version));
      watches.push(query.get('resourceVersion') ?? '');
      open = response;
      response.flushHeaders();
      if (watches.length > 1) return;
      response.write(event('MODIFIED', large('big', '2')));
      response.write(eventText('ADDED', 'new', '3'));
      response.write(event('ADDED', large('other', '4')));
    });
    const follower = new Follower(url, { pace: { stableMs: 0 } }).start();
    await until('what follows', () => follower.has('new'));
    await until('the second', () => follower.watch.passedOver === 2);
    expect([...follower.objects.keys()]).toEqual(['default/web', 'default/new']);
    expect(watches).toEqual(['1']);
    open!.end();
    await until('the next watch', () => watches.length === 2);
    expect(watches).toEqual(['1', '4']);
    expect(follower.said(/passed over/)).toHaveLength(2);
  });
});

describe('an object that takes long to be parsed', () => {
  it.each([
    ['is nested too deep', 700_000, '[', ']', 'it is nested more than 100 deep'],
    ['has too many values', 200_000, '0,', '', 'it has more than 100000 brackets and commas'],
  ])('because it %s is passed over', async (_what, count, open, close, reason) => {
    const nested = `${open.repeat(count)}0${close.repeat(count)}`;
    const hard = objectText('hard', '2', nested.startsWith('[') ? nested : `[${nested}]`);
    const { url } = await fakeServer((isWatch) => {
      if (!isWatch) return [withItem(listText(['web']), hard)];
      return [event('ADDED', hard), eventText('ADDED', 'new', '3')];
    });
    const follower = new Follower(url).start();
    await until('what follows', () => follower.has('new'));
    expect(follower.has('web')).toBe(true);
    expect(follower.has('hard')).toBe(false);
    expect(follower.watch.passedOver).toBeGreaterThanOrEqual(2);
    expect(follower.said(/^E/)).toEqual([
      `E /api/v1/services: default/hard: ${reason}; passed over`,
    ]);
  });
});

describe('more objects than the limits allow', () => {
  const limits = { maxObjects: 3, maxBytes: 1_000_000 };
  const names = (count: number) => Array.from({ length: count }, (_, i) => `s${i}`);

  it('end the first list, which is tried again until there are fewer', async () => {
    let lists = 0;
    const { url } = await fakeServer((isWatch) => {
      if (isWatch) return [];
      return [listText(names(++lists < 3 ? 5 : 2), String(lists))];
    });
    const follower = new Follower(url, { limits, pace: { deniedPauseMs: 50 } }).start();
    await until('a second list', () => lists === 2);
    expect(follower.synced).toBe(0);
    expect(follower.watch.isOverLimit).toBe(true);
    expect(follower.watch.excess).toBe('there are more than 3 objects (--max-objects)');
    expect(follower.objects.size).toBe(3);
    expect(follower.said(/^E/)[0]).toMatch(
      /services: there are more than 3 objects \(--max-objects\); not ready; next try in 50 ms/,
    );
    await until('fewer', () => follower.synced === 1);
    expect(follower.watch.isOverLimit).toBe(false);
    expect(follower.objects.size).toBe(2);
    expect(follower.watch.restarts.full).toBe(2);
  });

  it('end a watch, and the objects that are there stay', async () => {
    const { url } = await fakeServer((isWatch) => {
      if (!isWatch) return [listText(names(3))];
      return [eventText('ADDED', 'more', '2')];
    });
    const follower = new Follower(url, { limits }).start();
    await until('the limit', () => follower.watch.isOverLimit);
    expect(follower.objects.size).toBe(3);
  });
});
