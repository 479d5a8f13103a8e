import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { endPrograms, freePort, ScriptedNameServer, until } from '@kube-dns/testkit';
import { boundTcp, boundUdp } from './support/bound-port.js';
import { KubednsProcess, startKubedns } from './support/kubedns-process.js';

let api: ApiServer;
let upstream: ScriptedNameServer;
beforeAll(async () => {
  api = await createApiServer();
  upstream = await ScriptedNameServer.start();
});
afterEach(async () => {
  await endPrograms();
  api.unhang();
});
afterAll(async () => {
  await upstream.close();
  await api.close();
});

const start = (args: readonly string[]) => startKubedns(api, upstream, args);

describe('the end', () => {
  it('does not come during the drain time of SIGTERM: it answers, but is not ready', async () => {
    const kubedns = await start(['--drain-time=1h']).ready();
    kubedns.program.signal('SIGTERM');
    await until('not ready', async () => (await kubedns.get('/readiness'))[0] === 503);
    const { answers } = await kubedns.ask('kubernetes.default.svc.cluster.local', 'A');
    expect(answers).toHaveLength(1);
  });

  it('comes after the drain time of SIGTERM', async () => {
    const kubedns = await start(['--drain-time=50ms']).ready();
    kubedns.program.signal('SIGTERM');
    expect(await kubedns.program.ended).toBe(0);
    expect(kubedns.program.stderr).not.toContain('not closed after');
  });

  it('comes immediately with SIGINT', async () => {
    const kubedns = await start(['--drain-time=1h']).ready();
    kubedns.program.signal('SIGINT');
    expect(await kubedns.program.ended).toBe(0);
  });

  it('is not the failure to sync once SIGTERM came', async () => {
    api.hang();
    const kubedns = start(['--drain-time=50ms', '--initial-sync-timeout=1h']);
    await kubedns.waitForLine(/following/);
    kubedns.program.signal('SIGTERM');
    expect(await kubedns.program.ended).toBe(0);
    expect(kubedns.fatalErrors).toEqual([]);
  });

  it('is exit code 255 without a cluster after --initial-sync-timeout', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const kubedns = start([`--kube-master-url=${url}`, '--initial-sync-timeout=50ms']);
    expect(await kubedns.program.ended).toBe(255);
    expect(kubedns.fatalErrors).toEqual([
      'kubedns: no complete list of services, endpointslices, namespaces within 50 ms',
    ]);
  });

  it('does not come without a cluster when --initial-sync-timeout is 0', async () => {
    api.hang();
    const kubedns = start(['--initial-sync-timeout=0']);
    expect((await kubedns.get('/readiness'))[0]).toBe(503);
    api.unhang();
    await kubedns.ready();
  });
});

describe('a start that fails', () => {
  it.each([
    ['UDP', boundUdp],
    ['TCP', boundTcp],
  ])('because the port is in use over %s ends with 1 and one line', async (protocol, bind) => {
    const { port, close } = await bind();
    try {
      const kubedns = start([`--dns-port=${port}`]);
      expect(await kubedns.program.ended).toBe(1);
      expect(kubedns.fatalErrors).toEqual([
        `kubedns: cannot listen on 127.0.0.1:${port} over ${protocol}: address already in use`,
      ]);
    } finally {
      await close();
    }
  });

  it.each([
    [
      ['--external-domain=a.test', '--clusterset-domain=a.test.'],
      '--clusterset-domain and --external-domain are both a.test.',
    ],
    [
      ['--external-domain=x.cluster.local'],
      '--external-domain: x.cluster.local. is in the zone of the cluster',
    ],
    [
      ['--external-domain=a.test', '--search-zone=x.a.test'],
      '--search-zone=x.a.test.: it is, or is in, or has in it, another zone of this server',
    ],
    [
      [`--search-zone=${'x'.repeat(60)}.${'y'.repeat(60)}`],
      `--search-zone=${'x'.repeat(60)}.${'y'.repeat(60)}.: with cluster.local. before it, it leaves no space for names`,
    ],
  ])('because of %j ends with 255 and one line', async (args, problem) => {
    const kubedns = start(args);
    expect(await kubedns.program.ended).toBe(255);
    expect(kubedns.fatalErrors).toEqual([`kubedns: ${problem}`]);
  });

  it('because the readiness port is in use ends with 255 and one line', async () => {
    const { port, close } = await boundTcp();
    try {
      const kubedns = start([`--healthz-port=${port}`]);
      expect(await kubedns.program.ended).toBe(255);
      expect(kubedns.fatalErrors).toEqual([
        `kubedns: readiness: cannot listen on :${port}: address already in use`,
      ]);
    } finally {
      await close();
    }
  });

  it('because readiness and metrics have the same port ends with 255 and one line', async () => {
    const port = await freePort();
    const kubedns = startKubedns(api, upstream, [`--healthz-port=${port}`], {
      PROMETHEUS_PORT: String(port),
    });
    expect(await kubedns.program.ended).toBe(255);
    expect(kubedns.fatalErrors).toEqual([
      `kubedns: --healthz-port and PROMETHEUS_PORT are both ${port}`,
    ]);
  });

  it('because there is no kubeconfig ends with 255 and one line', async () => {
    const kubedns = start(['--kubecfg-file=/no/such/file']);
    expect(await kubedns.program.ended).toBe(255);
    expect(kubedns.fatalErrors).toEqual([
      'kubedns: cannot read the kubeconfig /no/such/file: no such file or directory',
    ]);
  });

  it('because of a flag that is not there ends with 2 and names the one that was meant', async () => {
    const kubedns = start(['--dns-prot=53']);
    expect(await kubedns.program.ended).toBe(2);
    expect(kubedns.program.stderr).toBe(
      'kubedns: unknown flag --dns-prot; did you mean --dns-port?\n',
    );
  });
});

describe('--help and --version', () => {
  it.each([
    [
      '--help',
      /^Usage: kubedns \[flags\]\n\nServes the records of a Kubernetes cluster over DNS\.\n/,
    ],
    ['--version', /^Kube-DNS \d+\.\d+\.\d+\n$/],
  ])('%s prints to stdout and ends with 0', async (flag, text) => {
    const kubedns = new KubednsProcess([flag]);
    expect(await kubedns.program.ended).toBe(0);
    expect(kubedns.program.stdout).toMatch(text);
    expect(kubedns.program.stderr).toBe('');
  });
});
