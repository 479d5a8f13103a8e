/** All addresses of both families, as Go's `:port`: kubelet probes the address family of the pod. */
export const ANY_HOST = '';
