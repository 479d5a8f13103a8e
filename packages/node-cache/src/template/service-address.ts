import { isIpAddress } from '@kube-dns/daemon';
import { addressText, parseAddress } from '@kube-dns/wire';

/** Finds the address of a service by its name; undefined while there is none. */
export type LookupService = (service: string) => string | undefined;

/** The variable in which Kubernetes has the address of a service (cmd/node-cache/app/cache_app.go, toSvcEnv). */
export function serviceVariable(service: string): string {
  return `${service.replaceAll('-', '_').toUpperCase()}_SERVICE_HOST`;
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
