// The parsers of this container, which packages/proofs tests with malformed input, and the tables of its README.
export { FLAGS, readOptions } from './config/options.js';
export { checkServers, renderTemplate } from './config/template.js';
export { PLUGINS, REFUSED } from './corefile/plugins.js';
export { readServerBlocks } from './corefile/read-server-blocks.js';
