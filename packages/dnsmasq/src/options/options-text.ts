import { KNOWN_OPTIONS } from './find-option.js';

/** The options as `--help` lists them. */
export function optionsText(): string {
  const sorted = [...KNOWN_OPTIONS].sort((one, other) => (one.name < other.name ? -1 : 1));
  const lines = sorted.map(({ name, short, value, help }) => {
    const shape = { none: '', required: '=<value>', optional: '[=<value>]' }[value];
    const left = `  ${short === '' ? '    ' : `-${short}, `}--${name}${shape}`;
    return `${left.padEnd(36)} ${help}`;
  });
  return ['dnsmasq options, behind `--`:', ...lines, ''].join('\n');
}
