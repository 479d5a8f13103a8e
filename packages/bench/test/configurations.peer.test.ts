import { afterEach, describe, expect, it } from '@jest/globals';
import {
  ask,
  HeldNameServer,
  Owned,
  ownedBy,
  needsPrograms,
  runProgram,
  TemporaryFolder,
  unless,
} from '@kube-dns/testkit';
import { ClusterPlan, serviceAddress } from '../src/cluster/cluster-plan.js';
import { examplePlan, EXAMPLES } from '../src/strongest/configuration-examples.js';
import {
  installedProgram,
  PEERS,
  type PeerWord,
  type Task,
} from '../src/strongest/configurations.js';
import { startPeer, versionOf } from '../src/strongest/contestants.js';
import { zoneText } from '../src/strongest/zone.js';

const own = ownedBy(afterEach);
const WORDS = Object.keys(PEERS) as PeerWord[];
const PLAN = new ClusterPlan({ services: 3, slices: 3, endpointsPerSlice: 1, headless: 0 });
const LIMIT_MS = 60_000;

/** Where it is installed, also outside of the PATH. */
const needs = (program: string) =>
  installedProgram(program) === undefined ? needsPrograms(program) : undefined;

describe.each(WORDS)('the configuration of %s (skipped where it is not installed)', (word) => {
  const { check, configure, program, kinds } = PEERS[word];
  const examples = EXAMPLES.filter(([, each]) => each === word);

  if (check !== undefined) {
    unless(needs(check.program), it).each(examples)(
      'is accepted by its own check: %s',
      async (_, __, task) => {
        const folder = own(new TemporaryFolder());
        const plan = examplePlan(task, folder.path);
        for (const [name, text] of Object.entries(configure(plan).files)) folder.file(name, text);
        const path = installedProgram(check.program)!;
        const { end, stdout, stderr } = await runProgram(path, check.args(plan), {
          isForeign: true,
        });
        expect([end, stdout + stderr]).toEqual([0, expect.anything()]);
      },
      LIMIT_MS,
    );
  }

  unless(needs(program), it)(
    'is one with which it answers',
    async () => {
      const owned = own(new Owned());
      const remote = owned.add(HeldNameServer.remote());
      const upstream = { port: await remote.call('start') };
      const isZone = kinds.includes('zone');
      const zone: Task = { kind: 'zone', zone: zoneText(PLAN, [0, 1, 2]) };
      const task: Task = isZone ? zone : { kind: 'cache', upstream };
      const knownName = isZone ? PLAN.dnsName(1) : 'host.example';
      const [peer] = await startPeer(word, task, { owned, core: undefined, knownName });
      const answer = await ask(peer!.port, { name: knownName, type: 'A' });
      const data = isZone ? serviceAddress(1) : '198.51.100.7';
      expect(answer.answers).toMatchObject([{ type: 'A', data }]);
      if (isZone) {
        const srv = await ask(peer!.port, { name: `_http._tcp.${knownName}`, type: 'SRV' });
        expect(srv.answers).toMatchObject([{ data: { port: 80, target: knownName } }]);
        expect(srv.additionals).toContainEqual(expect.objectContaining({ type: 'A', data }));
      }
      expect(await versionOf(word)).toMatch(/^\d+\.\d+/);
    },
    LIMIT_MS,
  );
});
