// The parsers of this container, which packages/proofs tests with malformed input, the tables of its README, and the server of which
// packages/bench has many in one process.
export { FLAGS, readOptions } from './config/options.js';
export { checkServers, renderTemplate } from './config/template.js';
export { PLUGINS, REFUSED } from './corefile/plugins.js';
export { readServerBlocks } from './corefile/read-server-blocks.js';
export { NodeCacheServer } from './server.js';
