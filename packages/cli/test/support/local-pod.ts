import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, type RunningProgram } from '@kube-dns/testkit';
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
export type PodPorts = Readonly<Record<keyof typeof PORTS, number>>;

/** The sidecar shows what dnsmasq counts without the pause of 5 s. */
const POLLS_OFTEN = '- --dnsmasq-poll-interval-ms=100';

/**
 * The pod of manifests/local, run as `npm start` does but for its ports, which are free ones, and that pause. Until a ConfigMap names
 * others, its upstream servers are those of this machine.
 */
export class LocalPod {
  readonly folder = mkdtempSync(join(tmpdir(), 'kube-dns-pod-'));
  readonly objects = join(this.folder, 'objects');
  readonly manifest = join(this.folder, 'pod.yaml');
  ports: PodPorts = PORTS;
  run: RunningProgram | undefined;

  /** Writes a file beside the manifest and returns its path. */
  file(name: string, text: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    return path;
  }

  /** Writes the manifest and its objects; nothing runs yet. */
  async prepare(): Promise<void> {
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
      .replace('- --logtostderr', `- --prometheus-port=${ports.http}\n        $&`)
      .replace('- --logtostderr', `${POLLS_OFTEN}\n        $&`);
    writeFileSync(this.manifest, text);
  }

  /** Starts the pod and waits until it reports that it is ready. */
  async start(...flags: readonly string[]): Promise<RunningProgram> {
    this.run = startCommand(['up', '--manifest', this.manifest, ...flags]);
    await this.run.waitForLine(/is ready after [0-9.]+ s\. In another shell/);
    return this.run;
  }

  async close(): Promise<void> {
    await this.run?.close('SIGTERM');
    rmSync(this.folder, { recursive: true });
  }
}
