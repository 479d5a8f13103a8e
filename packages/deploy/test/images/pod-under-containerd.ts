import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { untilEqual } from '@kube-dns/testkit';
import { containersOf, type Deployment } from '@kube-dns/testkit/manifests';
import { Containerd } from '../support/containerd.js';
import { CriPod } from '../support/cri-pod.js';
import type { Podman } from '../support/podman.js';
import { BASE_DEPLOYMENT } from '../support/base-deployment.js';

const WEB = 'web.shop.svc.cluster.local';

function withoutSysctls(deployment: Deployment): Deployment {
  const { template } = deployment.spec;
  const securityContext = { ...template.spec.securityContext, sysctls: [] };
  const spec = { ...template.spec, securityContext };
  return { ...deployment, spec: { ...deployment.spec, template: { ...template, spec } } };
}

/** What podman hides: it adds capabilities that containerd does not, and ignores the sysctls of a pod. */
export function describePodUnderContainerd(podmanOf: () => Podman): void {
  describe('the pod of manifests/kube-dns under containerd', () => {
    const deployment = BASE_DEPLOYMENT;
    const names = containersOf(deployment).map(({ name }) => name);
    let containerd: Containerd;
    let pod: CriPod;

    beforeAll(async () => {
      containerd = new Containerd();
      pod = new CriPod(containerd, deployment);
      const images = containersOf(deployment).map(({ image }) => image);
      await containerd.start(podmanOf(), images);
      await pod.start();
    });

    afterAll(async () => {
      try {
        await pod.close();
      } finally {
        await containerd.close();
      }
    });

    const status = (name: string, field: string) =>
      new RegExp(`^${field}:\\s*(.*)$`, 'm').exec(pod.proc(name, 'status'))?.[1];

    it('serves port 53 over UDP and TCP, with the names of the cluster', async () => {
      await untilEqual('10.96.20.10', () => pod.network.dig(WEB));
      await untilEqual('10.96.20.10', () => pod.network.dig('+tcp', WEB));
    });

    it('becomes ready, as the sidecar sees it', async () => {
      const ready = () => pod.network.status(10054, '/healthcheck/dnsmasq');
      await untilEqual('200', ready);
      await untilEqual('200', () => pod.network.status(8081, '/readiness'));
    });

    it.each(names)('runs %s as a user without capabilities', (name) => {
      expect(status(name, 'Uid')).toBe('1001\t1001\t1001\t1001');
      expect(status(name, 'Gid')).toBe('1001\t1001\t1001\t1001');
      expect(status(name, 'Groups')?.split(' ')).toContain('65534');
      for (const set of ['CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) {
        expect([set, status(name, set)]).toEqual([set, '0'.repeat(16)]);
      }
      expect(status(name, 'NoNewPrivs')).toBe('1');
      expect(status(name, 'Seccomp')).toBe('2');
    });

    it.each(names)('mounts nothing writable in %s but the folder of snapshots', (name) => {
      const mounts = pod
        .proc(name, 'mounts')
        .trim()
        .split('\n')
        .map((line) => line.split(' '));
      const writable = mounts.flatMap(([, path = '', type = '', options = '']) =>
        options.startsWith('rw') && !['proc', 'tmpfs', 'devpts', 'mqueue'].includes(type)
          ? [path]
          : [],
      );
      expect(mounts.find(([, path]) => path === '/')?.[3]).toMatch(/^ro,/);
      expect(writable).toEqual(name === 'kubedns' ? ['/var/lib/kube-dns'] : []);
    });

    it('holds a token in kubedns alone', () => {
      const holders = names.filter((name) =>
        pod.proc(name, 'mounts').includes('/secrets/kubernetes.io/serviceaccount '),
      );
      expect(holders).toEqual(['kubedns']);
    });

    it('needs the sysctl of the manifest for port 53', async () => {
      const other = new CriPod(containerd, withoutSysctls(deployment));
      try {
        await other.start(['dnsmasq']);
        const said = () => Promise.resolve(other.log('dnsmasq').includes('permission denied'));
        await untilEqual(true, said);
      } finally {
        await other.close();
      }
    });
  });
}
