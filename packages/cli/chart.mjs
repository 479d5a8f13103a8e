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
    if (kind === 'Deployment') spec.replicas = expression('.Values.replicas');
  }
  return objects;
}

/** An object as a template: a scalar with expressions is a quoted string, but for the number of replicas. */
function template(object) {
  const text = stringify(object, { lineWidth: 0 });
  if (text.includes('{{')) throw new Error(`${object.kind} ${object.metadata.name} has a {{`);
  const lines = text.split('\n').map((line) =>
    line
      .replace(/^(\s*replicas: )<<(.*)>>$/, '$1{{ $2 }}')
      .replace(/(?<=[:-] )(<<.*>>)$/, '"$1"')
      .replaceAll('<<', '{{ ')
      .replaceAll('>>', ' }}'),
  );
  return object.kind === 'ConfigMap' ? `${lines.join('\n')}${CONFIG}` : lines.join('\n');
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
# The token with which the pods read the snapshots of one another, made once. false: the Secret kube-dns-snapshot is
# yours, as where the chart is rendered without the cluster (helm template, Argo CD), which would make another each time.
snapshotSecret: true
# stubDomains and upstreamNameservers of the ConfigMap kube-dns, JSON each.
config: {}
`,
);
console.log(`chart: kube-dns ${version} is in ${folder}; next:
  helm upgrade --install kube-dns ${folder} --namespace kube-system`);
