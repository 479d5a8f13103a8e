import type { FuzzParser } from './fuzz-target.js';

/**
 * Every parser that reads what others send. Each brings its own product along when it is created, so that
 * a process has only what it needs.
 */
export const PARSERS: readonly FuzzParser[] = [
  packet('query', async () => (await import('./targets/query.js')).createQueryTarget()),
  packet('tcp-frames', async () => (await import('./targets/tcp-frames.js')).createFramesTarget()),
  packet('dnsmasq-queries', async () =>
    (await import('./targets/dnsmasq-queries.js')).createDnsmasqQueries(),
  ),
  packet('dnsmasq-replies', async () =>
    (await import('./targets/dnsmasq-replies.js')).createDnsmasqReplies(),
  ),
  packet('kubedns-queries', async () =>
    (await import('./targets/kubedns-queries.js')).createKubednsQueries(),
  ),
  packet('kubedns-replies', async () =>
    (await import('./targets/kubedns-replies.js')).createKubednsReplies(),
  ),
  packet('notify', async () => (await import('./targets/notify.js')).createNotify()),
  packet('dso-messages', async () => (await import('./targets/dso-frames.js')).createDsoMessages()),
  packet('dso-subscribed', async () =>
    (await import('./targets/dso-frames.js')).createDsoSubscribed(),
  ),
  packet('dso-changed', async () => (await import('./targets/dso-frames.js')).createDsoChanged()),
  packet('dso-serial', async () => (await import('./targets/dso-frames.js')).createDsoSerial()),
  packet('dnstap-reader', async () =>
    (await import('./targets/dnstap-reader.js')).createDnstapReader(),
  ),
  packet('host-replies', async () =>
    (await import('./targets/host-replies.js')).createHostReplies(),
  ),
  packet('sidecar-replies', async () =>
    (await import('./targets/sidecar-replies.js')).createSidecarReplies(),
  ),
  packet('query-log-lines', async () =>
    (await import('./targets/query-log-lines.js')).createQueryLogLines(),
  ),
  text('hosts-file', async () => (await import('./targets/hosts-file.js')).createHostsFile()),
  text('resolv-file', async () => (await import('./targets/resolv-file.js')).createResolvFile()),
  text('servers-file', async () => (await import('./targets/servers-file.js')).createServersFile()),
  text('query-log-rules', async () =>
    (await import('./targets/query-log-rules.js')).createQueryLogRules(),
  ),
  text('explain-question', async () =>
    (await import('./targets/explain-question.js')).createExplainQuestion(),
  ),
  text('tsig-key', async () => (await import('./targets/tsig-key.js')).createTsigKey()),
  text('status-page', async () => (await import('./targets/status-page.js')).createStatusPage()),
  text('config-map', async () => (await import('./targets/config-map.js')).createConfigMap()),
  text('corefile', async () => (await import('./targets/corefile.js')).createCorefile()),
  text('list-stream', async () => (await import('./targets/list-stream.js')).createListStream()),
  text('watch-stream', async () => (await import('./targets/watch-stream.js')).createWatchStream()),
  text('dnsmasq-flags', async () =>
    (await import('./targets/dnsmasq-flags.js')).createDnsmasqFlags(),
  ),
  text('dnsmasq-config', async () =>
    (await import('./targets/dnsmasq-config.js')).createDnsmasqConfig(),
  ),
  text('nanny-flags', async () => (await import('./targets/nanny-flags.js')).createNannyFlags()),
  text('kubedns-flags', async () =>
    (await import('./targets/kubedns-flags.js')).createKubednsFlags(),
  ),
  text('sidecar-flags', async () =>
    (await import('./targets/sidecar-flags.js')).createSidecarFlags(),
  ),
  text('node-cache-flags', async () =>
    (await import('./targets/node-cache-flags.js')).createNodeCacheFlags(),
  ),
];

/** Throws for a name that none has. */
export function findParser(name: string): FuzzParser {
  const parser = PARSERS.find((each) => each.name === name);
  if (parser === undefined) throw new Error(`there is no parser ${name}`);
  return parser;
}

function packet(name: string, create: FuzzParser['create']): FuzzParser {
  return { name, isPacket: true, create };
}

function text(name: string, create: FuzzParser['create']): FuzzParser {
  return { name, isPacket: false, create };
}
