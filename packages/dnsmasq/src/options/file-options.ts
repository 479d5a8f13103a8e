import { list, flag, type OptionDefinition } from './option-definition.js';

/** The reader of the line handles it. */
const nothing = () => undefined;

/** The options that name files with more options, or print a text. */
export const FILE_OPTIONS: readonly OptionDefinition[] = [
  list('conf-dir', '7', 'directory[,.ext…|,*.ext…] of configuration files', nothing),
  list(
    'conf-file',
    'C',
    'configuration file (default /etc/dnsmasq.conf, which may be missing)',
    nothing,
    'optional',
  ),
  list('conf-script', '', 'shell command whose output is a configuration file', nothing),
  flag('help', 'w', 'list the options and exit', (draft) => {
    draft.request = 'help';
  }),
  flag('version', 'v', 'print the version and exit', (draft) => {
    draft.request = 'version';
  }),
];
