import { afterEach, expect, it } from '@jest/globals';
import { join } from 'node:path';
import {
  addressRecords,
  ask,
  endPrograms,
  needsPrograms,
  ownedBy,
  readDnstap,
  ScriptedNameServer,
  TemporaryFolder,
  unless,
} from '@kube-dns/testkit';
import { serve } from './processes.js';

const own = ownedBy(afterEach);
afterEach(() => endPrograms());

unless(needsPrograms('dnstap-read'), it)(
  '--dnstap has a message for each query, answer, and exchange with a server',
  async () => {
    const path = join(own(new TemporaryFolder()).path, 'tap');
    const answers = addressRecords(100, '10.0.0.1');
    const upstream = own(await ScriptedNameServer.start(() => ({ answers })));
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
