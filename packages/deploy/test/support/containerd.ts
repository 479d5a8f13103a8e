import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunningProgram } from '@kube-dns/testkit';
import { CriClient } from './cri-client.js';
import { PodNetwork } from './pod-network.js';
import type { Podman } from './podman.js';

const PAUSE = 'localhost/kube-dns/pause:test';
/** The namespace of containerd for images of kubelet. */
const NAMESPACE = 'k8s.io';

/** A separate containerd in its own network: it touches no image, container or rule of this machine. */
export class Containerd {
  readonly folder = mkdtempSync(join(tmpdir(), 'kube-dns-containerd-'));
  readonly #network = PodNetwork.create();
  readonly #socket = join(this.folder, 'containerd.sock');
  #daemon: RunningProgram | undefined;
  #client: CriClient | undefined;

  /** Starts it with images of the store of podman. */
  async start(podman: Podman, images: readonly string[]): Promise<void> {
    const config = join(this.folder, 'config.toml');
    writeFileSync(config, this.#configuration());
    const networks = join(this.folder, 'net.d');
    mkdirSync(networks);
    writeFileSync(join(networks, 'pods.conflist'), JSON.stringify(this.#networks()));
    const archive = this.#saveImages(podman, images);
    const daemon = this.#network.start('containerd', '--config', config);
    this.#daemon = daemon;
    await daemon.waitForLine(/containerd successfully booted/);
    const ctr = ['ctr', '--address', this.#socket, '--namespace', NAMESPACE];
    await this.#network.output(...ctr, 'images', 'import', '--no-unpack', archive);
    rmSync(archive);
    this.#client = new CriClient(this.#socket);
  }

  /** The runtime's API; throws before the start. */
  get client(): CriClient {
    if (this.#client === undefined) throw new Error('containerd was not started');
    return this.#client;
  }

  async close(): Promise<void> {
    this.#client?.close();
    await this.#daemon?.close('SIGTERM');
    await this.#network.close();
    // A failed test may have left mounts.
    const mounts = readFileSync('/proc/self/mounts', 'utf8').matchAll(/^\S+ (\S+)/gm);
    const own = [...mounts].flatMap(([, path = '']) =>
      path.startsWith(this.folder) ? [path] : [],
    );
    for (const path of own.reverse()) execFileSync('umount', ['--lazy', path]);
    rmSync(this.folder, { recursive: true, force: true });
  }

  #saveImages(podman: Podman, images: readonly string[]): string {
    const context = join(this.folder, 'pause');
    mkdirSync(context);
    writeFileSync(
      join(context, 'Dockerfile'),
      'FROM scratch\nCOPY catatonit /pause\nENTRYPOINT ["/pause", "-P"]\n',
    );
    podman.command('cp', '/usr/bin/catatonit', context);
    podman.run('build', '--quiet', '-t', PAUSE, context);
    const archive = join(this.folder, 'images.tar');
    podman.run('save', '--quiet', '--multi-image-archive', '-o', archive, PAUSE, ...images);
    return archive;
  }

  #configuration(): string {
    const cri = 'plugins."io.containerd.grpc.v1.cri"';
    // A machine without CAP_SYS_RESOURCE cannot lower an OOM score, and may have no AppArmor.
    return `version = 2
root = "${this.folder}/root"
state = "${this.folder}/state"
[grpc]
  address = "${this.#socket}"
[ttrpc]
  address = "${this.#socket}.ttrpc"
[${cri}]
  sandbox_image = "${PAUSE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
[${cri}.cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "${this.folder}/net.d"
`;
  }

  /** Each pod has a link to the network of containerd, which has no other route. */
  #networks(): object {
    const ipam = { type: 'host-local', subnet: '198.18.53.0/24', dataDir: `${this.folder}/ipam` };
    const plugins = [{ type: 'ptp', ipMasq: false, ipam }];
    return { cniVersion: '0.4.0', name: 'pods', plugins };
  }
}
