/** The containers of the pod, in the order in which they are started. */
export const CONTAINERS = ['kubedns', 'dnsmasq', 'sidecar'] as const;
export type ContainerName = (typeof CONTAINERS)[number];
