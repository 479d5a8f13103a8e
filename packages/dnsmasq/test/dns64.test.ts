import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { addressRecords, ask, endPrograms, ownedBy, ScriptedNameServer } from '@kube-dns/testkit';
import { ExplainedServer } from './explained-server.js';
import { serve } from './processes.js';

const own = ownedBy(afterEach);
afterEach(() => endPrograms());

/** A server whose names have an A record, and no AAAA. */
const ipv4Server = async (address: string) =>
  own(
    await ScriptedNameServer.start(({ type }) => ({
      answers: type === 'A' ? addressRecords(60, address) : [],
    })),
  );

it('--dns64 makes AAAA records, but not for the cluster', async () => {
  const outside = await ipv4Server('192.0.2.1');
  const cluster = await ipv4Server('10.0.0.1');
  const folder = mkdtempSync(join(tmpdir(), 'dns64-'));
  const hosts = join(folder, 'hosts');
  writeFileSync(hosts, '192.0.2.9 registry.lan\n');
  const { port } = await serve(
    [
      '--no-resolv',
      '--no-hosts',
      `--addn-hosts=${hosts}`,
      '--dns64=2001:db8:64::/96',
      '--dns64-exclude=2001:db8::/64',
      `--server=${outside.text}`,
      `--server=/cluster.local/${cluster.text}`,
    ],
    [`-kubednsServer=${cluster.text.replace('#', ':')}`],
  );
  rmSync(folder, { recursive: true });
  const textsOf = async (name: string) => (await ask(port, { name, type: 'AAAA' })).texts;
  expect(await textsOf('a.example')).toEqual(['AAAA 2001:db8:64::c000:201']);
  expect(await textsOf('registry.lan')).toEqual(['AAAA 2001:db8:64::c000:209']);
  expect(await textsOf('ipv4only.arpa')).toEqual(['AAAA 2001:db8:64::c000:201']);
  expect(await textsOf('web.default.svc.cluster.local')).toEqual([]);
});

it('the explanation of such an answer says that it is made', async () => {
  const upstream = await ipv4Server('192.0.2.1');
  const server = own(
    await ExplainedServer.start(
      '--no-hosts',
      '--no-resolv',
      '--dns64',
      `--server=${upstream.text}`,
    ),
  );
  for (let i = 0; i < 2; i++) {
    const { steps, verdict } = await server.explain('a.example', 'AAAA');
    expect(steps.find(({ step }) => step === 'dns64')?.text).toContain(
      'those of the answer are its A records below 64:ff9b::/96',
    );
    expect(verdict.ede).toEqual([expect.objectContaining({ code: 29 })]);
  }
});
