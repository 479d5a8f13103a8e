import {
  ClusterObjects,
  factsOfFiles,
  factsOfPages,
  FINDINGS,
  InputError,
  judge,
  lineText,
  linesText,
  readKubeObjects,
  sumOf,
} from '@kube-dns/cli/internal';
import { type CreateTarget, textAllowance, textTarget } from '../fuzz-target.js';

/** Between the pages of which an input has several. */
const BETWEEN = '\n---\n';
/** What a terminal shows and does not obey. */
const PRINTABLE = /^[\n\x20-\x7e]*$/;
/** A tree of the text is made, or an error for each word: it is a file of who runs the program. */
const TIMES_A_TEXT = 32;
/** The findings of a cluster. */
const REPORT_ALLOWANCE = 256 * 1024;

const META = '{"metadata":{"name":"kube-dns","namespace":"kube-system"';
/** Objects that findings are made of, each as a file. */
const FILES = [
  `{"kind":"Service",${META.slice(1)},"labels":{"k8s-app":"kube-dns"}},"spec":{"clusterIP":"10.96.0.10","clusterIPs":["10.96.0.10"],"selector":{"k8s-app":"kube-dns"},"ports":[{"port":53,"protocol":"UDP","targetPort":"dns"}]}}`,
  `{"kind":"EndpointSlice",${META.slice(1)},"labels":{"kubernetes.io/service-name":"kube-dns"}},"addressType":"IPv4","endpoints":[{"addresses":["10.1.0.1"],"conditions":{"ready":true},"nodeName":"a"}]}`,
  `{"kind":"ConfigMap",${META.slice(1)}},"data":{"stubDomains":"{\\"a.b\\":[\\"10.96.0.10\\",\\"1.2.3\\"]}","hosts":"1.2.3.4 x.cluster.local"}}`,
  `{"kind":"ConfigMap","metadata":{"name":"coredns","namespace":"kube-system"},"data":{"Corefile":".:53 {\\n kubernetes cluster.local in-addr.arpa\\n forward . /etc/resolv.conf {\\n }\\n}"}}`,
  `{"kind":"ConfigMap","metadata":{"name":"kubelet-config","namespace":"kube-system"},"data":{"kubelet":"clusterDNS: [10.0.0.10]\\nclusterDomain: k8s.example\\n"}}`,
  `{"kind":"Deployment",${META.slice(1)}},"spec":{"replicas":2,"template":{"metadata":{"labels":{"k8s-app":"kube-dns"}},"spec":{"containers":[{"name":"kubedns","image":"kubedns:1","args":["--domain=cluster.local.","--hidden-namespaces=com"],"env":[{"name":"NODE_OPTIONS","value":"--max-old-space-size=224"}],"ports":[{"containerPort":53,"protocol":"UDP","name":"dns"}],"resources":{"limits":{"memory":"320Mi"}}}]}}}}`,
  `{"kind":"NetworkPolicy","metadata":{"name":"deny","namespace":"shop"},"spec":{"podSelector":{},"policyTypes":["Egress","Ingress"],"egress":[{"to":[{"namespaceSelector":{"matchLabels":{"a":"b"}}},{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.96.0.0/16"]}}],"ports":[{"protocol":"UDP","port":53,"endPort":60}]}]}}`,
  `{"kind":"List","items":[{"kind":"Namespace","metadata":{"name":"com"}},{"kind":"Node","metadata":{"name":"a","labels":{"topology.kubernetes.io/zone":"z"}}},{"kind":"Service","metadata":{"name":"x","namespace":"shop"},"spec":{"type":"ExternalName","externalName":"redis.data.svc"}}]}`,
  'kind: Pod\nmetadata: {name: web, namespace: shop, labels: {app: web}}\nspec:\n  dnsPolicy: ClusterFirst\n  dnsConfig:\n    searches: [a, b, c, d]\n    options:\n    - {name: ndots, value: "7"}\n---\nkind: DaemonSet\nmetadata:\n  name: node-local-dns\n  namespace: kube-system\nspec:\n  selector: &x {matchLabels: {k8s-app: node-local-dns}}\n  template:\n    metadata: *x\n    spec: {containers: [{args: [-localip, 169.254.20.10]}]}\n',
  'kind: KubeProxyConfiguration\nmode: ipvs\n---\nkind: PodDisruptionBudget\nmetadata: {name: d}\nspec: {selector: {matchExpressions: [{key: k8s-app, operator: In, values: [kube-dns]}]}}\n',
];

const STATUS = {
  program: 'dnsmasq',
  at: '2026-01-01T00:00:00.000Z',
  notReady: ['no list yet'],
  sections: {
    Process: { uptimeSeconds: 100 },
    Settings: [
      { setting: 'stubDomains a.b', value: '1.2.3.4' },
      { setting: '--negcache', value: 'push' },
    ],
    'Upstream servers': [
      {
        server: '9.9.9.9#53',
        domains: '.',
        state: 'down',
        reason: 'x',
        failures: 'timeout 3, refused 1',
        queries: 900,
      },
    ],
    'Configuration applied': { refusedAt: '', reason: 'y' },
    'Top clients': [{ client: 'shop/web-1', questions: 5_000 }],
    'Top NXDOMAIN names': [{ name: 'www.example.com.shop.svc.cluster.local.', questions: 3_000 }],
    Zones: [
      {
        zone: 'cluster.local',
        state: 'live',
        reason: '',
        coveragePercent: 99,
        zoneAnswers: 7,
      },
    ],
    Zone: { zone: 'cluster.local.' },
    'Watches of the API': [{ resource: 'services', state: 'ok', resourceVersion: '9' }],
    Node: { rulesBy: 'nft', hasInterface: true, hasRules: false },
  },
};
const METRICS =
  '# TYPE x counter\nkubedns_upstream_server_certificate_end_timestamp_seconds{server="9.9.9.9#53"} 1767225600\ncoredns_dns_requests_total{server="a\\"b",type="AAAA"} 5000\ncoredns_dns_requests_total{type="A"} 1e4\n';

const PUNCTUATION = ['"', '[', ']', '{', '}', ':', ','];

/** What the commands `check`, `top` and `tail` read of files and of programs. */
export const ROWS = {
  /** Files of `kube-dns check`, until its findings. */
  'check-files': () =>
    textTarget({
      allowance: (input) => REPORT_ALLOWANCE + TIMES_A_TEXT * textAllowance(input),
      seeds: [...FILES, FILES.slice(0, 2).join(BETWEEN)],
      tokens: [
        ...PUNCTUATION,
        ...[': ', '\n- ', '\n  ', '- ', BETWEEN, '&a ', '*a', '|\n'],
        ...['kind: ', '"kind":"Service"', '"kind":"ConfigMap"', '"kind":"Pod"', '"metadata":{'],
        ...[
          '"spec":{',
          '"selector":null',
          '"ports":[',
          '"labels":{',
          'null',
          '!!binary ',
          '<<: *a',
        ],
        ...[
          '"matchExpressions":[{"key":"a"}]',
          '"cidr":"::/0"',
          '"memory":"1Gi"',
          '"args":[',
          '1e99',
        ],
      ],
      parse: (text) => {
        const objects = new ClusterObjects('kube-system');
        for (const { kind, value } of readKubeObjects(text, 'file')) objects.add(kind, value);
        checkFindings(judge(FINDINGS, factsOfFiles(objects)));
        return objects.counts.size > 0;
      },
      refusals: [InputError],
    }),

  /** Status pages and metrics of programs, until the findings of `kube-dns check`. */
  'check-pages': () =>
    textTarget({
      allowance: (input) => REPORT_ALLOWANCE + textAllowance(input),
      seeds: ['dnsmasq', 'kubedns', 'node-cache'].map(
        (program) => JSON.stringify({ ...STATUS, program }) + BETWEEN + METRICS,
      ),
      tokens: [
        ...PUNCTUATION,
        ...['null', '[]', '{}', '-1', '1e999', '"sections":{'],
        ...['"program":"kubedns"', '"failures":"', 'a 1, ', '{server="', '"} ', ' NaN', ' +Inf'],
        ...['coredns_dns_requests_total', '"state":"down"', '"at":"x"', '"questions":-1'],
      ],
      parse: (text) => {
        const [report = '', metrics = ''] = text.split(BETWEEN);
        const value = JSON.parse(report) as unknown;
        if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
        const page = { by: 'a program', report: value as never, metrics, aheadMs: 0 };
        const values = factsOfPages([page, { ...page, report: undefined }]);
        checkFindings(judge(FINDINGS, { values, unseen: {} }));
        return true;
      },
      refusals: [SyntaxError],
    }),

  /** The pages `/top` and `/querylog`, until they are lines of a terminal. */
  'query-pages': () =>
    textTarget({
      seeds: [
        '{"clients":[{"client":"10.1.0.1","questions":7}],"names":[{"name":"a.b.","questions":3}],"nxdomainNames":[]}',
        '{"dropped":1,"lines":[{"time":"2026-01-01T00:00:00.000Z","client_ip":"10.1.0.1","qtype":"A","qname":"a\\\\000b.","rcode":"NOERROR","source":"cache","duration_seconds":0.001,"ede":[3,22]}]}',
      ],
      tokens: [
        ...PUNCTUATION,
        ...['null', '[]', '{}', '-1', '1e999', '\\u001b[2J', '\\n'],
        ...[
          '"client":',
          '"questions":1',
          '"name":"',
          '"ede":["',
          '"duration_seconds":',
          '"qname":',
        ],
      ],
      parse: (text) => {
        const page = JSON.parse(text) as unknown;
        const lists = sumOf([page, page]);
        const { lines } = Object(page) as { lines?: unknown };
        const all = Array.isArray(lines) ? lines.map((line) => lineText(line, 'pod ')) : [];
        if (all.some((line) => line.includes('\n'))) throw new Error('a line has several');
        const shown = linesText(lists) + all.join('\n');
        if (!PRINTABLE.test(shown)) throw new Error('a terminal would obey it');
        return shown !== '';
      },
      refusals: [SyntaxError],
    }),
} satisfies Readonly<Record<string, CreateTarget>>;

/** Throws where a finding has no text. */
function checkFindings(outcomes: ReturnType<typeof judge>): void {
  for (const { found } of outcomes) {
    for (const { text, mend } of found) {
      if (text === '' || mend === '') throw new Error('a finding has no text');
    }
  }
}
