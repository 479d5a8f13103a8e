import { isIP } from 'node:net';
import type {
  AliasFact,
  AskedFact,
  ConfigInUse,
  DnsService,
  Facts,
  FlowFact,
  HeadlessFact,
  ResolverFact,
  Workload,
} from './facts.js';
import { OR_OVERLOADED } from '../explain/programs.js';
import { PUBLIC_SUFFIXES } from './public-suffixes.js';
import { counted, listed, rule, type Fault, type Finding } from './rule.js';

const MIB = 1024 * 1024;
const DAY_SECONDS = 86_400;

/** `kubectl` in the namespace of the DNS; `check` puts that of `--namespace` in place. */
const KUBECTL = 'kubectl -n kube-system';
const RESTART = `${KUBECTL} rollout restart deployment/kube-dns`;
const EDIT = `${KUBECTL} edit configmap kube-dns`;
const ADD_NODE_CACHE = 'kubectl apply -k manifests/node-cache';
const APPLY = 'kubectl apply -k manifests/kube-dns';

/** What `--pre` looks for before an installation. */
export const PRE_FINDINGS: readonly Finding[] = [
  {
    code: 'KD0001',
    severity: 'error',
    passes: 'you have the rights that the installation needs',
    title: 'rights are missing that the installation needs',
    mend: 'kubectl create clusterrolebinding NAME --clusterrole=cluster-admin --user=USER',
    rules: [
      rule('the rights to create its objects', ['missingRights'], ({ missingRights }) =>
        missingRights.length === 0 ? [] : [`you may not ${listed(missingRights)}`],
      ),
    ],
  },
  {
    code: 'KD0002',
    severity: 'warning',
    passes: 'no other DNS answers for the Service',
    title: 'the cluster has a DNS that would answer beside this one',
    mend: `${KUBECTL} scale NAME --replicas=0`,
    rules: [
      rule('the DNS that is there', ['workloads'], ({ workloads }) => {
        const [first] = running(workloads);
        if (first === undefined) return [];
        const names = running(workloads).map(({ name }) => name);
        return [
          {
            text: `${listed(names)} answers behind the DNS Service: kube-dns would share its clients`,
            mend: scaleDown(first),
          },
        ];
      }),
    ],
  },
  {
    code: 'KD0003',
    severity: 'error',
    passes: 'Kubernetes is new enough',
    title: 'the version of Kubernetes is older than the manifests need',
    mend: 'kubeadm upgrade plan',
    rules: [
      rule('the version of the API server', ['version'], ({ version: { major, minor } }) =>
        major > 1 || minor >= MIN_MINOR
          ? []
          : [
              `Kubernetes ${major}.${minor} has no preStop.sleep: 1.${MIN_MINOR} or newer is needed`,
            ],
      ),
    ],
  },
  {
    code: 'KD0004',
    severity: 'error',
    passes: 'the address of the DNS Service is free',
    title: 'the address of the DNS Service is taken',
    mend: 'kubectl apply -k manifests/overlays/beside',
    rules: [
      rule(
        'the address of manifests/kube-dns/cluster.yaml',
        ['wantedAddress'],
        ({ wantedAddress: { address, takenBy } }) =>
          takenBy === '' ? [] : [`${address} belongs to the Service ${takenBy}`],
      ),
    ],
  },
  {
    code: 'KD0005',
    severity: 'error',
    passes: 'kubelets name the address that the DNS will have',
    title: 'kubelets name another address than the DNS Service would have',
    mend: `${KUBECTL} edit configmap kubelet-config`,
    rules: [
      rule(
        'clusterDNS of the kubelets',
        ['kubelets', 'wantedAddress'],
        ({ kubelets, wantedAddress: { address } }) =>
          kubelets
            .filter(({ clusterDns }) => clusterDns.length > 0 && !clusterDns.includes(address))
            .map(
              ({ from, clusterDns }) =>
                `${from} has clusterDNS ${listed(clusterDns)}, the manifests have ${address}`,
            ),
      ),
    ],
  },
];

/** `preStop.sleep`: docs/support.md. */
const MIN_MINOR = 30;

const NO_SERVICE = 'there is no DNS Service: none has the label k8s-app=kube-dns and port 53';

/** What is looked for in a cluster and in files, by code. */
export const FINDINGS: readonly Finding[] = [
  {
    code: 'KD0101',
    severity: 'error',
    passes: 'one deployment answers for the DNS Service',
    title: 'no DNS deployment answers for the Service, or two do',
    mend: APPLY,
    rules: [
      rule('the DNS Service', ['dnsServices', 'headlessDnsServices'], (facts) => {
        if (facts.dnsServices.length > 0) return [];
        const [headless] = facts.headlessDnsServices;
        if (headless === undefined) return [NO_SERVICE];
        return [`the Service ${headless} has no address (clusterIP: None): no resolv.conf can name it`]; // prettier-ignore
      }),
      rule('the deployments of the DNS Service', ['dnsService', 'workloads'], (facts) => {
        const { dnsService: service } = facts;
        const found = running(facts.workloads);
        if (found.length === 0)
          return [`no Deployment has pods that the Service ${service.name} selects`];
        const [, second] = found;
        if (second === undefined) return [];
        const names = listed(found.map(({ name }) => name));
        return [
          {
            text: `the Service ${service.name} selects the pods of ${names}: answers differ by chance`,
            mend: scaleDown(second),
          },
        ];
      }),
    ],
  },
  {
    code: 'KD0102',
    severity: 'error',
    passes: 'the DNS has ready endpoints on more than one node',
    title: 'the DNS has no ready endpoint, or one node has them all',
    mend: RESTART,
    rules: [
      rule('the endpoints of the DNS Service', ['dnsService', 'endpoints'], (facts) => {
        const { dnsService: service } = facts;
        if (facts.endpoints.some(({ isReady }) => isReady)) return [];
        const count = counted(facts.endpoints.length, 'endpoint');
        return [`none of ${count} of the Service ${service.name} is ready`];
      }),
      rule('the nodes of the endpoints', ['endpoints', 'nodes'], ({ endpoints, nodes }) => {
        const ready = endpoints.filter(({ isReady, node }) => isReady && node !== '');
        const places = new Set(ready.map(({ node }) => node));
        if (nodes.length < 2 || places.size !== 1) return [];
        const text = `all ready endpoints (${ready.length}) are on the node ${ready[0]!.node}: without it there is no DNS`;
        const mend =
          ready.length > 1 ? RESTART : `${KUBECTL} scale deployment/kube-dns --replicas=2`;
        return [{ text, mend, severity: 'warning' }];
      }),
      rule('what the pods say of themselves', ['notReady'], ({ notReady }) => notReady),
    ],
  },
  {
    code: 'KD0103',
    severity: 'error',
    passes: 'port 53 is open over UDP and TCP',
    title: 'port 53 is missing or blocked, over UDP or over TCP',
    mend: `${KUBECTL} get networkpolicies,service/kube-dns`,
    rules: [
      rule('the ports of the DNS Service', ['dnsService'], ({ dnsService }) =>
        ['UDP', 'TCP'].flatMap((each) => noPort(dnsService, each)),
      ),
      rule('the ports of the pods', ['dnsService'], ({ dnsService: { name, closedTargets } }) =>
        closedTargets.map((each) => ({
          text: `the Service ${name} sends port 53 to ${each.replace(' ', ' port ')}, which no container of its pods has`,
          mend: `${KUBECTL} edit service ${name}`,
        })),
      ),
      rule('questions over UDP and TCP', ['asked'], ({ asked }) => oneWayOnly(asked)),
    ],
  },
  {
    code: 'KD0104',
    severity: 'error',
    passes: 'clusterDNS of the kubelets is the address of the DNS',
    title: 'clusterDNS of the kubelets is not the address of the DNS',
    mend: `${KUBECTL} edit configmap kubelet-config`,
    rules: [
      rule('clusterDNS of the kubelets', ['dnsServices', 'kubelets', 'nodeCache'], (facts) => {
        const known = addressesOf(facts.dnsServices, facts.nodeCache?.localIps);
        return facts.kubelets.flatMap((each) => wrongServers(each, known));
      }),
      rule('the resolv.conf of a pod', ['dnsServices', 'resolvConf', 'nodeCache'], (facts) =>
        wrongServers(facts.resolvConf, addressesOf(facts.dnsServices, facts.nodeCache?.localIps)),
      ),
    ],
  },
  {
    code: 'KD0105',
    severity: 'error',
    passes: 'clusterDomain of the kubelets is the zone that is served',
    title: 'clusterDomain of the kubelets is not the zone that is served',
    mend: `${KUBECTL} edit configmap kubelet-config`,
    rules: [
      rule('clusterDomain of the kubelets', ['kubelets', 'zones'], ({ kubelets, zones }) =>
        kubelets.flatMap((each) =>
          wrongDomain(
            each,
            zones.map(({ zone }) => zone),
          ),
        ),
      ),
      rule('the search domains of a pod', ['resolvConf', 'zones'], ({ resolvConf, zones }) =>
        wrongDomain(
          resolvConf,
          zones.map(({ zone }) => zone),
        ),
      ),
      rule('the zones of the pods', ['zones'], ({ zones }) => {
        const [first] = zones;
        const other = zones.find(({ zone }) => zone !== first?.zone);
        if (first === undefined || other === undefined) return [];
        return [
          {
            text: `${first.by} serves ${first.zone} and ${other.by} serves ${other.zone}`,
            mend: RESTART,
          },
        ];
      }),
    ],
  },
  {
    code: 'KD0106',
    severity: 'error',
    passes: 'the configuration is valid, and in use',
    title: 'a configuration is refused, or another one is in use',
    mend: EDIT,
    rules: [
      rule('the ConfigMap', ['configs'], ({ configs }) =>
        configs.flatMap(({ from, mistakes }) =>
          mistakes.map((each) => ({
            text: `${from}: ${each}`,
            mend: `${KUBECTL} edit ${from.replace('ConfigMap ', 'configmap ')}`,
          })),
        ),
      ),
      rule('what the programs use', ['configsInUse'], ({ configsInUse }) =>
        configsInUse.flatMap(notInUse),
      ),
    ],
  },
  {
    code: 'KD0107',
    severity: 'error',
    passes: 'the upstream servers answer',
    title: 'an upstream server is silent, fails, or truncates without TCP',
    mend: EDIT,
    rules: [
      rule('the upstream servers of the programs', ['upstreams'], ({ upstreams }) =>
        upstreams.flatMap(({ by, server, domains, isDown, reason, failures, queries }) => {
          const about = domains === '.' ? 'names outside the cluster' : `names of ${domains}`;
          if (isDown) return [`${by}: ${server} for ${about} is down: ${reason}`];
          const failed = Object.entries(failures).filter(([why]) => why !== 'certificate');
          const count = failed.reduce((sum, [, each]) => sum + each, 0);
          const isMany = queries >= MIN_QUERIES && count / queries >= MAX_FAILED;
          const isMost = count >= MIN_FAILED && count / queries >= MOST;
          if (!isMany && !isMost) return [];
          const why = failed.map(([name, each]) => `${name} ${each}`).join(', ');
          return [`${by}: ${server} for ${about} failed in ${count} of ${queries} queries: ${why}`];
        }),
      ),
      rule('a question for a name outside', ['asked', 'askedOutside'], (facts) =>
        outsideFaults(facts.asked, facts.askedOutside),
      ),
    ],
  },
  {
    code: 'KD0108',
    severity: 'warning',
    passes: 'A and AAAA that are asked at once are both answered',
    title: 'A and AAAA that are asked at once lose a reply: clients wait for 5 s',
    mend: ADD_NODE_CACHE,
    rules: [
      rule('A and AAAA from one port', ['pairs'], ({ pairs: { pairs, lost } }) =>
        lost === 0
          ? []
          : [
              `${lost} of ${pairs} pairs of A and AAAA had not both replies within 5 s: conntrack drops one of two first packets`,
            ],
      ),
    ],
  },
  {
    code: 'KD0109',
    severity: 'error',
    passes: 'conntrack leads to endpoints only',
    title: 'conntrack sends a client to an address that is no endpoint',
    mend: `${KUBECTL} rollout restart daemonset/kube-proxy`,
    rules: [
      rule('questions from one port and from others', ['flow', 'asked'], ({ flow, asked }) =>
        staleFlow(flow, asked),
      ),
    ],
  },
  {
    code: 'KD0110',
    severity: 'warning',
    passes: 'the upstream servers are asked far below the limit of link-local addresses',
    title: 'questions come near the limit of packets to a link-local address',
    mend: ADD_NODE_CACHE,
    rules: [
      rule('the rate to each upstream server', ['upstreams'], ({ upstreams }) =>
        upstreams
          .filter(({ server, perSecond }) => isLinkLocal(server) && perSecond >= NEAR_LIMIT)
          .map(
            ({ by, server, perSecond }) =>
              `${by} asks ${server} ${Math.round(perSecond)} times a second on average; AWS drops what is above 1024 packets a second of a network interface`,
          ),
      ),
    ],
  },
  {
    code: 'KD0111',
    severity: 'warning',
    passes: 'few questions are for names that search domains make up',
    title: 'most questions are for names that search domains make up',
    mend: `kubectl -n NAMESPACE patch deployment NAME --type=merge -p '{"spec":{"template":{"spec":{"dnsConfig":{"options":[{"name":"ndots","value":"2"}]}}}}}'`,
    rules: [
      rule('the questions of the last minute', ['traffic', 'zones'], ({ traffic, zones }) =>
        traffic.flatMap(({ by, questions, nxdomain, clients }) => {
          const made = nxdomain.filter(({ name }) =>
            isMadeUp(
              name,
              zones.map(({ zone }) => zone),
            ),
          );
          const count = made.reduce((sum, each) => sum + each.questions, 0);
          if (questions < MIN_QUERIES || count / questions < MAX_MADE_UP) return [];
          const percent = Math.round((count / questions) * 100);
          const who = clients.length === 0 ? '' : `; most ask ${listed(clients)}`;
          return [
            `${by}: ${percent} % of ${questions} questions are for names as ${made[0]!.name}${who}`,
          ];
        }),
      ),
    ],
  },
  {
    code: 'KD0112',
    severity: 'warning',
    passes: 'the pods have few search domains, and a low ndots',
    title: 'a pod has too many search domains, too long ones, or a high ndots',
    mend: `kubectl -n NAMESPACE edit deployment NAME`,
    rules: [
      rule('dnsConfig of the pods', ['resolvers', 'zones'], ({ resolvers, zones }) =>
        resolverFaults(resolvers, zones[0]?.zone ?? 'cluster.local'),
      ),
    ],
  },
  {
    code: 'KD0113',
    severity: 'warning',
    passes: 'no namespace has the name of a public suffix',
    title: 'a namespace has the name of a public suffix',
    mend: `${KUBECTL} edit deployment kube-dns`,
    rules: [
      rule('the names of the namespaces', ['namespaces', 'hiddenNamespaces'], (facts) => {
        const found = facts.namespaces.filter(
          (name) => PUBLIC_SUFFIXES.has(name) && !facts.hiddenNamespaces.includes(name),
        );
        if (found.length === 0) return [];
        const [first = ''] = found;
        return [
          `${counted(found.length, 'namespace')} (${listed(found)}): a search domain makes NAME.${first} a service there, before the Internet is asked; --hidden-namespaces=${found.join(',')} of kubedns prevents it`,
        ];
      }),
    ],
  },
  {
    code: 'KD0114',
    severity: 'warning',
    passes: 'few questions are for addresses that the cluster cannot use',
    title: 'a cluster without IPv6 asks for AAAA records',
    mend: `${KUBECTL} edit deployment kube-dns`,
    rules: [
      rule('questions by type', ['families', 'questionTypes'], ({ families, questionTypes }) =>
        families.includes('IPv6')
          ? []
          : questionTypes
              .filter(({ all, aaaa }) => all >= MIN_QUERIES && aaaa / all >= MAX_AAAA)
              .map(
                ({ by, all, aaaa }) =>
                  `${by}: ${Math.round((aaaa / all) * 100)} % of ${all} questions are for AAAA, and no service has IPv6; --filter-AAAA of dnsmasq answers them without addresses`,
              ),
      ),
    ],
  },
  {
    code: 'KD0115',
    severity: 'warning',
    passes: 'the node caches and their rules are in place, or there are none',
    title: 'the cache of a node is missing, or its rules do not fit kube-proxy',
    mend: 'kubectl -n kube-system rollout restart daemonset/node-local-dns',
    rules: [
      rule('the caches of the nodes', ['nodeCache', 'cachedNodes', 'nodes'], (facts) => {
        if (facts.nodeCache === undefined) return [];
        const without = facts.nodes.filter(({ name }) => !facts.cachedNodes.includes(name));
        if (without.length === 0) return [];
        const names = listed(without.map(({ name }) => name));
        return [`${counted(without.length, 'node')} without a ready cache: ${names}`];
      }),
      rule('the mode of kube-proxy', ['nodeCache', 'proxyMode', 'dnsServices'], (facts) => {
        const ips = facts.nodeCache?.localIps ?? [];
        const taken = facts.dnsServices.flatMap(({ clusterIps }) => clusterIps).find((ip) => ips.includes(ip)); // prettier-ignore
        if (facts.proxyMode !== 'ipvs' || taken === undefined) return [];
        return [
          {
            text: `kube-proxy has the mode ipvs, which keeps ${taken} to itself: node-cache cannot have this address`,
            mend: 'kubectl apply -k manifests/overlays/node-cache-ipvs',
          },
        ];
      }),
      rule('the rules on the nodes', ['nodeRules'], ({ nodeRules }) =>
        nodeRules
          .filter(
            ({ rulesBy, hasInterface, hasRules }) =>
              rulesBy !== 'none' && !(hasInterface && hasRules),
          ) // prettier-ignore
          .map(
            ({ by, rulesBy, hasInterface }) =>
              `${by}: the node cache has no ${hasInterface ? `rules of ${rulesBy}` : 'interface'}`,
          ),
      ),
    ],
  },
  {
    code: 'KD0116',
    severity: 'error',
    passes: 'the answers are what the API server has',
    title: 'a cache or a zone serves what the API server does not have',
    mend: RESTART,
    rules: [
      rule('answers beside the API', ['compared'], ({ compared }) =>
        compared
          .filter(({ wanted, answered }) => !isSame(wanted, answered))
          .map(
            ({ by, name, wanted, answered }) =>
              `${by} answers ${name} with ${listed(answered) || 'nothing'}, the API server has ${listed(wanted) || 'nothing'}`,
          ),
      ),
    ],
  },
  {
    code: 'KD0117',
    severity: 'warning',
    passes: 'the caches are subscribed to changes',
    title: 'a cache is not subscribed to changes, or few of its answers are pinned',
    mend: RESTART,
    rules: [
      rule('the subscriptions', ['subscriptions'], ({ subscriptions }) =>
        subscriptions.flatMap(({ by, zone, state, reason, coveragePercent, answers }) => {
          if (state === 'down' || state === 'unsupported')
            return [`${by} is not subscribed to ${zone}${reason === '' ? '' : `: ${reason}`}`];
          const isLow = answers >= MIN_ANSWERS && (coveragePercent ?? 100) < MIN_COVERAGE;
          if (!isLow) return [];
          return [`${by}: only ${coveragePercent!} % of ${answers} answers of ${zone} are pinned`];
        }),
      ),
    ],
  },
  {
    code: 'KD0118',
    severity: 'error',
    passes: 'kubedns has what the API server has',
    title: 'kubedns is behind the API server',
    mend: RESTART,
    rules: [
      rule('the watches', ['watches'], ({ watches }) =>
        watches
          .filter(({ state }) => state === 'stale' || state === 'denied')
          .map(({ by, resource, state, reason }) => ({
            text: `${by}: the watch of ${resource} is ${state}${reason === '' ? '' : `: ${reason}`}`,
            mend: state === 'denied' ? APPLY : RESTART,
          })),
      ),
      rule('the versions of the API', ['watches', 'newest'], ({ watches, newest }) =>
        watches.flatMap(({ by, resource, version }) => {
          if (resource !== 'services' && resource !== 'endpointslices') return [];
          const wanted = newest[resource];
          if (!isOlder(version, wanted)) return [];
          return [`${by} has ${resource} of version ${version}, the API server of ${wanted}`];
        }),
      ),
    ],
  },
  {
    code: 'KD0119',
    severity: 'warning',
    passes: 'the memory limits are high enough',
    title: 'a memory limit is too low for this cluster',
    mend: `${KUBECTL} edit deployment kube-dns`,
    rules: [
      rule('the memory limits', ['workloads', 'size'], ({ workloads, size }) =>
        workloads.flatMap(({ name, containers }) =>
          containers.flatMap(({ name: container, image, memoryLimitBytes: limit, heapBytes }) => {
            if (limit === undefined) return [];
            const needed = neededBytes(image, size.services, size.endpoints, size.records);
            const at = `${name}, container ${container}`;
            if (limit < needed)
              return [`${at}: a limit of ${mib(limit)}, ${mib(needed)} are needed`];
            if (heapBytes === undefined || limit - heapBytes >= OUTSIDE_HEAP) return [];
            return [
              `${at}: --max-old-space-size is ${mib(heapBytes)} of ${mib(limit)}, at most ${mib(limit - OUTSIDE_HEAP)} leave room for the rest`,
            ];
          }),
        ),
      ),
    ],
  },
  {
    code: 'KD0120',
    severity: 'warning',
    passes: 'the DNS prefers its zone and is protected from disruption',
    title: 'the DNS does not prefer its zone, or is not protected from disruption',
    mend: APPLY,
    rules: [
      rule('trafficDistribution of the Service', ['dnsService', 'nodes'], (facts) => {
        const { dnsService: service } = facts;
        const zones = new Set(facts.nodes.map(({ zone }) => zone).filter((zone) => zone !== ''));
        if (service.trafficDistribution !== '' || zones.size < 2) return [];
        return [
          {
            text: `nodes are in ${zones.size} zones, and the Service ${service.name} has no trafficDistribution: questions cross zones`,
            mend: `${KUBECTL} patch service ${service.name} -p '{"spec":{"trafficDistribution":"PreferClose"}}'`,
          },
        ];
      }),
      rule('the disruption budget', ['withoutBudget'], ({ withoutBudget }) =>
        withoutBudget.map((name) => `${name} lacks a PodDisruptionBudget`),
      ),
      rule('spread and priority class', ['workloads'], ({ workloads }) =>
        running(workloads).flatMap((each) => {
          const missing = [
            ...(each.isSpread ? [] : ['topologySpreadConstraints']),
            ...(each.priorityClass === '' ? ['a priorityClassName'] : []),
          ];
          return missing.length === 0 ? [] : [`${each.name} lacks ${missing.join(', ')}`];
        }),
      ),
    ],
  },
  {
    code: 'KD0121',
    severity: 'error',
    passes: 'no NetworkPolicy forbids DNS',
    title: 'a NetworkPolicy forbids DNS',
    mend: 'kubectl apply -k manifests/components/network-policy',
    rules: [
      rule('the network policies', ['policies'], ({ policies }) =>
        policies.map(({ name, forbids, protocols, allowsService }) => {
          const [namespace = '', policy = ''] = name.split('/');
          const but = allowsService
            ? ': it allows the address of the DNS Service, and most network plugins look at that of the pod behind it'
            : '';
          return {
            text: `the NetworkPolicy ${name} forbids ${forbids} over ${protocols.join(' and ')}${but}`,
            mend: `kubectl -n ${namespace} edit networkpolicy ${policy}`,
          };
        }),
      ),
    ],
  },
  {
    code: 'KD0122',
    severity: 'warning',
    passes: 'the answers of headless services fit 1232 bytes',
    title: 'answers of a headless service do not fit 1232 bytes',
    mend: 'kubectl -n NAMESPACE get service NAME -o yaml',
    rules: [
      rule('the sizes of headless services', ['headless'], ({ headless }) => {
        const large = headless.filter((each) => sizeOf(each) > MAX_UDP_BYTES);
        if (large.length === 0) return [];
        const [first] = large.toSorted((one, other) => sizeOf(other) - sizeOf(one));
        const [service = '', namespace = ''] = first!.name.split('.');
        return [
          {
            text: `${counted(large.length, 'service')}, the largest ${first!.name} with ${sizeOf(first!)} bytes: over UDP the answer is truncated, and clients ask again over TCP`,
            mend: `kubectl -n ${namespace} get service ${service} -o yaml`,
          },
        ];
      }),
    ],
  },
  {
    code: 'KD0123',
    severity: 'error',
    passes: 'the ExternalName services have whole names',
    title: 'an ExternalName lacks the rest of its name, or leads to another or to itself',
    mend: `kubectl -n NAMESPACE patch service NAME -p '{"spec":{"externalName":"HOST.EXAMPLE.COM"}}'`,
    rules: [
      rule('the ExternalName services', ['aliases', 'zones'], ({ aliases, zones }) =>
        aliases.flatMap(({ service, target, namesakes }) => {
          const zone = zones[0]?.zone ?? 'cluster.local';
          const fault = aliasFault({ service, target, namesakes }, zone, aliases);
          if (fault === undefined) return [];
          const [namespace = '', name = ''] = service.split('/');
          return [
            {
              text: `${service}: ${fault.text}`,
              severity: fault.isCircle ? 'error' : 'warning',
              mend: `kubectl -n ${namespace} patch service ${name} -p '{"spec":{"externalName":"${fault.wanted}"}}'`,
            },
          ];
        }),
      ),
    ],
  },
  {
    code: 'KD0124',
    severity: 'error',
    passes: 'the certificates of encrypted upstream servers are good',
    title: 'the certificate of an encrypted upstream server ends or is refused',
    mend: EDIT,
    rules: [
      rule('the certificates', ['certificates'], ({ certificates }) =>
        certificates.flatMap(({ by, server, endsInSeconds: ends, failures }): Fault[] => {
          if (ends !== undefined && ends <= 0)
            return [{ text: `${by}: the certificate of ${server} has ended` }];
          if (ends === undefined && failures > 0)
            return [
              { text: `${by}: the certificate of ${server} was refused in ${failures} handshakes` },
            ];
          if (ends === undefined || ends > WARN_DAYS * DAY_SECONDS) return [];
          const days = Math.floor(ends / DAY_SECONDS);
          const text = `${by}: the certificate of ${server} ends in ${counted(days, 'day')}`;
          return [{ text, severity: 'warning' }];
        }),
      ),
    ],
  },
  {
    code: 'KD0125',
    severity: 'warning',
    passes: 'the clocks agree',
    title: 'clocks differ',
    mend: 'timedatectl set-ntp true',
    rules: [
      rule('the clocks', ['clocks'], ({ clocks }) => {
        const sorted = clocks.toSorted((one, other) => one.aheadMs - other.aheadMs);
        const [slow, fast] = [sorted[0], sorted.at(-1)];
        if (slow === undefined || fast === undefined) return [];
        const seconds = Math.round((fast.aheadMs - slow.aheadMs) / 1_000);
        if (seconds < MAX_SKEW_SECONDS) return [];
        return [
          `the clock of ${fast.of} is ${seconds} s ahead of that of ${slow.of}: tokens, certificates and signatures of another time are refused`,
        ];
      }),
    ],
  },
  {
    code: 'KD0126',
    severity: 'error',
    passes: 'the programs of the DNS answer',
    title: 'a program of the DNS hangs: its clients wait',
    mend: RESTART,
    rules: [
      rule('the pages of the programs', ['programs'], ({ programs }) =>
        programs
          .filter(({ hang }) => hang !== '')
          .map(({ of, hang }) => `${of} hangs (${hang}), ${OR_OVERLOADED}`),
      ),
      rule('questions for names of the cluster', ['asked'], ({ asked }) =>
        silentServers(asked).map((server) => `${server} answers neither over UDP nor over TCP`),
      ),
    ],
  },
  {
    code: 'KD0127',
    severity: 'error',
    passes: 'the API server answers',
    title: 'the API server does not answer: the DNS has what it had before',
    mend: "kubectl get --raw='/readyz?verbose'",
    rules: [
      rule('the API server', ['apiServer'], ({ apiServer: { failure } }) =>
        failure === '' ? [] : [`${failure}; the DNS answers with what it had before`],
      ),
    ],
  },
];

/** Fewer say nothing about a share. */
const MIN_QUERIES = 1_000;
const MAX_FAILED = 0.05;
/** Of few queries most failed: a server that fails always, as one that refuses them. */
const MIN_FAILED = 10;
const MOST = 0.5;
const MAX_MADE_UP = 0.5;
const MAX_AAAA = 0.3;
/** As of the alert KubeDnsFewAnswersPinned. */
const MIN_ANSWERS = 20;
const MIN_COVERAGE = 90;
/** AWS drops above 1,024 packets a second. */
const NEAR_LIMIT = 800;
const WARN_DAYS = 14;
/** The time stamps are to the second, and the ways there take time. */
const MAX_SKEW_SECONDS = 5;

function running(workloads: readonly Workload[]): Workload[] {
  return workloads.filter(({ replicas }) => replicas > 0);
}

function scaleDown({ name }: Workload): string {
  return name.startsWith('daemonset/')
    ? `${KUBECTL} delete ${name}`
    : `${KUBECTL} scale ${name} --replicas=0`;
}

function noPort({ name, ports }: DnsService, protocol: string) {
  if (ports.includes(`${protocol} 53`)) return [];
  const port = `{"name":"dns-${protocol.toLowerCase()}","port":53,"protocol":"${protocol}"}`;
  const patch = `[{"op":"add","path":"/spec/ports/-","value":${port}}]`;
  return [
    {
      text: `the Service ${name} has no port 53/${protocol}`,
      mend: `${KUBECTL} patch service ${name} --type=json -p '${patch}'`,
    },
  ];
}

/** Servers that answer over one of UDP and TCP, and are silent over the other. */
function oneWayOnly(asked: readonly AskedFact[]): string[] {
  const isAnswered = (server: string, way: string) =>
    asked.some((each) => each.server === server && each.way === way && each.rcode !== undefined);
  const isAsked = (server: string, way: string) =>
    asked.some((each) => each.server === server && each.way === way);
  const servers = [...new Set(asked.map(({ server }) => server))];
  return servers.flatMap((server) =>
    (['udp', 'tcp'] as const).flatMap((way) => {
      const other = way === 'udp' ? 'tcp' : 'udp';
      const isSilent = isAsked(server, way) && !isAnswered(server, way);
      if (!isSilent || !isAnswered(server, other)) return [];
      return [
        `${server} does not answer over ${way.toUpperCase()}, and over ${other.toUpperCase()} it does`,
      ];
    }),
  );
}

/** Servers that are asked over UDP and TCP, and silent over both. */
function silentServers(asked: readonly AskedFact[]): string[] {
  const servers = [...new Set(asked.map(({ server }) => server))];
  return servers.filter((server) => {
    const own = asked.filter((each) => each.server === server);
    const ways = new Set(own.map(({ way }) => way));
    return ways.size === 2 && own.every(({ rcode }) => rcode === undefined);
  });
}

function addressesOf(services: readonly DnsService[], localIps: readonly string[] = []): string[] {
  return [...services.flatMap(({ clusterIps }) => clusterIps), ...localIps];
}

function wrongServers(
  { from, clusterDns }: { readonly from: string; readonly clusterDns: readonly string[] },
  known: readonly string[],
): string[] {
  const wrong = clusterDns.filter((address) => !known.includes(address));
  if (wrong.length === 0 || known.length === 0) return [];
  return [`${from} has clusterDNS ${listed(wrong)}, the DNS has ${listed(known)}`];
}

function wrongDomain(
  { from, clusterDomain }: { readonly from: string; readonly clusterDomain: string },
  zones: readonly string[],
): string[] {
  if (clusterDomain === '' || zones.length === 0 || zones.includes(clusterDomain)) return [];
  return [`${from} has clusterDomain ${clusterDomain}, the DNS serves ${listed(zones)}`];
}

function notInUse({ by, wanted, used, refused }: ConfigInUse): string[] {
  if (refused !== '') return [`${by} refuses the newest configuration: ${refused}`];
  const keys = [...new Set([...Object.keys(wanted), ...Object.keys(used)])];
  return keys
    .filter((key) => wanted[key] !== used[key])
    .map((key) => `${by} uses ${key} ${used[key] ?? '(none)'}, the ConfigMap has ${wanted[key] ?? '(none)'}`); // prettier-ignore
}

/** Only where names of the cluster are answered: else the DNS itself is the fault. */
function outsideFaults(asked: readonly AskedFact[], outside: readonly AskedFact[]): string[] {
  if (!asked.some(({ rcode }) => rcode === 'NOERROR')) return [];
  return outside.flatMap(({ server, way, name, rcode, isTruncated }) => {
    const over = way.toUpperCase();
    if (rcode === undefined) return [`${server} does not answer ${name} over ${over}`];
    if (rcode === 'SERVFAIL') return [`${server} answers ${name} over ${over} with SERVFAIL`];
    const isWhole = outside.some(
      (each) => each.server === server && each.way === 'tcp' && each.rcode === 'NOERROR',
    );
    if (!isTruncated || isWhole) return [];
    return [`${server} truncates the answer of ${name}, and gives none over TCP`];
  });
}

/** The Service is silent for one port, and answers others, or its endpoints answer. */
function staleFlow(
  { server, questions, answered }: FlowFact,
  asked: readonly AskedFact[],
): string[] {
  const others = asked.filter(({ way, rcode }) => way === 'udp' && rcode !== undefined);
  if (answered > 0 || others.length === 0) return [];
  return [
    `${questions} questions to ${server} from one port have no answer, and from other ports or to the endpoints they have`,
  ];
}

function isLinkLocal(server: string): boolean {
  return /^(?:169\.254\.|\[?fe80:|\[?fd00:ec2:)/i.test(server);
}

/** A name outside with a search domain behind it, as `www.example.com.shop.svc.cluster.local`. */
function isMadeUp(name: string, zones: readonly string[]): boolean {
  const text = name.toLowerCase().replace(/\.$/, '');
  return zones.some((zone) => {
    if (!text.endsWith(`.${zone}`)) return false;
    const labels = text.slice(0, -zone.length - 1).split('.');
    const outside = labels.at(-1) === 'svc' ? labels.slice(0, -2) : labels;
    return outside.length >= 2 || labels.at(-1) !== 'svc';
  });
}

/** The limits of glibc before 2.26, of other resolvers, and of kubelet before 1.28. */
const MAX_SEARCHES = 6;
const MAX_SEARCH_CHARACTERS = 256;
const USUAL_NDOTS = 5;
/** `NAMESPACE.svc.ZONE`, `svc.ZONE`, `ZONE`. */
const CLUSTER_SEARCHES = 3;

function resolverFaults(resolvers: readonly ResolverFact[], zone: string): Fault[] {
  const rows = resolvers.map(({ of, searches, hasClusterSearches, ndots = 0 }) => {
    const own = hasClusterSearches ? CLUSTER_SEARCHES : 0;
    const longest = hasClusterSearches ? 63 + 2 * '.svc.'.length + 3 * zone.length : 0;
    const characters = searches.join(' ').length + longest;
    return { of, ndots, count: searches.length + own, characters };
  });
  const many = rows.filter(({ count }) => count > MAX_SEARCHES).map(({ of }) => of);
  const long = rows.filter((each) => each.characters > MAX_SEARCH_CHARACTERS).map(({ of }) => of);
  const high = rows.filter(({ ndots }) => ndots > USUAL_NDOTS).map(({ of }) => of);
  const faults = [
    [`more than ${MAX_SEARCHES} search domains`, many],
    [`search domains of more than ${MAX_SEARCH_CHARACTERS} characters`, long],
    [`ndots above ${USUAL_NDOTS}`, high],
  ] as const;
  return faults.flatMap(([what, owners]) =>
    owners.length === 0
      ? []
      : [{ text: `${what}: ${listed(owners)}`, mend: editCommand(owners[0]!) }],
  );
}

/** Of what the facts name `deployment shop/web`. */
function editCommand(owner: string): string {
  const [kind, namespace, name] = owner.split(/[ /]/);
  return `kubectl -n ${namespace} edit ${kind} ${name}`;
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.toSorted().join() === other.toSorted().join();
}

/** Versions of the API are numbers, which may be longer than those of JavaScript. */
function isOlder(one: string, other: string): boolean {
  if (!/^\d+$/.test(one) || !/^\d+$/.test(other)) return false;
  return BigInt(one) < BigInt(other);
}

/** Beside its heap a program has this much: docs/sizing.md. */
const OUTSIDE_HEAP = 95 * MIB;
/** The first container of a node that reads the binary of Node is charged for its pages. */
const COLD_START = { kubedns: 130, dnsmasq: 116, sidecar: 111 } as const;

/** docs/sizing.md; for CoreDNS its scaling_coredns.md, pods and services by 1,000 and 54 MB. */
function neededBytes(image: string, services: number, endpoints: number, records: number): number {
  if (image.includes('coredns')) return Math.ceil((endpoints + services) / 1_000 + 54) * 1e6;
  const name = Object.keys(COLD_START).find((each) => image.includes(each)) as
    keyof typeof COLD_START | undefined;
  if (name === undefined && !image.includes('kube-dns')) return 0;
  const cold = COLD_START[name ?? 'kubedns'];
  if (name !== undefined && name !== 'kubedns') return cold * MIB;
  // 82 MiB with 1,000 services, 130 with 10,000 and their slices, 193 when 500,000 endpoints have records.
  const grown = 77 + (services * 53) / 10_000 + (records * 63) / 500_000;
  return Math.ceil(Math.max(cold, grown)) * MIB;
}

function mib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}

/** What is sure to pass every path unfragmented: DNS Flag Day 2020. */
const MAX_UDP_BYTES = 1_232;
const HEADER_BYTES = 12;
const OPT_BYTES = 11;
/** With the name compressed. */
const RECORD_BYTES = { ipv4: 16, ipv6: 28 };

function sizeOf({ name, ipv4, ipv6 }: HeadlessFact): number {
  const fixed = HEADER_BYTES + name.length + 2 + 4 + OPT_BYTES;
  return fixed + Math.max(ipv4 * RECORD_BYTES.ipv4, ipv6 * RECORD_BYTES.ipv6);
}

/** What is wrong with the target of an ExternalName, and which name would be right. */
function aliasFault(
  { service, target, namesakes }: AliasFact,
  zone: string,
  aliases: readonly AliasFact[],
) {
  const name = target.toLowerCase().replace(/\.$/, '');
  if (isIP(name) !== 0) {
    return {
      text: `${target} is an address: kubedns answers it as one, other DNS servers with a name that does not exist`,
      wanted: 'HOST.EXAMPLE.COM',
      isCircle: false,
    };
  }
  if (!name.includes('.') || name.endsWith('.svc')) {
    const [namespace] = namesakes;
    const ofCluster = name.endsWith('.svc') ? name : `${name}.${namespace}.svc`;
    // A service of this name in one namespace is meant; else the name may be one outside.
    const isSure = name.endsWith('.svc') || namesakes.length === 1;
    const wanted = isSure ? `${ofCluster}.${zone}` : 'HOST.EXAMPLE.COM';
    return { text: `${target} is taken as the whole name, no search domain is added`, wanted, isCircle: false }; // prettier-ignore
  }
  const seen = new Set([service]);
  let next = aliasAt(name, zone, aliases);
  if (next === undefined) return undefined;
  while (next !== undefined && !seen.has(next.service)) {
    seen.add(next.service);
    next = aliasAt(next.target, zone, aliases);
  }
  const isCircle = next !== undefined;
  const what = isCircle ? 'a circle, whose answer is SERVFAIL' : 'a chain';
  return { text: `${target} is an ExternalName itself: ${what}`, wanted: 'ITS.TARGET', isCircle };
}

/** The ExternalName of the cluster that has this name. */
function aliasAt(name: string, zone: string, aliases: readonly AliasFact[]): AliasFact | undefined {
  const plain = name.toLowerCase().replace(/\.$/, '');
  const [service = '', namespace = ''] = plain.split('.');
  if (plain !== `${service}.${namespace}.svc.${zone}`) return undefined;
  return aliases.find((each) => each.service === `${namespace}/${service}`);
}

/** A finding that applies. */
export interface Finds {
  readonly code: string;
  readonly severity: 'error' | 'warning';
  readonly text: string;
  readonly mend: string;
}

/** A rule that could not be applied. */
export interface NotChecked {
  readonly code: string;
  readonly what: string;
  readonly because: string;
}

/** A rule that was applied to some of what there is: `2 of 3 pods`. */
export interface SeenInPart {
  readonly code: string;
  readonly what: string;
  readonly of: string;
}

/** What became of a finding: what is wrong, and what could not be seen. */
export interface Outcome {
  readonly finding: Finding;
  readonly found: readonly Finds[];
  readonly inPart: readonly SeenInPart[];
  readonly notChecked: readonly NotChecked[];
  /** Something was looked at, nothing is wrong, and no program hangs that would say more. */
  readonly isPassed: boolean;
}

/** Applies the rules of each finding to the facts. */
export function judge(findings: readonly Finding[], facts: Facts): Outcome[] {
  return findings.map((finding) => {
    const { code, severity, mend } = finding;
    const seen = finding.rules.map(({ what, judge: apply }) => ({ what, result: apply(facts) }));
    const found = seen.flatMap(({ result }) =>
      'faults' in result
        ? result.faults.map((fault) => ({
            code,
            severity: fault.severity ?? severity,
            text: fault.text,
            mend: fault.mend ?? mend,
          }))
        : [],
    );
    const isHang = seen.some(({ result }) => 'isHang' in result && result.isHang);
    return {
      finding,
      found,
      isPassed: found.length === 0 && !isHang && seen.some(({ result }) => 'faults' in result),
      inPart: seen.flatMap(({ what, result }) =>
        'partly' in result && result.partly !== undefined
          ? [{ code, what, of: result.partly }]
          : [],
      ),
      notChecked: seen.flatMap(({ what, result }) =>
        'because' in result ? [{ code, what, because: result.because }] : [],
      ),
    };
  });
}
