// `npm run chart`: writes a Helm chart of manifests/kube-dns. It renders the same files as `kubectl apply -k`, with
// an expression of a template wherever kustomization.yaml puts a value of the cluster in place.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { parseAllDocuments, stringify } from 'yaml';

const root = fileURLToPath(new URL('../..', import.meta.url));
const source = join(root, 'manifests', 'kube-dns');
const usage = `Usage: npm run chart -- [--prefix=TEXT] [FOLDER]

Writes a Helm chart of manifests/kube-dns to the folder, dist/chart unless one is given. --prefix is in front of the
names of the images, such as registry.example/dns/; without it they are those of kustomization.yaml.`;
const { prefix, folder } = readArguments();
// Late: it takes longer to load than to refuse an option.
const { renderKustomization } = await import('./dist/index.js');

/** The prefix of the images and the folder; ends the process for --help, and for what is wrong. */
function readArguments() {
  const options = { prefix: { type: 'string' }, help: { type: 'boolean', short: 'h' } };
  try {
    const { values, positionals } = parseArgs({ allowPositionals: true, options });
    if (values.help) {
      console.log(usage);
      process.exit(0);
    }
    const [name = join(root, 'dist', 'chart'), ...more] = positionals;
    if (more.length > 0) throw new Error('more than one folder');
    return { prefix: values.prefix, folder: resolve(name) };
  } catch (error) {
    const [, unknown] = /^Unknown option '(\S+)'/.exec(error.message) ?? [];
    const what = unknown === undefined ? error.message : `unknown option ${unknown}`;
    console.error(`chart: ${what}; see npm run chart -- --help`);
    process.exit(2);
  }
}

/** Stands for `{{ EXPRESSION }}` until the objects are text. */
const expression = (text) => `<<${text}>>`;
const read = (file) =>
  parseAllDocuments(readFileSync(join(source, file), 'utf8')).map((document) => document.toJS());
const [{ images }] = read('kustomization.yaml');
const [{ data: cluster }] = read('cluster.yaml');

/** The objects of a file, with expressions in place of what differs from cluster to cluster. */
function readTemplate(file) {
  const objects = read(file);
  if (file === 'kustomization.yaml') {
    const [kustomization] = objects;
    kustomization.namespace = expression('.Release.Namespace');
    for (const image of kustomization.images) {
      image.newName = expression(`.Values.images.${image.name}`);
      image.newTag = expression('.Values.tag | default .Chart.AppVersion');
    }
  }
  for (const { kind, metadata, data, spec } of objects) {
    if (kind === 'ConfigMap' && metadata.name === 'cluster') {
      for (const name of Object.keys(data)) data[name] = expression(`.Values.${name}`);
    }
    if (spec?.trafficDistribution !== undefined) spec.trafficDistribution = TRAFFIC;
    if (kind !== 'Deployment') continue;
    spec.replicas = expression('.Values.replicas');
    const pod = spec.template.spec;
    pod.tolerations = expression('.Values.tolerations | toJson');
    pod.imagePullSecrets = expression('.Values.imagePullSecrets | toJson');
    for (const container of pod.containers) {
      container.resources = expression(`.Values.resources.${container.name} | toJson`);
      heapOf(container).value = HEAP + expression(`.Values.heapMiB.${container.name} | int`);
    }
  }
  return objects;
}

const HEAP = '--max-old-space-size=';
/** Stands for the lines of `trafficLines`. */
const TRAFFIC = 'TRAFFIC';

/** 1.31 to 1.33 refuse PreferSameZone and know it under its old name, 1.30 drops the field; '' leaves it out. */
function trafficLines(indent) {
  const line = (value) => `${indent}trafficDistribution: ${value}`;
  return [
    '{{- if ne .Values.trafficDistribution "auto" }}',
    '{{- with .Values.trafficDistribution }}',
    line('{{ . }}'),
    '{{- end }}',
    '{{- else if semverCompare ">=1.34-0" .Capabilities.KubeVersion.Version }}',
    line('PreferSameZone'),
    '{{- else }}',
    line('PreferClose'),
    '{{- end }}',
  ].join('\n');
}

/** The variable that has the heap of Node, and nothing else. */
function heapOf({ name, env }) {
  const found = env.find((each) => each.name === 'NODE_OPTIONS');
  if (!found?.value.startsWith(HEAP)) throw new Error(`${name} has no NODE_OPTIONS=${HEAP}`);
  return found;
}

/** An object as a template: a scalar with expressions is a quoted string, but for numbers and JSON. */
function template(object) {
  const text = stringify(object, { lineWidth: 0 });
  if (text.includes('{{')) throw new Error(`${object.kind} ${object.metadata.name} has a {{`);
  const lines = text.split('\n').map((line) =>
    line
      .replace(
        /^(\s*imagePullSecrets: )<<(\S+) .*>>$/,
        '{{- if $2 }}\n$1{{ toJson $2 }}\n{{- end }}',
      )
      .replace(/^(\s*(?:replicas|resources|tolerations): )<<(.*)>>$/, '$1{{ $2 }}')
      .replace(/^(\s*)trafficDistribution: TRAFFIC$/, (_, indent) => trafficLines(indent))
      .replace(/(?<=[:-] )(<<.*>>)$/, '"$1"')
      .replaceAll('<<', '{{ ')
      .replaceAll('>>', ' }}'),
  );
  if (object.kind === 'ConfigMap') return `${lines.join('\n')}${CONFIG}`;
  return object.kind === 'Deployment' ? lines.flatMap(withNames).join('\n') : lines.join('\n');
}

/** The arguments for names beside the zone of the cluster, after those that they belong to. */
function withNames(line) {
  const indent = line.slice(0, line.search(/\S/));
  const under = (head, arg) => [head, `${indent}- "${arg}"`, '{{- end }}'];
  if (line.endsWith('- --config-dir=/kube-dns-config')) {
    return [
      line,
      ...under('{{- with .Values.clustersetDomain }}', '--clusterset-domain={{ . }}'),
      ...under('{{- with .Values.externalDomain }}', '--external-domain={{ . }}'),
      ...under('{{- if .Values.routeDomains }}', '--route-names'),
      ...under('{{- if .Values.zonal }}', '--zonal'),
      ...under('{{- with .Values.searchZone }}', '--search-zone={{ . }}'),
    ];
  }
  if (line.endsWith('- --server=/ip6.arpa/127.0.0.1#10053')) {
    return [
      line,
      ...under('{{- with .Values.clustersetDomain }}', '--server=/{{ . }}/127.0.0.1#10053'),
      ...under('{{- with .Values.externalDomain }}', '--server=/{{ . }}/127.0.0.1#10053'),
      ...under('{{- range .Values.routeDomains }}', '--server=/{{ . }}/127.0.0.1#10053'),
      ...under('{{- with .Values.searchZone }}', '--server=/{{ . }}/127.0.0.1#10053'),
    ];
  }
  return [line];
}

const CONFIG = `{{- with .Values.config }}
data:
  {{- toYaml . | nindent 2 }}
{{- end }}
`;

/**
 * The token that the replicas share: made at the first installation and kept from then on, as far as Helm sees the cluster.
 */
const SECRET = `{{- if .Values.snapshotSecret }}
{{- $old := lookup "v1" "Secret" .Release.Namespace "kube-dns-snapshot" }}
apiVersion: v1
kind: Secret
metadata:
  name: kube-dns-snapshot
  namespace: "{{ .Release.Namespace }}"
  labels:
    k8s-app: kube-dns
data:
  token: "{{ dig "data" "token" (randAlphaNum 43 | b64enc) $old }}"
{{- end }}
`;

const { objects } = renderKustomization(readTemplate);

/** The role of a component, and who has it, as a template. */
function rolesOf(component) {
  const file = join(source, '..', 'components', component, 'rbac.yaml');
  const roles = parseAllDocuments(readFileSync(file, 'utf8')).map((document) => {
    const object = document.toJS();
    for (const subject of object.subjects ?? [])
      subject.namespace = expression('.Release.Namespace');
    return template(object);
  });
  return roles.join('---\n');
}

const [{ spec }] = read('deployment.yaml');
const { version, description, license } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);

mkdirSync(join(folder, 'templates'), { recursive: true });
const write = (file, text) => writeFileSync(join(folder, file), text);
for (const object of objects) {
  const { kind, metadata } = object;
  const file = metadata.name === 'kube-dns' ? kind : `${kind}-${metadata.name}`;
  write(join('templates', `${file.toLowerCase()}.yaml`), template(object));
}
write(join('templates', 'secret.yaml'), SECRET);
for (const [component, value] of [
  ['names-from-outside', 'routeDomains'],
  ['clusterset', 'clustersetDomain'],
]) {
  const file = join('templates', `${component}.yaml`);
  write(file, `{{- if .Values.${value} }}\n${rolesOf(component)}{{- end }}\n`);
}
write(
  'Chart.yaml',
  stringify({
    apiVersion: 'v2',
    name: 'kube-dns',
    type: 'application',
    description,
    version,
    appVersion: images[0].newTag,
    // preStop.sleep
    kubeVersion: '>=1.30.0-0',
    annotations: { licenses: license },
  }),
);
const TEXT = { type: 'string' };
/** The text of one; the program says what is wrong in it. */
const JSON_OBJECT = { type: 'string', pattern: '^\\s*([{]|$)' };
/** Of an object whose keys are all known: `--set replcas=3` is refused. */
const known = (properties, required = []) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const ZONE_OR_NONE = { type: 'string', pattern: '^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$' };
const byContainer = (schema) =>
  known(Object.fromEntries(images.map((image) => [image.name, schema])));
const schema = known({
  global: { type: 'object' },
  clusterIP: {
    type: 'string',
    pattern: '^([0-9]{1,3}([.][0-9]{1,3}){3}|[0-9a-fA-F]*:[0-9a-fA-F:.]*)$',
  },
  domain: { type: 'string', pattern: '^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$' },
  replicas: { type: 'integer', minimum: 0 },
  images: byContainer({ type: 'string', minLength: 1 }),
  tag: { type: ['string', 'number'] },
  resources: byContainer(
    known({ limits: { type: 'object' }, requests: { type: 'object' }, claims: { type: 'array' } }),
  ),
  heapMiB: byContainer({ type: 'integer', minimum: 16 }),
  tolerations: {
    type: 'array',
    items: known({
      key: TEXT,
      operator: { enum: ['Exists', 'Equal'] },
      value: TEXT,
      effect: { enum: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] },
      tolerationSeconds: { type: 'integer' },
    }),
  },
  imagePullSecrets: { type: 'array', items: known({ name: TEXT }, ['name']) },
  snapshotSecret: { type: 'boolean' },
  clustersetDomain: ZONE_OR_NONE,
  externalDomain: ZONE_OR_NONE,
  trafficDistribution: { enum: ['auto', '', 'PreferSameZone', 'PreferSameNode', 'PreferClose'] },
  zonal: { type: 'boolean' },
  routeDomains: {
    type: 'array',
    items: { type: 'string', pattern: '^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$' },
  },
  searchZone: { type: 'string', pattern: '^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$' },
  config: known({
    stubDomains: JSON_OBJECT,
    upstreamNameservers: { type: 'string', pattern: '^\\s*([[]|$)' },
    federations: JSON_OBJECT,
    queryLog: TEXT,
    hosts: TEXT,
  }),
});
write(
  'values.schema.json',
  `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', ...schema }, null, 2)}\n`,
);
write(
  join('templates', 'NOTES.txt'),
  `kube-dns {{ .Values.tag | default .Chart.AppVersion }} serves {{ .Values.domain }} at {{ .Values.clusterIP }}.

Pods use it when the kubelets' clusterDNS is {{ .Values.clusterIP }}. See whether it is ready:

  kubectl -n {{ .Release.Namespace }} rollout status deployment/kube-dns
{{- if not .Values.snapshotSecret }}

snapshotSecret is false: the Secret kube-dns-snapshot is yours.
{{- end }}
`,
);
const { containers, tolerations } = spec.template.spec;
const resources = Object.fromEntries(containers.map(({ name, resources }) => [name, resources]));
const heapMiB = Object.fromEntries(
  containers.map((each) => [each.name, Number(heapOf(each).value.slice(HEAP.length))]),
);
write(
  'values.yaml',
  `# What kubelet's clusterDNS names; a free address of the service network.
clusterIP: ${cluster.clusterIP}
# What kubelet's clusterDomain names, without the final dot.
domain: ${cluster.domain}
replicas: ${spec.replicas}
# Where the images are, without a tag.
images:
${images.map(({ name, newName }) => `  ${name}: ${prefix === undefined ? newName : prefix + name}\n`).join('')}# Their tag; the version of the chart unless one is given.
tag: ''
# Of each container; the limits hold for 10,000 services with 500,000 endpoints.
${stringify({ resources })}# The heap of Node in each container, 95 below the limit of its memory: change both together.
${stringify({ heapMiB })}# Of the pods.
${stringify({ tolerations })}# Secrets for a registry that asks for a password: a name each.
imagePullSecrets: []
# The token with which the pods read the snapshots of one another, made once. false: the Secret kube-dns-snapshot is
# yours, as where the chart is rendered without the cluster (helm template, Argo CD), which would make another each time.
snapshotSecret: true
# The zone of services that are imported from other clusters (ServiceImports of multicluster.x-k8s.io), as clusterset.local. It brings a
# ClusterRole of its own. '': none.
clustersetDomain: ''
# Which DNS pod a question goes to. auto: one in the zone of its client, where one is ready there. PreferSameNode is for Kubernetes 1.34.
# '': any.
trafficDistribution: auto
# Whether kubedns answers <zone>.pin._zone.<service>.<namespace>.svc.<domain> for headless services.
zonal: false
# A zone with the outside addresses of services: <service>.<namespace>.<zone>. '': none.
externalDomain: ''
# The domains of hosts of Ingresses and Gateway routes that are answered inside the cluster, as [example.com], for namespaces with the
# label kube-dns/host-names=true. It brings a ClusterRole of its own. []: none.
routeDomains: []
# The zone of search names, as ap.k8s.io: a pod with the search domain search.<namespace>.<domain>.<zone> alone asks one question for a
# name. '': none.
searchZone: ''
# stubDomains and upstreamNameservers of the ConfigMap kube-dns, JSON each.
config: {}
`,
);
console.log(`chart: kube-dns ${version} is in ${folder}; next:
  helm upgrade --install kube-dns ${folder} --namespace kube-system`);
