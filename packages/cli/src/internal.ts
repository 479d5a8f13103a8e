// The tables of the README, and the readers that packages/proofs tests with hostile bytes.
export { FINDINGS, judge, PRE_FINDINGS } from './check/findings.js';
export { ClusterObjects } from './check/cluster-objects.js';
export { factsOfFiles } from './check/gather.js';
export { factsOfPages } from './check/page-facts.js';
export { InputError, readKubeObjects } from './manifests/objects.js';
export { lineText } from './queries/tail.js';
export { linesText, sumOf } from './queries/top.js';
export { CHECK_FLAGS } from './check/options.js';
export { COMPARE_FLAGS } from './compare/options.js';
export { ASPECTS, KNOWN_CLASSES } from './compare/compare-replies.js';
export { CONVERT_FLAGS } from './convert/convert.js';
export { EXPLAIN_FLAGS } from './explain/options.js';
export { TAIL_FLAGS, TOP_FLAGS } from './queries/options.js';
export { UP_FLAGS } from './up/up.js';
