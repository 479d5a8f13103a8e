import { freePort, until } from '@kube-dns/testkit';
import type { ApiServer } from '@kube-dns/apiserver';
import type { DeployedPod, StartOptions } from './deployed-pod.js';
import { WITHOUT_PORT_53 } from './without-port-53.js';

/** How a pod is made to show a row of the table. */
export interface Fault extends StartOptions {
  /** Done once the pod works; without it the fault exists from the start. */
  readonly strike?: (pod: DeployedPod, server: ApiServer) => Promise<void> | void;
  /** The API server of kubedns, in place of the normal one. */
  readonly api?: 'missing' | 'denying';
  /** kubedns has seen the cluster before, and has its file. */
  readonly hasSnapshot?: boolean;
  /** The row shows only after many seconds of silence: it begins first. */
  readonly isSlow?: boolean;
}

/** Gives one container a further argument. */
export const append = (name: string, arg: string): StartOptions => ({
  edit: (container, args) => (container === name ? [...args, arg] : args),
});

/** By the title of the row. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  'kubedns does not know an argument': append('kubedns', '--no-such-flag'),
  'dnsmasq does not know an argument before `--`': {
    edit: (container, args) => (container === 'dnsmasq' ? ['-no-such-flag=1', ...args] : args),
  },
  'dnsmasq does not know an argument after `--`': append('dnsmasq', '--no-such-option'),
  'the sidecar does not know an argument': append('sidecar', '--no-such-flag'),
  'the ConfigMap has nonsense': { strike: (pod) => pod.configure('stubDomains', 'nonsense') },
  'a key of the ConfigMap is misspelt': {
    strike: async (pod) =>
      pod.configure('stubdomains', `{"acme.local":["127.0.0.1:${await freePort()}"]}`),
  },
  'the service account has no rights': { api: 'denying' },
  'the API server is not there at the start': { api: 'missing' },
  'the API server is not there at the start, and there is a snapshot': {
    api: 'missing',
    hasSnapshot: true,
  },
  'the API server goes away later': { strike: (_pod, server) => server.close() },
  'kubedns is cut off from the API server, which says nothing': {
    isSlow: true,
    strike: async (pod, server) => {
      await until('a subscription', () => pod.log.includes('announces the changes of'));
      server.hang();
    },
  },
  'dnsmasq may not have port 53': {
    ...(WITHOUT_PORT_53 !== undefined && { wrapper: WITHOUT_PORT_53 }),
    edit: (container, args) => {
      const own = ['--port=53', '--listen-address=127.0.0.1', '--bind-interfaces'];
      return container === 'dnsmasq' ? [...args, ...own] : args;
    },
  },
  'kubedns hangs': {
    isSlow: true,
    strike: async (pod) => {
      await until('a subscription', () => pod.log.includes('announces the changes of'));
      pod.signal('kubedns', 'SIGSTOP');
    },
  },
  'the sidecar probes a domain that kubedns does not have': {
    edit: (container, args) =>
      container === 'sidecar'
        ? args.map((arg) => arg.replace('.svc.cluster.local', '.svc.cluster.invalid'))
        : args,
  },
  'the name servers for other names are silent': {
    isSlow: true,
    strike: (pod) => pod.muteUpstream(),
  },
  'the server of a stub domain has a name that is not found': {
    strike: (pod) => pod.configure('stubDomains', '{"acme.local":["ns.acme.invalid"]}'),
  },
};
