import { MAX_PORT } from '@kube-dns/base';
import { isIpAddress } from '@kube-dns/daemon';
import { addressText, parseAddress } from '@kube-dns/wire';

const DNS_PORT = 53;

/** Finds the address of a service by its name; undefined while there is none. */
export type LookupService = (service: string) => string | undefined;

/** The variable in which Kubernetes has the address of a service (cmd/node-cache/app/cache_app.go, toSvcEnv). */
export function serviceVariable(service: string): string {
  return `${service.replaceAll('-', '_').toUpperCase()}_SERVICE_HOST`;
}

/** The port of a service, where kubelet has put it, too; that of DNS unless it is there. */
export function servicePort(service: string, env: NodeJS.ProcessEnv): number {
  const port = Number(env[serviceVariable(service).replace(/HOST$/, 'PORT')]);
  return Number.isInteger(port) && port > 0 && port <= MAX_PORT ? port : DNS_PORT;
}

/** Looks into the environment, where kubelet has put the services that were there before the pod. */
export function lookupInEnvironment(env: NodeJS.ProcessEnv): LookupService {
  return (service) => {
    const text = env[serviceVariable(service)] ?? '';
    if (!isIpAddress(text)) return undefined;
    // The original's form of an IPv6 address.
    return addressText(parseAddress(text)!);
  };
}
