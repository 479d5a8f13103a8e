/** How an endpoint without a hostname is called: the original's hash, its dashed address, or its pod. */
export const ENDPOINT_NAMES = ['hash', 'ip', 'pod'] as const;
export type EndpointNames = (typeof ENDPOINT_NAMES)[number];

/** What the reverse name of an address that several services have says: all of them, or the first. */
export const PTR_MODES = ['all', 'first'] as const;
export type PtrMode = (typeof PTR_MODES)[number];

/** Whether names of pods are answered: from the label alone, without looking for a pod, or never. */
export const POD_MODES = ['insecure', 'disabled'] as const;
export type PodMode = (typeof POD_MODES)[number];
