// The parsers and the server of this container, which packages/proofs tests with malformed input and packages/bench measures, and the tables of its README.
export { PROGRAM } from './config/flags.js';
export { configuredRules } from './config/server-rules.js';
export { parseServersFile } from './config/servers-file.js';
export { HostsLines, readHostsFiles } from './local/hosts-files.js';
export { HostsTable } from './local/hosts-files.js';
export { corednsFamilies, metricFamilies } from './metrics.js';
export { NotifyAnswerer } from './notify/notify-answerer.js';
export { KNOWN_OPTIONS } from './options/option-table.js';
export { parseNotifyRule } from './options/values.js';
export { parseOptions } from './options/parse-options.js';
export { UNSUPPORTED_OPTIONS } from './options/unsupported-options.js';
export { Router } from './routing/router.js';
export { DnsmasqServer } from './server.js';
