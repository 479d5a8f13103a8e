import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  ask,
  Dockerfile,
  freePort,
  IMAGES,
  runProgram,
  unless,
  until,
  untilEqual,
} from '@kube-dns/testkit';
import { startApiServer } from '../support/api-server.js';
import { ROOT } from '../support/root.js';
import { imagesSkipReason, Podman } from '../support/podman.js';
import { describeNodeUnderPodman } from './node-local-dns.js';
import { describePodUnderContainerd } from './pod-under-containerd.js';
import { describePodUnderPodman } from './pod-under-podman.js';

const BUILD_LIMIT_MS = 600_000;
const BASE = 'localhost/kube-dns/base:test';
const BUILD = 'localhost/kube-dns/build:test';
const HARDENED = ['--read-only', '--cap-drop=all', '--security-opt=no-new-privileges'];
const { version: VERSION } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as {
  readonly version: string;
};
const DNSMASQ = [`dnsmasq:${VERSION}`, '--', '--no-resolv', '--address=/a.test/192.0.2.1'];

unless(imagesSkipReason(), describe)('the images, built by npm run images', () => {
  let podman: Podman;

  /** Runs `npm run images` with these arguments. */
  function build(...args: readonly string[]): void {
    // What was installed on this machine need not be fetched again.
    const cache = podman.command('npm', 'config', 'get', 'cache', '--loglevel=error');
    const options = ['--engine=podman', `--base=${BASE}`, `--build-image=${BUILD}`];
    const extra = ['--', '--volume', `${cache}:/root/.npm`];
    podman.command(process.execPath, `${ROOT}images/build.mjs`, ...options, ...args, ...extra);
  }

  beforeAll(async () => {
    podman = new Podman();
    const localBase = [`${ROOT}images/local-base.mjs`, '--engine=podman'];
    const options = { env: podman.environment, limitMs: BUILD_LIMIT_MS };
    const made = await Promise.all(
      [[BASE], ['--for-build', BUILD]].map((words) =>
        runProgram(process.execPath, [...localBase, ...words], options),
      ),
    );
    for (const { end, stderr } of made) expect({ end, stderr }).toMatchObject({ end: 0 });
    build();
  }, BUILD_LIMIT_MS);

  afterAll(() => podman.close());

  describe('one by one', () => {
    afterEach(() => {
      podman.run('rm', '--all', '--force', '--time', '0');
    });

    /** Starts a container without network, or with the machine's network. */
    function start(network: 'none' | 'host', options: readonly string[], image: readonly string[]) {
      const place = ['--detach', '--name=it', `--network=${network}`];
      podman.run('run', ...place, ...HARDENED, ...options, ...image);
    }

    function status(): string {
      return readFileSync(`/proc/${podman.pid('it')}/status`, 'utf8');
    }

    const askPort53 = () => {
      try {
        const dig = ['@127.0.0.1', '+short', '+time=20', '+tries=1', 'a.test'];
        return Promise.resolve(podman.inNetworkOf('it', 'dig', ...dig));
      } catch (error) {
        return Promise.resolve(String(error));
      }
    };

    it.each(IMAGES)('%s has the user, the entry point and the labels of its Dockerfile', (name) => {
      const file = new Dockerfile(name);
      const config = JSON.parse(
        podman.run('image', 'inspect', '--format', '{{json .Config}}', `${name}:${VERSION}`),
      ) as Record<string, unknown>;
      expect(config).toMatchObject({
        User: file.all('USER').join(),
        Entrypoint: file.entrypoint,
        Labels: {
          'org.opencontainers.image.title': name,
          'org.opencontainers.image.base.name': BASE,
        },
      });
      expect(config.Cmd ?? []).toEqual([]);
    });

    it('all stand on the layers of one base, so that a node has the Node binary once', () => {
      const layers = (image: string) =>
        JSON.parse(
          podman.run('image', 'inspect', '--format', '{{json .RootFS.Layers}}', image),
        ) as readonly string[];
      const base = layers(BASE);
      expect(base.length).toBeGreaterThan(0);
      for (const name of IMAGES) {
        const own = layers(`${name}:${VERSION}`);
        expect(own.slice(0, base.length)).toEqual(base);
        expect(own.length).toBeGreaterThan(base.length);
      }
    });

    it('node-cache has the programs that set up the network of a node, whole', () => {
      const tools = 'nft --version; ip -V; iptables -V; ip6tables-save -V; iptables-legacy -V';
      const words = ['--rm', '--network=none', ...HARDENED, '--entrypoint=bash'];
      const said = podman.run('run', ...words, `node-cache:${VERSION}`, '-c', tools);
      expect(said.split('\n')).toEqual([
        expect.stringMatching(/^nftables v/),
        expect.stringMatching(/^ip utility/),
        expect.stringMatching(/^iptables v.*\(nf_tables\)$/),
        expect.stringMatching(/^ip6tables-save v.*\(nf_tables\)$/),
        expect.stringMatching(/^iptables v.*\(legacy\)$/),
      ]);
    });

    // As far as this machine can: the base of both is this machine's, so only one of them would run.
    it(
      'dnsmasq for two platforms is a list, each with the accelerator of its processor',
      () => {
        build('--platform=linux/amd64,linux/arm64', '--tag=two', 'dnsmasq');
        const list = JSON.parse(podman.run('manifest', 'inspect', 'localhost/dnsmasq:two')) as {
          manifests: { digest: string; platform: { architecture: string } }[];
        };
        const ids = podman.run('images', '--all', '--no-trunc', '--format', '{{.Digest}} {{.ID}}');
        const held = list.manifests.map(({ digest, platform }) => {
          const [, id = ''] = new RegExp(`^${digest} (?:sha256:)?(\\w+)$`, 'm').exec(ids) ?? [];
          const folder = podman.run('image', 'mount', id);
          const packages = readdirSync(join(folder, 'app', 'node_modules', '@koromix'));
          return [platform.architecture, ...packages];
        });
        podman.run('image', 'umount', '--all');
        expect(held.sort()).toEqual([
          ['amd64', 'koffi-linux-x64'],
          ['arm64', 'koffi-linux-arm64'],
        ]);
      },
      BUILD_LIMIT_MS,
    );

    it('dnsmasq serves port 53 with no capability but NET_BIND_SERVICE', async () => {
      start('none', ['--cap-add=NET_BIND_SERVICE'], DNSMASQ);
      await untilEqual('192.0.2.1', askPort53);
      expect(status()).toMatch(/^Uid:\t1001\t/m);
      expect(status()).toMatch(/^CapEff:\t0*400$/m);
    });

    it('dnsmasq serves port 53 without capabilities where the kernel allows users this port', async () => {
      start('none', ['--sysctl=net.ipv4.ip_unprivileged_port_start=53'], DNSMASQ);
      await untilEqual('192.0.2.1', askPort53);
      expect(status()).toMatch(/^CapEff:\t0+$/m);
    });

    it('kubedns serves the cluster, and drains on SIGTERM', async () => {
      const api = await startApiServer();
      const [port, healthPort] = [await freePort(), await freePort()];
      const args = [
        `--kube-master-url=${api.url}`,
        '--dns-bind-address=127.0.0.1',
        '--drain-time=0s',
      ];
      const ports = [`--dns-port=${port}`, `--healthz-port=${healthPort}`];
      start('host', [], [`kubedns:${VERSION}`, ...args, ...ports, '--nameservers=127.0.0.1:9']);
      const name = 'kubernetes.default.svc.cluster.local';
      await until('an answer of kubedns', async () => {
        // TCP refuses at once where nothing serves yet.
        const answer = await ask(port, name, { isOverTcp: true }).catch(() => undefined);
        return answer?.answers.some((each) => each.type === 'A' && each.data === '10.96.0.1');
      });
      podman.run('stop', '--time', '60', 'it');
      expect(podman.run('inspect', '--format', '{{.State.ExitCode}}', 'it')).toBe('0');
      await api.close();
    });

    it('sidecar serves its metrics', async () => {
      const port = await freePort();
      const args = ['--prometheus-addr=127.0.0.1', `--prometheus-port=${port}`, '--dnsmasq-port=9'];
      start('host', [], [`sidecar:${VERSION}`, ...args]);
      const get = () => fetch(`http://127.0.0.1:${port}/metrics`).then((it) => it.status, String);
      await untilEqual<number | string>(200, get);
    });
  });

  describePodUnderPodman(() => podman);
  describePodUnderContainerd(() => podman);
  describeNodeUnderPodman(() => podman, `node-cache:${VERSION}`);
});
