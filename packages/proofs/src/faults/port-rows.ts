import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { ask } from '@kube-dns/testkit';
import { DigReasons } from '../fixtures/dig-reasons.js';
import type { ContainerName, PodPorts } from '../fixtures/manifest-pod.js';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import type { Fault, FaultContext } from './fault.js';
import { EVERY_KIND, ProcessTestbed, RESTARTED } from './process-testbed.js';
import { serviceName } from './small-cluster.js';
import { PAGE } from './page-signs.js';

/** How long to wait for an answer. */
const ASK_MS = 2_000;

/** What a container listens on first, by TCP. */
function firstPort(name: ContainerName, { dns, kubedns, sidecar }: PodPorts): number {
  return { dnsmasq: dns, kubedns, sidecar }[name];
}

/** What dnsmasq returns for a question about the cluster: an RCODE, or `silence`. */
function answerText({ ports }: ProcessTestbed): Promise<string> {
  const answer = ask(ports.dns, serviceName(1), { limitMs: ASK_MS });
  return answer.then(
    ({ rcode }) => rcode,
    () => 'silence',
  );
}

interface TakenPort {
  readonly name: ContainerName;
  /** With which code it ends, and its last words. */
  readonly end: RegExp;
  readonly answer: 'silence' | 'SERVFAIL' | 'NOERROR';
}

/** A port is taken when its container starts; some time later it is free. */
function takenPort({ name, end, answer }: TakenPort) {
  return async (context: FaultContext): Promise<number> => {
    const holder: { server?: Server } = {};
    const testbed = await ProcessTestbed.start(
      context,
      (spec) => spec,
      async (ports) => {
        holder.server = createServer().listen(firstPort(name, ports), '127.0.0.1');
        await once(holder.server, 'listening');
      },
    );
    const container = testbed.containers[name];
    const { dns: port } = testbed.ports;
    const asked = { address: '127.0.0.1', port, names: [serviceName(1)] };
    // While the others start, all answers say that they do.
    if (answer !== 'NOERROR') context.owned.add(new DigReasons(asked, context.signs.reasons));
    await testbed.waitFor('end of a container', () => container.ends.length > 0);
    context.claim(end.test(container.ends[0]!), `${name} ended with ${container.ends[0]}`);
    await testbed.waitFor(
      `question with ${answer}`,
      async () => (await answerText(testbed)) === answer,
    );
    if (answer !== 'NOERROR') await context.signs.read();
    holder.server?.close();
    const freeMs = performance.now();
    await testbed.settled();
    const wellMs = performance.now() - freeMs;
    await testbed.claimEnds({ [name]: container.ends.length });
    testbed.claimAsEver(await testbed.finish(freeMs), EVERY_KIND);
    return wellMs;
  };
}

/** Ports that are in use when their container starts. */
export const PORT_ROWS: readonly Fault[] = [
  {
    id: 'port-taken-dnsmasq',
    shows: PAGE.probeOfDnsmasq,
    happens: 'The port of dnsmasq is taken when it starts',
    clients: 'Nothing from dnsmasq',
    duration: RESTARTED,
    limitMs: 30_000,
    metrics:
      'It ends with 2 and `dnsmasq: cannot listen on ADDRESS over TCP: address already in use`',
    isCommandOnly: true,
    run: takenPort({
      name: 'dnsmasq',
      end: /^2: .*dnsmasq: cannot listen on 127\.0\.0\.1:\d+ over TCP: address already in use$/,
      answer: 'silence',
    }),
  },
  {
    id: 'port-taken-kubedns',
    shows: PAGE.probeOfKubedns,
    happens: 'The port of kubedns is taken when it starts',
    clients: 'SERVFAIL for names of the cluster',
    duration: RESTARTED,
    limitMs: 30_000,
    reasons: [EXTENDED_ERROR.NETWORK_ERROR, EXTENDED_ERROR.NOT_READY],
    metrics:
      'It ends with 1 and `kubedns: cannot listen on ADDRESS over TCP: address already in use`',
    run: takenPort({
      name: 'kubedns',
      end: /^1: .*kubedns: cannot listen on 127\.0\.0\.1:\d+ over TCP: address already in use$/,
      answer: 'SERVFAIL',
    }),
  },
  {
    id: 'port-taken-sidecar',
    happens: 'The port of the sidecar is taken when it starts',
    clients: 'Right answers',
    duration: RESTARTED,
    limitMs: 30_000,
    metrics: 'It ends with 255 and `sidecar: …: cannot listen on ADDRESS: address already in use`',
    isCommandOnly: true,
    run: takenPort({
      name: 'sidecar',
      end: /^255: .*sidecar: .*cannot listen on 127\.0\.0\.1:\d+: address already in use$/,
      answer: 'NOERROR',
    }),
  },
];
