// The tables of the README.
export { COMPARE_FLAGS } from './compare/options.js';
export { ASPECTS } from './compare/verdict/compare-replies.js';
export { KNOWN_CLASSES } from './compare/verdict/known-classes.js';
export { CONVERT_FLAGS } from './convert/options.js';
export { EXPLAIN_FLAGS } from './explain/options.js';
export { UP_FLAGS } from './up/options.js';
