import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { ask, endPrograms, type Question, ScriptedNameServer, until } from '@kube-dns/testkit';
import { expectSameTtls, explainsAsMuch, reasonsOf, viewOf } from './answer-view.js';
import { DIFFERENT } from './oracle-local-differences.js';
import { RECORD_CASES } from './oracle-local-records.js';
import { RULE_CASES } from './oracle-local-rules.js';
import { HOSTS, MORE_HOSTS, questions, respond, SERVERS_FILE } from './oracle-local-zone.js';
import { MADE_DIFFERENT, MADE_SAME } from './oracle-made-cases.js';
import { serve, type Serving } from './processes.js';
import { describeBesideReal, serveReal } from './real-dnsmasq.js';

// Without the real dnsmasq there is nothing to compare with; Debian has it in dnsmasq-base.

describeBesideReal('local data beside the real dnsmasq', () => {
  let upstream: ScriptedNameServer;
  let folder: string;

  beforeAll(async () => {
    upstream = await ScriptedNameServer.start(respond);
    folder = mkdtempSync(join(tmpdir(), 'dnsmasq-local-'));
    writeFileSync(join(folder, 'hosts'), HOSTS);
    writeFileSync(join(folder, 'bad'), '10.0.0.1 a..b good.x\n');
    writeFileSync(join(folder, 'servers'), SERVERS_FILE.replaceAll('UPSTREAM', upstream.text));
    mkdirSync(join(folder, 'more'));
    writeFileSync(join(folder, 'more', 'b'), MORE_HOSTS);
    for (const name of ['.hidden', 'backup~', '#auto#']) {
      writeFileSync(join(folder, 'more', name), '10.0.2.2 gamma');
    }
  });

  afterEach(() => endPrograms());

  afterAll(async () => {
    await upstream.close();
    rmSync(folder, { recursive: true });
  });

  const filledIn = (option: string) =>
    option
      .replace('HOSTS', join(folder, 'hosts'))
      .replace('BAD', join(folder, 'bad'))
      .replace('SERVERS', join(folder, 'servers'))
      .replace('FOLDER', join(folder, 'more'))
      .replace('UPSTREAM', upstream.text);

  async function serveBoth(options: readonly string[]): Promise<Serving[]> {
    const all = [
      '--no-resolv',
      '--no-hosts',
      '-k',
      '--log-facility=-',
      `--server=${upstream.text}`,
    ];
    const argv = [...all, ...options.map(filledIn)];
    return Promise.all([serve(argv), serveReal(argv)]);
  }

  /** Asks both, and says in what their answers differ. */
  async function compare(servings: readonly Serving[], question: Question) {
    const sinceMs = performance.now();
    const [seen, expected] = await Promise.all(servings.map(({ port }) => ask(port, question)));
    const [ours, real] = [viewOf(seen!), viewOf(expected!)];
    const fields = (Object.keys(ours) as (keyof typeof ours)[]).filter(
      (field) => JSON.stringify(ours[field]) !== JSON.stringify(real[field]),
    );
    if (!explainsAsMuch(reasonsOf(seen!), reasonsOf(expected!))) fields.push('additionals');
    if (fields.length === 0) expectSameTtls(seen!, expected!, sinceMs);
    const only = (view: typeof ours) => fields.map((field) => ({ [field]: view[field] }));
    return { question, fields, ours: only(ours), real: only(real) };
  }

  async function differencesOf(servings: readonly Serving[], asked: readonly Question[]) {
    const differences = [];
    for (const question of asked) differences.push(await compare(servings, question));
    return differences.filter(({ fields }) => fields.length > 0);
  }

  it.each(Object.entries({ ...RECORD_CASES, ...RULE_CASES, ...MADE_SAME }))(
    'is answered the same: %s',
    async (_what, group) => {
      const servings = await serveBoth(group.options);
      expect(await differencesOf(servings, group.questions)).toEqual([]);
    },
  );

  it.each(Object.entries({ ...DIFFERENT, ...MADE_DIFFERENT }))(
    'is answered otherwise: %s',
    async (_what, row) => {
      const servings = await serveBoth(row.options);
      expect(await differencesOf(servings, row.questions.slice(0, -1))).toEqual([]);
      expect((await compare(servings, row.questions.at(-1)!)).fields).toEqual(row.fields);
    },
  );

  it('is the same after SIGHUP, when a hosts file has changed', async () => {
    const path = join(folder, 'changing');
    writeFileSync(path, '10.0.0.1 before.x both.x\n');
    const servings = await serveBoth([`--addn-hosts=${path}`]);
    const asked = questions('before.x', 'both.x', 'after.x', '1.0.0.10.in-addr.arpa PTR');
    expect(await differencesOf(servings, asked)).toEqual([]);
    writeFileSync(path, '10.0.0.2 both.x\n10.0.0.1 after.x\n');
    expect(await differencesOf(servings, asked)).toEqual([]);
    for (const { process } of servings) process.signal('SIGHUP');
    for (const { port } of servings) {
      await until(async () => (await ask(port, 'after.x')).texts[0] === 'A 10.0.0.1');
    }
    expect(await differencesOf(servings, asked)).toEqual([]);
  });

  it('is the same when a file of --hostsdir comes, changes and goes', async () => {
    const path = join(folder, 'watched');
    mkdirSync(path);
    const servings = await serveBoth([`--hostsdir=${path}`]);
    const expectBoth = async (text: string) => {
      for (const { port } of servings) {
        await until(async () => (await ask(port, 'watched.x')).texts[0] === text);
      }
    };
    await expectBoth('A 10.99.99.99');
    writeFileSync(join(path, 'one'), '10.0.0.1 watched.x\n');
    await expectBoth('A 10.0.0.1');
    writeFileSync(join(path, 'one'), '10.0.0.2 watched.x\n');
    await expectBoth('A 10.0.0.2');
    rmSync(join(path, 'one'));
    await expectBoth('A 10.99.99.99');
  });
});
