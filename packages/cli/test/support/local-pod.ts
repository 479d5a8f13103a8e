import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, LoopbackUpstream, type RunningProgram } from '@kube-dns/testkit';
import { startCommand } from './run-command.js';

const LOCAL = fileURLToPath(new URL('../../../../manifests/local', import.meta.url));

/** The ports of manifests/local by what they are for. */
const PORTS = {
  api: 18080,
  kubedns: 10053,
  readiness: 8081,
  skydns: 10055,
  dnsmasqMetrics: 10056,
  http: 10054,
  dns: 1053,
  nodeDns: 1153,
  nodeHealth: 8180,
  nodeReady: 8181,
  nodeMetrics: 9253,
  nodeSetup: 9353,
};
/** Eight programs start at the same time, beside those of other tests. */
const START_LIMIT = { limitMs: 45_000 };
export type PodPorts = Readonly<Record<keyof typeof PORTS, number>>;

/**
 * The pod of manifests/local, run as `npm start` does but for its ports, which are free ones, and its
 * upstream server, which is on loopback.
 */
export class LocalPod {
  readonly folder = mkdtempSync(join(tmpdir(), 'kube-dns-pod-'));
  readonly objects = join(this.folder, 'objects');
  readonly manifest = join(this.folder, 'pod.yaml');
  ports: PodPorts = PORTS;
  run: RunningProgram | undefined;
  #upstream: LoopbackUpstream | undefined;

  /** Writes a file beside the manifest and returns its path. */
  file(name: string, text: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    return path;
  }

  /**
   * Writes the manifest and its objects; nothing runs yet. With `keepsConfigMap` the configuration is that of
   * the API server, and the upstream servers are those of this machine.
   */
  async prepare({ keepsConfigMap = false } = {}): Promise<void> {
    const chosen = Object.keys(PORTS).map(async (name) => [name, await freePort()] as const);
    const ports = Object.fromEntries(await Promise.all(chosen)) as PodPorts;
    this.ports = ports;
    cpSync(join(LOCAL, 'objects'), this.objects, { recursive: true });
    // In one pass: a port that was chosen may be another one of the manifest.
    const chosenPorts = new Map(
      Object.entries(PORTS).map(([name, port]) => [port, ports[name as keyof PodPorts]]),
    );
    const placed = (file: string) =>
      readFileSync(join(LOCAL, file), 'utf8').replaceAll(/\b\d+\b/g, (number) =>
        String(chosenPorts.get(Number(number)) ?? number),
      );
    mkdirSync(join(this.folder, 'node-cache'));
    for (const file of ['node-cache.yaml', 'node-cache/Corefile.base'])
      this.file(file, placed(file));
    const text = placed('pod.yaml')
      // Ports that the manifest leaves to the programs' defaults.
      .replace('- --domain=', `- --healthz-port=${ports.readiness}\n        $&`)
      .replace('- --logtostderr', `- --prometheus-port=${ports.http}\n        $&`);
    this.#upstream = await LoopbackUpstream.start();
    mkdirSync(join(this.folder, 'config'));
    const servers = JSON.stringify([`127.0.0.1:${this.#upstream.port}`]);
    writeFileSync(join(this.folder, 'config', 'upstreamNameservers'), servers);
    const volume = /configMap:\n\s+name: kube-dns\n\s+optional: true/;
    if (!volume.test(text)) throw new Error('manifests/local/pod.yaml has no kube-dns ConfigMap');
    const own = text.replace(volume, 'hostPath: { path: ./config }');
    writeFileSync(this.manifest, keepsConfigMap ? text : own);
  }

  /** Starts the pod and waits until it reports that it is ready. */
  async start(...flags: readonly string[]): Promise<RunningProgram> {
    this.run = startCommand(['up', '--manifest', this.manifest, ...flags]);
    await this.run.waitForLine(/is ready after [0-9.]+ s\. In another shell/, START_LIMIT);
    return this.run;
  }

  async close(): Promise<void> {
    await this.run?.close('SIGTERM');
    await this.#upstream?.close();
    rmSync(this.folder, { recursive: true });
  }
}
