// The tables of the README.
export { FINDINGS, PRE_FINDINGS } from './check/findings.js';
export { CHECK_FLAGS } from './check/options.js';
export { COMPARE_FLAGS } from './compare/options.js';
export { ASPECTS, KNOWN_CLASSES } from './compare/compare-replies.js';
export { CONVERT_FLAGS } from './convert/convert.js';
export { EXPLAIN_FLAGS } from './explain/options.js';
export { TAIL_FLAGS, TOP_FLAGS } from './queries/options.js';
export { UP_FLAGS } from './up/up.js';
