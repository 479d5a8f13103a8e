import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { endPrograms, freePort, holdsOnce, until } from '@kube-dns/testkit';
import { boundTcp, boundUdp } from './support/bound-port.js';
import { KubednsProcess, startKubedns } from './support/kubedns-process.js';
import { NameServer } from './support/name-server.js';

let api: ApiServer;
let upstream: NameServer;
beforeEach(async () => {
  api = await createApiServer();
  upstream = await NameServer.start();
});
afterEach(async () => {
  await endPrograms();
  await upstream.close();
  await api.close();
});

const start = (args: readonly string[]) => startKubedns(api, upstream, args);

describe('the end', () => {
  it('comes after the drain time of SIGTERM, answering all the while but not ready', async () => {
    // The questions must come within the drain time.
    await holdsOnce(async () => {
      const kubedns = await start(['--drain-time=1s']).ready();
      const startedMs = performance.now();
      kubedns.program.signal('SIGTERM');
      await until('not ready', async () => (await kubedns.get('/readiness'))[0] === 503);
      expect((await kubedns.ask('kubernetes.default.svc.cluster.local', 'A')).answers).toHaveLength(
        1,
      );
      expect(await kubedns.program.ended).toBe(0);
      expect(performance.now() - startedMs).toBeGreaterThanOrEqual(995);
    });
  });

  it('comes immediately with SIGINT', async () => {
    await holdsOnce(async () => {
      const kubedns = await start(['--drain-time=1h']).ready();
      const startedMs = performance.now();
      kubedns.program.signal('SIGINT');
      expect(await kubedns.program.ended).toBe(0);
      expect(performance.now() - startedMs).toBeLessThan(900);
    });
  });

  it('is not the failure to sync once SIGTERM came', async () => {
    api.hang();
    // The signal must come within the half second.
    await holdsOnce(async () => {
      const kubedns = start(['--drain-time=700ms', '--initial-sync-timeout=500ms']);
      await kubedns.get('/readiness');
      kubedns.program.signal('SIGTERM');
      expect(await kubedns.program.ended).toBe(0);
    });
  });

  it('is exit code 255 without a cluster after --initial-sync-timeout', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const kubedns = start([`--kube-master-url=${url}`, '--initial-sync-timeout=300ms']);
    expect(await kubedns.program.ended).toBe(255);
    expect(kubedns.fatalErrors).toEqual([
      'kubedns: no complete list of services, endpointslices, namespaces within 300 ms',
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

  it('because the readiness port is in use ends with 255 and one line', async () => {
    const { port, close } = await boundTcp('::');
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

  it('because two sources of configuration are named ends with 255 and one line', async () => {
    const kubedns = start(['--config-map=kube-dns', '--config-dir=/config']);
    expect(await kubedns.program.ended).toBe(255);
    expect(kubedns.fatalErrors).toEqual([
      'kubedns: --config-map and --config-dir cannot both be used',
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

  it('because of a bad name server ends with 2 and names it', async () => {
    const kubedns = start(['--nameservers=192.0.2.1,example.com']);
    expect(await kubedns.program.ended).toBe(2);
    expect(kubedns.fatalErrors).toEqual([
      'kubedns: --nameservers=192.0.2.1,example.com: ' +
        'nameservers: "example.com": not an IP address',
    ]);
  });
});

describe('--help and --version', () => {
  it.each(['--help', '-h'])('%s prints to stdout and ends with 0', async (flag) => {
    const kubedns = new KubednsProcess([flag]);
    expect(await kubedns.program.ended).toBe(0);
    expect(kubedns.program.stdout).toMatch(
      /^Usage: kubedns \[flags\]\n\nServes the records of a Kubernetes cluster over DNS\.\n/,
    );
    expect(kubedns.program.stderr).toBe('');
  });

  it.each([
    ['--version', /^Kube-DNS \d+\.\d+\.\d+\n$/],
    ['--version=raw', /^"\d+\.\d+\.\d+"\n$/],
  ])('%s prints to stdout and ends with 0', async (flag, text) => {
    const kubedns = new KubednsProcess([flag]);
    expect(await kubedns.program.ended).toBe(0);
    expect(kubedns.program.stdout).toMatch(text);
    expect(kubedns.program.stderr).toBe('');
  });
});
