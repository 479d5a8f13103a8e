import { RCODE_NAMES } from '@kube-dns/wire';
import type { AskPlan, AskResult, PlannedQuestion } from './ask-program.js';
import type { AskedFact, DnsEndpoint, DnsService, FactValues, KubeletFact } from './facts.js';

const DNS_PORT = 53;
const TIMEOUT_MS = 2_000;
/** From one port, to find a connection of conntrack that leads nowhere. */
const FLOW_QUESTIONS = 3;
const PAIRS = 20;
/** More endpoints are not asked one by one. */
const MAX_ENDPOINTS = 10;

/** What a pod asks to find out how the way to the DNS is. `outside` is a name that is not in the cluster. */
export function planProbe(
  { clusterIps: [server = ''] }: DnsService,
  endpoints: readonly DnsEndpoint[],
  { zone, outside }: { readonly zone: string; readonly outside: string },
): AskPlan {
  const name = `kubernetes.default.svc.${zone}.`;
  const ready = endpoints.filter(({ isReady }) => isReady).slice(0, MAX_ENDPOINTS);
  const bothWays = (of: PlannedQuestion['of'], to: string, asked: string) =>
    (['udp', 'tcp'] as const).map((way) => ({ of, server: to, port: DNS_PORT, way, name: asked, times: 1 })); // prettier-ignore
  return {
    questions: [
      ...bothWays('service', server, name),
      ...ready.flatMap(({ address }) => bothWays('endpoint', address, name)),
      ...bothWays('service', server, outside),
      { of: 'service', server, port: DNS_PORT, way: 'udp', name, times: FLOW_QUESTIONS },
    ],
    pairs: { server, name, count: PAIRS },
    timeoutMs: TIMEOUT_MS,
  };
}

/** The questions for the DNS of this machine. */
export function planLocal(server: string, port: number, zone: string): AskPlan {
  const name = `kubernetes.default.svc.${zone}.`;
  return {
    questions: (['udp', 'tcp'] as const).map((way) => ({ of: 'local', server, port, way, name, times: 1 })), // prettier-ignore
    pairs: null,
    timeoutMs: TIMEOUT_MS,
  };
}

/** The facts of what was asked; `outside` is the name that is not in the cluster, where there was one. */
export function factsOfAnswers(
  plan: AskPlan,
  result: AskResult,
  outside?: string,
): Partial<FactValues> {
  const rows = plan.questions.map((question, i) => ({
    question,
    replies: result.replies[i] ?? [],
  }));
  const asked = rows
    .filter(({ question }) => question.times === 1)
    .map(({ question: { of, server, way, name }, replies: [reply] }): AskedFact => {
      const rcode = reply ? (RCODE_NAMES[reply.rcode] ?? `RCODE${reply.rcode}`) : undefined;
      return { of, server, way, name, rcode, isTruncated: reply?.isTruncated ?? false };
    });
  const flow = rows.find(({ question }) => question.times > 1);
  return {
    asked: asked.filter(({ name }) => name !== outside),
    ...(outside !== undefined && { askedOutside: asked.filter(({ name }) => name === outside) }),
    ...(flow !== undefined && {
      flow: {
        server: flow.question.server,
        questions: flow.question.times,
        answered: flow.replies.filter((reply) => reply !== null).length,
      },
    }),
    ...(plan.pairs !== null && { pairs: { pairs: plan.pairs.count, lost: result.lostPairs } }),
    ...(plan.pairs !== null && { resolvConf: resolvConfOf(result.resolvConf) }),
  };
}

/** The servers of a resolv.conf, and the zone of the cluster: the search domain behind `svc.`. */
function resolvConfOf(text: string): KubeletFact {
  const valuesOf = (keyword: string) =>
    text
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([first]) => first === keyword)
      .flatMap(([, ...values]) => values);
  const zone = valuesOf('search').find((domain) => domain.startsWith('svc.'));
  return {
    from: 'the resolv.conf of the pod',
    clusterDns: valuesOf('nameserver'),
    clusterDomain: zone?.slice('svc.'.length).replace(/\.$/, '') ?? '',
  };
}
