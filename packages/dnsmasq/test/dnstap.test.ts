import { afterEach, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { addressRecords, ask } from '@kube-dns/resolver/testing';
import {
  endPrograms,
  needsPrograms,
  ownedBy,
  readDnstap,
  TemporaryFolder,
  timed,
  unless,
} from '@kube-dns/testkit';
import { FakeUpstream } from './fake-upstream.js';
import { serve } from './processes.js';

const own = ownedBy(afterEach);
afterEach(() => endPrograms());

unless(needsPrograms('dnstap-read'), it)(
  '--dnstap has a message for each query, answer, and exchange with a server',
  async () => {
    const path = join(own(new TemporaryFolder()).path, 'tap');
    const answers = addressRecords(100, '10.0.0.1');
    const upstream = own(await FakeUpstream.start(() => ({ answers })));
    const server = `--server=${upstream.text}`;
    const { process, port } = await serve(['--no-resolv', server], [`--dnstap=file:${path}`]);
    for (let i = 0; i < 2; i++) await ask(port, 'a.example');
    await process.close('SIGTERM');
    // The port is the system's choice, and not that of the command line.
    const ours = '127.0.0.1:0';
    const theirs = `127.0.0.1:${upstream.port}`;
    const rows = await readDnstap(path);
    expect(rows.map(({ type, answerer }) => [type, answerer])).toEqual([
      ['FQ', theirs],
      ['FR', theirs],
      ['CQ', ours],
      ['CR', ours],
      ['CQ', ours],
      ['CR', ours],
    ]);
  },
);

it('a reader that is not there is one line of the log, and delays neither answers nor the end', async () => {
  const path = join(own(new TemporaryFolder()).path, 'socket');
  const { process, port } = await serve(
    ['--no-resolv', '--address=/a.example/10.0.0.1'],
    [`--dnstap=unix:${path}`],
  );
  expect((await ask(port, 'a.example')).texts).toEqual(['A 10.0.0.1']);
  const { runningMs } = await timed(() => process.close('SIGTERM'));
  expect(runningMs).toBeLessThan(5_000);
  const lines = process.stderr.split('\n').filter((line) => line.includes('dnstap unix:'));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(
    `dnstap unix:${path}: no such file or directory; messages are dropped`,
  );
});
