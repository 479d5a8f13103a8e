import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { importObject } from '../../test/support/objects.js';
import { recordedLog } from '../../test/support/recorded-log.js';
import { ApiError } from '../errors.js';
import type { ApiBody, ApiRequest } from './api-client.js';
import { OptionalWatch } from './optional-watch.js';
import { serviceImports } from './service-imports.js';

const GROUP = '/apis/multicluster.x-k8s.io';

/** An API server with ServiceImports, of which each part can be taken away. */
class Server {
  /** Those that have the resource. */
  versions: string[] = [];
  /** What lists are refused with; 0 for none. */
  status = 0;
  objects: object[] = [];
  readonly paths: string[] = [];
  #watches: ((line?: object) => void)[] = [];

  readonly get = async (request: ApiRequest): Promise<ApiBody> => {
    const { path, isWatch = false, signal } = request;
    this.paths.push(isWatch ? `watch ${path}` : path);
    const version = this.versions.find((each) => path.startsWith(`${GROUP}/${each}`));
    if (version === undefined) throw new ApiError(404, 'HTTP 404');
    if (path === `${GROUP}/${version}`)
      return bodyOf([{ resources: [{ name: 'serviceimports' }] }]);
    if (this.status !== 0) throw new ApiError(this.status, `HTTP ${this.status}`);
    if (isWatch) return this.#watch(signal);
    return Promise.resolve(bodyOf([{ metadata: { resourceVersion: '5' }, items: this.objects }]));
  };

  /** Ends all watches. */
  end(): void {
    for (const end of this.#watches.splice(0)) end();
  }

  #watch(signal: AbortSignal): ApiBody {
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve, reject) => {
      end = resolve;
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
    this.#watches.push(end);
    return bodyOf([], ended);
  }
}

function bodyOf(values: readonly object[], ended = Promise.resolve()): ApiBody {
  const pieces = values.map((value) => Buffer.from(JSON.stringify(value)));
  return {
    receivedBytes: 0,
    contentBytes: 0,
    lastByteMs: performance.now(),
    async *[Symbol.asyncIterator]() {
      for (const bytes of pieces) yield { bytes, arrivedMs: performance.now() };
      await ended;
    },
  } as unknown as ApiBody;
}

let server: Server;
let log: ReturnType<typeof recordedLog>;
let stored: Map<string, unknown>;
let known: number;
let digests: string[];
let opened: OptionalWatch[];
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'performance'] });
  server = new Server();
  log = recordedLog(2);
  stored = new Map();
  known = 0;
  digests = [];
  opened = [];
});
afterEach(async () => {
  await Promise.all(opened.map(({ watch }) => watch.close()));
  jest.useRealTimers();
});

function follow(): OptionalWatch {
  const resource = serviceImports((key, after) => {
    if (after === undefined) stored.delete(key);
    else stored.set(key, after);
  });
  const following = new OptionalWatch({
    client: server,
    resource,
    log,
    random: () => 0,
    pace: { aliveMs: 3_600_000, silentMs: 3_600_000 },
    onKnown: () => known++,
    onContent: (digest) => digests.push(digest),
  });
  opened.push(following);
  following.watch.start();
  return following;
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) await new Promise(setImmediate);
}
/** Time passes, and what is due happens. */
async function pass(ms: number): Promise<void> {
  await jest.advanceTimersByTimeAsync(ms);
  await settled();
}

describe('the watch of an optional resource', () => {
  it.each([
    [['v1alpha1', 'v1beta1'], 'v1beta1'],
    [['v1alpha1'], 'v1alpha1'],
  ])('of which %j are served reads %s', async (versions, used) => {
    server.versions = versions;
    server.objects = [importObject()];
    const following = follow();
    await settled();
    expect([following.state, known, [...stored.keys()]]).toEqual(['watching', 1, ['default/web']]);
    expect(server.paths.at(-1)).toBe(`watch ${GROUP}/${used}/serviceimports`);
  });

  it('is known and empty where there is no such resource, which is looked for each 60 s', async () => {
    const following = follow();
    await settled();
    expect([following.state, following.watch.isAbsent, known]).toEqual(['absent', true, 1]);
    const looks = server.paths.length;
    await pass(59_000);
    expect(server.paths).toHaveLength(looks);
    server.versions = ['v1beta1'];
    server.objects = [importObject()];
    await pass(1_100);
    expect([following.state, known, stored.size]).toEqual(['watching', 2, 1]);
    expect(log.lines.filter((line) => line.startsWith('W'))).toHaveLength(1);
  });

  it('drops its objects when the resource is removed, and has them again after it is back', async () => {
    server.versions = ['v1beta1'];
    server.objects = [importObject()];
    const following = follow();
    await settled();
    server.versions = [];
    server.end();
    for (let s = 0; s < 10 && following.state !== 'absent'; s++) await pass(1_000);
    expect([following.state, stored.size]).toEqual(['absent', 0]);
    server.versions = ['v1alpha1'];
    await pass(61_000);
    expect([following.state, stored.size]).toEqual(['watching', 1]);
    expect(new Set(digests)).toEqual(new Set([digests[0], '0']));
  });

  it('is denied without rights, says so once, and keeps what it knew when it loses them', async () => {
    server.versions = ['v1beta1'];
    server.status = 403;
    const following = follow();
    await settled();
    expect([following.state, following.watch.isAbsent, known]).toEqual(['denied', false, 0]);
    server.status = 0;
    server.objects = [importObject()];
    await pass(61_000);
    expect([following.state, known]).toEqual(['watching', 1]);
    server.status = 403;
    server.end();
    for (let s = 0; s < 10 && following.state !== 'denied'; s++) await pass(1_000);
    expect([following.state, stored.size]).toEqual(['denied', 1]);
    server.versions = [];
    await pass(61_000);
    expect([following.state, stored.size]).toEqual(['absent', 0]);
  });

  it('says when it is asked again after a refusal that counts: the first one may be a mistake of the server', async () => {
    server.versions = ['v1beta1'];
    const following = follow();
    await settled();
    server.status = 403;
    server.end();
    for (let s = 0; s < 10 && following.state !== 'denied'; s++) await pass(1_000);
    expect(
      log.lines.slice(-2).map((line) => line.replace(/ \S+:/, '').replace(/in \d+ ms|now/, 'soon')),
    ).toEqual(['I HTTP 403; next try soon', 'W HTTP 403; next try in 60 s']);
  });

  it('goes on with another version where the one that was read is not served any more', async () => {
    server.versions = ['v1alpha1'];
    server.objects = [importObject()];
    const following = follow();
    await settled();
    server.versions = ['v1beta1'];
    server.end();
    for (let s = 0; s < 5; s++) await pass(1_000);
    expect([following.state, stored.size]).toEqual(['watching', 1]);
    expect(server.paths).toContain(`watch ${GROUP}/v1beta1/serviceimports`);
  });
});

describe('what tells two sets of objects apart', () => {
  const digestOf = async (...objects: object[]) => {
    server.versions = ['v1beta1'];
    server.objects = objects;
    digests = ['0'];
    follow();
    await settled();
    return digests.at(-1);
  };

  it('is the same in any order and of any version, and another one of other content', async () => {
    const one = importObject({ version: 1 });
    const other = importObject({ name: 'db', version: 2 });
    const digest = await digestOf(one, other);
    expect(await digestOf(importObject({ name: 'db', version: 7 }), one)).toBe(digest);
    expect(await digestOf(one)).not.toBe(digest);
    expect(await digestOf(importObject({ ips: ['10.42.0.2'] }), other)).not.toBe(digest);
    expect(await digestOf()).toBe('0');
  });
});
