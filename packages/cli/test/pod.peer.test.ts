import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  ask,
  needsPrograms,
  outputOf,
  type Question,
  unless,
  until,
  untilEqual,
} from '@kube-dns/testkit';
import { ConfigMapServers } from './support/config-map-change.js';
import { LocalPod } from './support/local-pod.js';
import { dataOf } from './support/record-data.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const needsAll = needsPrograms('bash', 'dig', 'kubectl');
const pod = new LocalPod();
let servers: ConfigMapServers;

beforeAll(async () => {
  if (needsAll !== undefined) return;
  servers = await ConfigMapServers.start();
  await pod.prepare();
  await pod.start('--node-cache');
});

afterAll(async () => {
  if (needsAll !== undefined) return;
  await pod.close();
  await servers.close();
});

/** Queries dnsmasq, or another port, with these arguments of dig. */
function dig(words: string, port = pod.ports.dns): Promise<string> {
  return outputOf('dig', ['@127.0.0.1', '-p', String(port), '+time=60', ...words.split(' ')]);
}

const kubectl = (...words: string[]) =>
  outputOf('kubectl', [`--server=http://127.0.0.1:${pod.ports.api}`, ...words], {
    HOME: pod.folder,
    KUBECONFIG: join(pod.folder, 'kubeconfig'),
  });

/** The `dig +short` examples of docs/try.md and what it shows of them, but for those after an apply. */
function shownExamples(): [words: string, answers: string[]][] {
  const page = readFileSync(join(ROOT, 'docs/try.md'), 'utf8');
  const pattern = /^\$ dig @127\.0\.0\.1 -p 1053 (\+short .*)\n((?:[^$`].*\n)+)/gm;
  return [...page.matchAll(pattern)]
    .map(([, words = '', answers = '']): [string, string[]] => [words, answers.trim().split('\n')])
    .filter(([words]) => !/hello|acme/.test(words));
}

unless(needsAll, describe)('the examples of docs/try.md', () => {
  it('are there', () => {
    expect(shownExamples().length).toBeGreaterThanOrEqual(8);
  });

  it.each(shownExamples())('hold for dig %s', async (words, answers) => {
    expect((await dig(words)).split('\n').sort()).toEqual([...answers].sort());
  });
});

/** The commands of docs/try.md that change a service while a loop asks for it, each with what it prints. */
function shownChange(): { command: string; shown: string }[] {
  const page = readFileSync(join(ROOT, 'docs/try.md'), 'utf8');
  const block = [...page.matchAll(/```console\n([^`]*)```/g)]
    .map(([, text = '']) => text)
    .find((text) => text.startsWith('$ while :'));
  return [...(block ?? '').matchAll(/^\$ (.*)\n((?:[^$].*\n)*)/gm)].map(
    ([, command = '', shown = '']) => ({ command, shown: shown.trimEnd() }),
  );
}

/**
 * What shows the command's output, or that of the last of many tries for a question: its answer may come from before the
 * message of kubedns. How old an answer may be is judged by `npm run simulate`.
 */
function shellOf({ command, shown }: { command: string; shown: string }): string {
  if (!command.startsWith('dig ')) return command;
  return `for try in $(seq 600); do
  out=$(${command}); [ "$out" = '${shown}' ] && break; sleep 0.1
done; echo "$out"`;
}

unless(needsAll, describe)('kubectl and dig against the pod', () => {
  const hello = 'hello.shop.svc.cluster.local';

  it('lists the services', async () => {
    expect(await kubectl('get', 'svc', '-A')).toMatch(/shop\s+web\s+ClusterIP\s+10\.96\.20\.10/);
  });

  it('marks what comes from the zone as authoritative, with the SOA where there is nothing', async () => {
    const text = await dig('nothing.shop.svc.cluster.local');
    expect(text).toMatch(/status: NXDOMAIN[^]*flags: qr aa rd ra;/);
    expect(text).toMatch(/AUTHORITY SECTION:\ncluster\.local\.\s+5\s+IN\s+SOA/);
  });

  it('adds a service that is served, and deletes it again', async () => {
    const file = join(pod.folder, 'applied.yaml');
    writeFileSync(
      file,
      `apiVersion: v1
kind: Service
metadata: { name: applied, namespace: shop }
spec: { clusterIP: 10.96.88.88, ports: [{ name: http, port: 80 }] }
`,
    );
    const name = '+short applied.shop.svc.cluster.local';
    await kubectl('apply', '-f', file);
    await untilEqual('10.96.88.88', () => dig(name, pod.ports.kubedns));
    expect(await dig(name)).toBe('10.96.88.88');
    await kubectl('delete', '-f', file);
    await untilEqual('', () => dig(name, pod.ports.kubedns));
  });

  it.each([
    ['the cache', 'dns'],
    ['node-cache in front of it', 'nodeDns'],
  ] as const)(
    'changes a service that is asked for all the time, as docs/try.md shows, through %s',
    async (_what, port) => {
      const commands = shownChange();
      expect(commands).toHaveLength(7);
      const script = commands
        .map(shellOf)
        .join('\n')
        .replaceAll('-p 1053 ', `-p ${pod.ports[port]} `)
        .replaceAll(':18080 ', `:${pod.ports.api} `);
      const env = { HOME: pod.folder };
      const printed = await outputOf('bash', ['-c', `cd '${ROOT}'\n${script}`], env);
      const shown = commands.flatMap((each) => (each.shown === '' ? [] : [each.shown])).join('\n');
      // Older versions of kubectl do not name the namespace.
      const plain = (text: string) => text.replace(/ from \w+ namespace$/m, '');
      expect(plain(printed)).toBe(plain(shown));
    },
  );

  it('has the answers of a changed service from the cache, negative or not', async () => {
    const file = join(ROOT, 'manifests/local/example.yaml');
    const asked = async (question: Question) => dataOf(await ask(pod.ports.dns, question)).join();
    const misses = () => asked({ name: 'misses.bind', type: 'TXT', class: 'CH' });
    const answers = async (expected: string) => {
      await untilEqual(expected, () => dig(`+short ${hello}`));
      // The probe of the sidecar asks, too: five answers in a row without it.
      await until('five answers from the cache', async () => {
        const before = await misses();
        for (let i = 0; i < 5; i++) expect(await asked({ name: hello })).toBe(expected);
        return (await misses()) === before;
      });
    };
    await answers('');
    await kubectl('apply', '-f', file);
    await answers('10.96.20.30');
    await kubectl('delete', '-f', file);
    await answers('');
  });

  it('configures the pod with a ConfigMap', async () => {
    const inNamespace = (...words: string[]) => kubectl('--namespace=kube-system', ...words);
    await servers.change(pod, {
      create: (data) => {
        const metadata = { name: 'kube-dns' };
        const text = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
        return inNamespace('apply', '-f', pod.file('config-map.json', text));
      },
      patch: (data) =>
        inNamespace('patch', 'configmap', 'kube-dns', '-p', JSON.stringify({ data })),
      remove: () => inNamespace('delete', 'configmap', 'kube-dns'),
    });
  });
});
