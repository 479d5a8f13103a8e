export { parseCorefile } from '@kube-dns/node-cache/corefile';
export { fromCorefile } from './convert/corefile/from-corefile.js';
export { Notes } from './convert/dns-setup.js';
export { renderFolder, renderKustomization } from './manifests/kustomization.js';
export { parsePod, readPod, type ContainerSpec, type PodSpec } from './up/manifest.js';
export { programNameOf, type ContainerPlan } from './up/plan.js';
export { planPlacedPod } from './up/variants.js';
