import { describe, expect, it } from '@jest/globals';
import { planOf } from '../../test/support/plans.js';
import type { PortSpec } from './manifest.js';
import { readyMessage } from './ready-message.js';

const port = (name: string, containerPort: number, protocol: PortSpec['protocol']): PortSpec => ({
  name,
  containerPort,
  protocol,
});

function message(dnsPort: number, kubeconfig?: string): string {
  const containers = [
    planOf('kubedns', ['', '--domain=example.test.'], { ports: [port('dns-local', 1, 'UDP')] }),
    planOf('dnsmasq', [''], {
      ports: [port('dns', 7, 'TCP'), port('dns', dnsPort, 'UDP')],
    }),
    ...(kubeconfig === undefined ? [planOf('apiserver', ['', '--port=18080'])] : []),
  ];
  return readyMessage({ podName: 'kube-dns', seconds: 3.14, containers, kubeconfig }).join('\n');
}

describe('the message of a ready pod', () => {
  it('has commands that fit the manifest', () => {
    expect(message(1053)).toBe(`The pod kube-dns is ready after 3.1 s. In another shell:

  dig @127.0.0.1 -p 1053 +short kubernetes.default.svc.example.test
  dig @127.0.0.1 -p 1053 +short _https._tcp.kubernetes.default.svc.example.test SRV
  dig @127.0.0.1 -p 1053 +short -x 10.96.0.1
  kubectl --server=http://127.0.0.1:18080 apply -f FILE

Stop it with Ctrl-C.`);
  });

  it('asks the real cluster for its address', () => {
    const text = message(53, 'my/config');
    expect(text).not.toContain('How each container is');
    expect(text).toContain(
      'dig @127.0.0.1 +short -x "$(dig @127.0.0.1 +short kubernetes.default.svc.example.test)"',
    );
    expect(text).toContain('kubectl --kubeconfig=my/config apply -f FILE');
  });

  it('has the addresses of the status pages that are on loopback', () => {
    const containers = [
      planOf('node-cache', ['', '-localip=127.0.0.1']),
      planOf('kubedns', [''], { env: { PROMETHEUS_PORT: '10055' } }),
      planOf('dnsmasq', ['', '-metrics-addr=:1', '-metrics-addr=127.0.0.1:10056', '--', '-k']),
      planOf('sidecar', ['', '--prometheus-addr=10.0.0.1']),
    ];
    const facts = { podName: 'p', seconds: 1, containers, kubeconfig: undefined };
    expect(readyMessage(facts)).toEqual([
      'The pod p is ready after 1.0 s.',
      'How each container is:',
      '',
      '  node-cache  http://127.0.0.1:9353/',
      '  kubedns     http://127.0.0.1:10055/',
      '  dnsmasq     http://127.0.0.1:10056/',
      '',
      'Stop it with Ctrl-C.',
    ]);
  });

  it('has no commands for a pod without DNS and API server', () => {
    const containers = [planOf('web', [''])];
    const facts = { podName: 'p', seconds: 1, containers, kubeconfig: undefined };
    expect(readyMessage(facts)).toEqual([
      'The pod p is ready after 1.0 s.',
      'Stop it with Ctrl-C.',
    ]);
  });
});
