import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { runProgram, TemporaryFolder } from '@kube-dns/testkit';
import { parse } from 'yaml';
import { ROOT } from './support/root.js';

it.concurrent.each([
  [['--help'], 0],
  [['--hlep'], 2],
  [['a', '--x'], 2],
])('npm run chart -- %j ends with %i and writes nothing', async (words, status) => {
  const folder = new TemporaryFolder();
  try {
    const args = [`${ROOT}packages/cli/chart.mjs`, ...words];
    const made = await runProgram(process.execPath, args, { cwd: folder.path });
    expect(made.end).toBe(status);
    expect(`${made.stdout}${made.stderr}`).toContain('npm run chart -- ');
    expect(readdirSync(folder.path)).toEqual([]);
  } finally {
    await folder.close();
  }
});

interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean;
}

/** Keys of a value that its schema does not know, as `helm` names them. */
function strange(value: unknown, schema: Schema, path = ''): string[] {
  const { properties, additionalProperties = true } = schema;
  if (properties === undefined) return [];
  return Object.entries(value as object).flatMap(([key, each]) => {
    const of = properties[key];
    if (of === undefined) return additionalProperties ? [] : [`${path}${key}`];
    return strange(each, of, `${path}${key}.`);
  });
}

it('the chart has values for resources, tolerations and pull secrets, a schema that knows no others, and notes', async () => {
  const folder = new TemporaryFolder();
  try {
    const args = [`${ROOT}packages/cli/chart.mjs`, folder.path];
    expect((await runProgram(process.execPath, args)).end).toBe(0);
    const read = (file: string) => readFileSync(`${folder.path}/${file}`, 'utf8');
    const values = parse(read('values.yaml')) as Record<string, Record<string, object>>;
    const schema = JSON.parse(read('values.schema.json')) as Schema;
    expect(strange(values, schema)).toEqual([]);
    expect(Object.keys(values).sort()).toEqual(
      Object.keys(schema.properties!)
        .filter((key) => key !== 'global')
        .sort(),
    );
    const typos = {
      replcas: 3,
      images: { kubedsn: 'x' },
      resources: { kubedns: { limit: {} } },
      config: { stubDomain: '{}' },
    };
    expect(strange(typos, schema)).toEqual([
      'replcas',
      'images.kubedsn',
      'resources.kubedns.limit',
      'config.stubDomain',
    ]);
    expect(values.resources!.kubedns).toMatchObject({ limits: { memory: '320Mi' } });
    const deployment = read('templates/deployment.yaml');
    for (const name of ['kubedns', 'dnsmasq', 'sidecar']) {
      expect(deployment).toMatch(
        new RegExp(
          `\\n {10}resources: \\{\\{ \\.Values\\.resources\\.${name} \\| toJson \\}\\}\\n`,
        ),
      );
    }
    expect(deployment).toContain('\n      tolerations: {{ .Values.tolerations | toJson }}\n');
    expect(deployment).toContain(
      '{{- if .Values.imagePullSecrets }}\n      imagePullSecrets: {{ toJson .Values.imagePullSecrets }}\n{{- end }}\n',
    );
    expect(values.clustersetDomain).toBe('');
    const arg = (text: string) =>
      `{{- with .Values.clustersetDomain }}\n            - "${text}"\n{{- end }}\n`;
    expect(deployment).toContain(arg('--clusterset-domain={{ . }}'));
    expect(deployment).toContain(arg('--server=/{{ . }}/127.0.0.1#10053'));
    expect(read('templates/clusterset.yaml')).toMatch(
      /^\{\{- if \.Values\.clustersetDomain \}\}\n[^]*serviceimports[^]*---[^]*\{\{- end \}\}\n$/,
    );
    expect(values.trafficDistribution).toBe('auto');
    expect(read('templates/service.yaml')).toContain(`
{{- if ne .Values.trafficDistribution "auto" }}
{{- with .Values.trafficDistribution }}
  trafficDistribution: {{ . }}
{{- end }}
{{- else if semverCompare ">=1.34-0" .Capabilities.KubeVersion.Version }}
  trafficDistribution: PreferSameZone
{{- else }}
  trafficDistribution: PreferClose
{{- end }}
`);
    expect(deployment).toContain(
      '\n{{- if .Values.zonal }}\n            - "--zonal"\n{{- end }}\n',
    );
    expect(read('templates/NOTES.txt')).toContain('at {{ .Values.clusterIP }}.');
  } finally {
    await folder.close();
  }
});
