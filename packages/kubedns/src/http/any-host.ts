/** All addresses of both families, as Go's `:port`: kubelet probes the family that the pod has. */
export const ANY_HOST = '';
