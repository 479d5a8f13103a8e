// The parsers of this container, which packages/proofs tests with malformed input, and the tables of its README.
export { FLAGS } from './config/flags.js';
export { readOptions } from './config/options.js';
export { PLUGINS, REFUSED } from './corefile/plugin-table.js';
export { readServerBlocks } from './corefile/read-server-blocks.js';
export { checkServers } from './template/check-servers.js';
export { renderTemplate } from './template/render-template.js';
