import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import {
  encodeQuery,
  ownedBy,
  PinningRelay,
  type Script,
  ScriptedNameServer,
  until,
} from '@kube-dns/testkit';
import { readQuery } from '@kube-dns/wire';
import { retryPlan } from '../src/forward/contract.js';
import { QueryForwarder } from '../src/forward/forwarder.js';
import { ServerGroup, UpstreamServers } from '../src/forward/servers.js';
import { UpstreamSockets } from '../src/forward/sockets.js';
import { RecordedCounter, WaitingClient } from './forwarder-fixture.js';
import { says, silent } from './scripts.js';

const opened = ownedBy(afterEach);
const NAMES = 200;
const PAUSE_MS = 20;
/** For a machine with other work; the rule itself is held in virtual time. */
const LIMIT_MS = 3_000;

it('answers all names where half of the ports lead to a server that is silent', async () => {
  const backends: ScriptedNameServer[] = [];
  const scripts: Script[] = [silent, says('10.0.0.1')];
  for (const script of scripts) backends.push(opened(await ScriptedNameServer.start(script)));
  const relay = opened(await PinningRelay.start(backends.map(({ port }) => port)));
  let ports = 0;
  relay.draw = () => ports++ % 2;
  const sockets = opened(new UpstreamSockets());
  const counters = { of: () => new RecordedCounter(), retain: () => undefined };
  const servers = opened(new UpstreamServers(sockets, counters));
  const forwarder = opened(
    new QueryForwarder({ maxInFlight: 500, plan: retryPlan(4_500), maxUdpBytes: 1_232 }),
  );
  const group = new ServerGroup('.', [servers.at(relay.at)], 'preferred');
  const out = new Uint8Array(512);
  const clients: WaitingClient[] = [];
  for (let i = 0; i < NAMES; i++) {
    const client = new WaitingClient(i + 1);
    clients.push(client);
    forwarder.forward(
      readQuery(encodeQuery({ name: `n${i}`, ednsBytes: 1_232 })),
      out,
      client,
      group,
    );
    await sleep(PAUSE_MS);
  }
  const sinceMs = performance.now();
  await until(() => clients.every(({ result }) => result !== ''));
  expect(performance.now() - sinceMs).toBeLessThanOrEqual(LIMIT_MS);
  expect(new Set(clients.map(({ result }) => result))).toEqual(new Set(['A 10.0.0.1']));
  expect(backends[0]!.requests.length).toBeGreaterThan(10);
  // Later ones leave from ports that answer.
  expect(
    backends[0]!.requests.filter(({ name }) => Number(name.slice(1)) > NAMES / 2).length,
  ).toBeLessThan(20);
});
