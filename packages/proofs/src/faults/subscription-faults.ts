import { createApiServer } from '@kube-dns/apiserver';
import { ask, becomesTrue, type Closable, freePort, MeasureError, until } from '@kube-dns/testkit';
import { DsoRelay, type EventFate, TcpRelay, UdpRelay } from '../fixtures/relays.js';
import { PageWitness } from '../fixtures/witness.js';
import { ManifestPod } from '../fixtures/pod-containers.js';
import { namespaceObject, serviceObject, serviceState } from '../soak/cluster-state.js';
import { dnsName } from '../soak/questions.js';
import { type Fault, type FaultContext, PAGE } from './fault.js';

const HOST = '127.0.0.1';
/** Only what never comes takes as long. */
const LIMIT_MS = 60_000;
/** After this time without a message dnsmasq takes a server for dead; one comes every 2 s. */
const SILENCE_MS = 12_000;
const HEARTBEAT_MS = 2_000;
const SPARE_MS = 8_000;
/** The old answer is given no longer than this; shorter than the silence, so that it does not hide that. */
const RECORD_TTL_SECONDS = 2;
const FLUSHES = 'dnsmasq_subscription_flushes_total';
const LIVE = 'dnsmasq_subscription_live';
const STATE = serviceState(0, 0);

/** Passes what dnsmasq and kubedns say to each other over TCP. */
type Relay<R> = (port: number, target: number) => Promise<R>;

/** dnsmasq that gets the changes of one service, through a relay. */
async function startPod<R extends Closable>(context: FaultContext, relay: Relay<R>) {
  const { node, nodeFlags, owned, signs } = context;
  const api = owned.add(
    await createApiServer({
      seed: (objects) => objects.load([namespaceObject(STATE.namespace), serviceObject(STATE)]),
    }),
  );
  const kubednsFlags = [`--record-ttl=${RECORD_TTL_SECONDS}`];
  const frontPort = await freePort();
  const options = { node, nodeFlags, apiUrl: api.url, hasNoSidecar: true, kubednsFlags, frontPort };
  const pod = owned.add(await ManifestPod.start(options));
  await pod.ready();
  const way = owned.add(await relay(frontPort, pod.ports.kubedns));
  owned.add(await UdpRelay.start(HOST, frontPort, pod.ports.kubedns));
  const { dnsmasq } = pod;
  const isLive = async () => (await dnsmasq.metrics()).sum(LIVE, { zone: 'cluster.local' }) === 1;
  await until('a subscription', isLive);
  const asked = { address: HOST, port: dnsmasq.ports.dns, names: [dnsName(STATE)] };
  const pages = [`http://${HOST}:${dnsmasq.ports.metrics}`];
  owned.add(new PageWitness({ ...asked, pages }, signs));
  let last = 0;
  return {
    way,
    isLive,
    metrics: () => dnsmasq.metrics(),
    /** Changes the address, once the old one is cached, and resolves to the ms until dnsmasq has the new one. */
    change: async () => {
      await answered(last);
      last = (last + 1) % 200;
      const startMs = performance.now();
      api.objects.load([serviceObject({ ...STATE, clusterIP: addressOf(last) })]);
      await answered(last);
      return performance.now() - startMs;
    },
  };

  async function answered(number: number): Promise<void> {
    const address = number === 0 ? STATE.clusterIP : addressOf(number);
    const isRight = async () => {
      const { answers } = await ask(dnsmasq.ports.dns, dnsName(STATE));
      return answers.some((record) => record.type === 'A' && record.data === address);
    };
    if (await becomesTrue(isRight, { limitMs: LIMIT_MS })) return;
    throw new MeasureError(`the old answer after ${LIMIT_MS / 1_000} s`);
  }
}

function addressOf(number: number): string {
  return `10.96.7.${number}`;
}

async function garbleEvents(context: FaultContext): Promise<number> {
  const order: readonly EventFate[] = ['passed', 'doubled', 'passed', 'lost', 'passed', 'late'];
  let turn = 0;
  const pod = await startPod(context, (port, target) =>
    DsoRelay.start(port, target, () => order[turn++ % order.length]!),
  );
  let longestMs = 0;
  // Each fate once.
  for (let left = order.length; left > 0; left--) {
    longestMs = Math.max(longestMs, await pod.change());
  }
  const { lost, doubled, late } = pod.way.fates;
  context.claim(Math.min(lost, doubled, late) > 0, 'no message was lost, doubled or late');
  const missed = (await pod.metrics()).sum(FLUSHES, { reason: 'missed-message' });
  context.claim(missed > 0, `${FLUSHES}{reason="missed-message"} is ${missed}`);
  context.claimQuiet(await pod.isLive(), `${LIVE} is not 1`);
  return longestMs;
}

async function vanish(context: FaultContext): Promise<number> {
  const pod = await startPod(context, (port, target) => TcpRelay.start(HOST, port, target));
  pod.way.way = 'silent';
  const oldMs = await pod.change();
  const isLost = async () => !(await pod.isLive());
  const silentMs = performance.now();
  await until('the end of the subscription', isLost);
  const lostMs = performance.now() - silentMs;
  context.claimQuiet(lostMs <= SILENCE_MS + SPARE_MS, `live for ${Math.round(lostMs)} ms more`);
  await context.signs.seen();
  pod.way.way = 'open';
  await until('a subscription', () => pod.isLive());
  const newMs = await pod.change();
  context.claimQuiet(newMs < SPARE_MS, `a change took ${Math.round(newMs)} ms afterwards`);
  return oldMs;
}

/** Faults of what kubedns tells dnsmasq. */
export const SUBSCRIPTION_ROWS: readonly Fault[] = [
  {
    id: 'subscription-garbled',
    shows: PAGE.missedMessages,
    happens: 'Messages of kubedns about changes are lost, come twice or in another order',
    clients: 'Old answers of what a lost message named',
    duration: 'Until the next message: 2 s at most',
    limitMs: HEARTBEAT_MS + SPARE_MS,
    metrics: `\`${FLUSHES}{reason="missed-message"}\` grows; \`${LIVE}\` stays 1`,
    run: garbleEvents,
  },
  {
    id: 'subscription-vanished',
    shows: PAGE.untold,
    happens:
      'The connection on which kubedns announces changes loses every byte, and is not closed; UDP works',
    clients: 'Old answers that were cached before',
    duration: 'Their TTL, from the last message on',
    limitMs: RECORD_TTL_SECONDS * 1_000 + SPARE_MS,
    metrics: `\`${LIVE}\` is 0 after 12 s, and 1 again 5 s after the fault at most`,
    isCommandOnly: true,
    run: vanish,
  },
];
