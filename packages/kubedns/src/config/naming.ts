/** The label of an endpoint without a hostname: the original's hash, its dashed address, or its pod's name. */
export const ENDPOINT_NAMES = ['hash', 'ip', 'pod'] as const;
export type EndpointNames = (typeof ENDPOINT_NAMES)[number];

/** The PTR records of an address that several services share: of all of them, or of the first. */
export const PTR_MODES = ['all', 'first'] as const;
export type PtrMode = (typeof PTR_MODES)[number];

/** How names of pods are answered: from the label alone, without looking for a pod, or never. */
export const POD_MODES = ['insecure', 'disabled'] as const;
export type PodMode = (typeof POD_MODES)[number];
