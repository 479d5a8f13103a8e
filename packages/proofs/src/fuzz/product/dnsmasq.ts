// The parsers of the dnsmasq container, which has no exports: it is a program.
export { PROGRAM } from '../../../../dnsmasq/dist/config/flags.js';
export { configuredRules } from '../../../../dnsmasq/dist/config/server-rules.js';
export { HostsLines } from '../../../../dnsmasq/dist/local/hosts-files.js';
export { HostsTable } from '../../../../dnsmasq/dist/local/hosts-table.js';
export { parseOptions } from '../../../../dnsmasq/dist/options/parse-options.js';
export { parseServersFile } from '../../../../dnsmasq/dist/config/servers-file.js';
export { DnsmasqServer } from '../../../../dnsmasq/dist/server.js';
