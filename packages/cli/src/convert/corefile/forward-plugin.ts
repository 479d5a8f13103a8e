import type { Directive } from '@kube-dns/node-cache/corefile';
import { plainDomain } from '../dns-setup.js';
import { isNamedServer } from '../server-text.js';
import { serverOfTarget } from './encrypted-targets.js';
import { change, lose, wholeNumber, type PluginContext } from './plugin-context.js';

const NOTHING_LIKE_IT = 'dnsmasq has nothing like it';

/** Reads `forward FROM TO… { … }` of a zone; `proxy` of the oldest Corefiles is the same. */
export function readForward(plugin: Directive, zone: string, context: PluginContext): void {
  const [from = '.', ...targets] = plugin.args;
  const domain = plainDomain(from) === '.' ? zone : plainDomain(from);
  if (context.forwards.has(domain)) {
    lose(context, plugin, zone, `there is another forward for ${domain}`);
    return;
  }
  const options = plugin.block ?? [];
  const tlsName = options.find(({ name }) => name === 'tls_servername')?.args[0] ?? '';
  let file = '';
  const servers: string[] = [];
  for (const target of targets) {
    const server = serverOfTarget(target, tlsName);
    if (target.startsWith('/')) {
      if (file !== '') lose(context, plugin, zone, `dnsmasq reads one file, not ${target}, too`);
      else file = target;
    } else if (server === undefined) {
      lose(context, plugin, zone, `${target} is no server that dnsmasq can ask`);
    } else {
      if (isNamedServer(server)) {
        const certificate = server.includes('://') ? ', and its certificate must have a name' : '';
        const what = `${server} is a name: its address is looked up again and again`;
        change(context, plugin, zone, `${what}${certificate}`);
      }
      servers.push(server);
    }
  }
  for (const option of options) checkOption(option, zone, context);
  const limit = options.find(({ name }) => name === 'max_concurrent')?.args[0];
  context.forwards.set(domain, {
    servers,
    file,
    maxConcurrent: wholeNumber(limit),
    isSequential: options.some(({ name, args }) => name === 'policy' && args[0] === 'sequential'),
  });
}

function checkOption(option: Directive, zone: string, context: PluginContext): void {
  const [first = ''] = option.args;
  switch (option.name) {
    case 'max_concurrent':
      if (wholeNumber(first) === undefined) lose(context, option, zone, 'not a number');
      else if (Number(first) === 0) change(context, option, zone, 'dnsmasq always has a limit');
      return;
    case 'policy':
      if (first !== 'sequential')
        change(context, option, zone, 'dnsmasq prefers who answers first');
      return;
    case 'prefer_udp':
      return; // what dnsmasq does
    case 'tls_servername':
      return; // it is with each server
    case 'tls':
      readTls(option, zone, context);
      return;
    default:
      lose(context, option, zone, NOTHING_LIKE_IT);
  }
}

/** `tls`, `tls CA`, `tls CERT KEY` or `tls CERT KEY CA`. */
function readTls(option: Directive, zone: string, context: PluginContext): void {
  const { draft } = context;
  const { args } = option;
  if (args.length > 1) {
    lose(context, option, zone, 'dnsmasq has no certificate of its own for servers');
  }
  const ca = args.length % 2 === 1 ? args.at(-1)! : '';
  if (ca === '' || ca === draft.tlsCa) return;
  if (draft.tlsCa !== '') lose(context, option, zone, `all servers have one --tls-ca`);
  else {
    draft.tlsCa = ca;
    change(context, option, zone, 'the containers kubedns and dnsmasq need this file');
  }
}
