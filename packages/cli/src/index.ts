export { parseCorefile } from './convert/corefile/corefile.js';
export { fromCorefile } from './convert/corefile/from-corefile.js';
export { Remarks } from './convert/remarks.js';
export type { ContainerSpec } from './up/container-spec.js';
export { parsePod, readPod, type PodSpec } from './up/manifest.js';
export { programNameOf, resolveContainerProgram } from './up/programs.js';
