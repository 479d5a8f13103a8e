import { afterEach, expect, it } from '@jest/globals';
import { ask, needsPrograms, ownedBy, readDnstap, unless } from '@kube-dns/testkit';
import { ProgramTestbed } from './support/program-testbed.js';

const opened = ownedBy(afterEach);

unless(needsPrograms('dnstap-read'), it)(
  '--dnstap has a message for each query of a client, each answer, and each exchange with a server',
  async () => {
    const testbed = opened(await ProgramTestbed.create());
    const { port, upstream } = testbed;
    const path = testbed.file('tap');
    const program = await testbed.start(`--dnstap=file:${path}`);
    for (const name of ['a.example', 'a.example', 'a.cluster.local']) await ask(port, name);
    program.signal('SIGTERM');
    await program.ended;
    const rows = await readDnstap(path);
    const ours = `127.0.0.1:${port}`;
    const theirs = `127.0.0.1:${upstream.port}`;
    const client = [`CQ ${ours} UDP`, `CR ${ours} UDP`];
    // Whether the cluster's DNS answers is asked, too, for the root.
    const asked = rows.filter(({ question }) => question !== './IN/NS');
    expect(asked.map((row) => `${row.type} ${row.answerer} ${row.protocol}`)).toEqual([
      ...[`FQ ${theirs} UDP`, `FR ${theirs} UDP`, ...client, ...client],
      ...[`FQ ${theirs} TCP`, `FR ${theirs} TCP`, ...client],
    ]);
  },
);
