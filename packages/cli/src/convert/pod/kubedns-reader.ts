import { parseFederations, parseNameservers } from '@kube-dns/daemon';
import { reasonOf } from '../../errors.js';
import { plainDomain, type SetupDraft } from '../dns-setup.js';
import type { Notes } from '../notes.js';
import { plainServer } from '../server-text.js';
import { readGoFlags, type GoFlag } from './go-flags.js';

/** Flags of configuration, log and probes, which each side has in its own form. */
const OF_THE_CONTAINER =
  /^(?:v|vmodule|log.*|alsologtostderr|stderrthreshold|config-.*|healthz-port|dns-bind-address|dns-port|udp-engine|version)$/;
const SECONDS = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/;

/**
 * Reads the flags of kubedns (or of kube2sky and skydns before it) into a draft; flags without a counterpart
 * are named in the notes. Returns its DNS port.
 */
export function readKubednsFlags(
  words: readonly string[],
  draft: SetupDraft,
  notes: Notes,
): number {
  const flags = readGoFlags(words);
  for (const flag of flags) readFlag(flag, draft, notes);
  return Number(flags.findLast(({ name }) => name === 'dns-port')?.value ?? 53);
}

function readFlag(flag: GoFlag, draft: SetupDraft, notes: Notes): void {
  const { name, value, text } = flag;
  switch (name) {
    case 'domain':
      draft.domain = plainDomain(value);
      return;
    case 'federations':
      draft.federations = orLose(flag, notes, () => parseFederations(value), draft.federations);
      return;
    case 'nameservers': {
      const servers = orLose(flag, notes, () => parseNameservers(value), []);
      draft.upstreams = servers.flatMap((server) => plainServer(server) ?? []);
      if (draft.upstreams.length > 0) draft.resolvFile = '';
      return;
    }
    case 'tls-ca':
      draft.tlsCa = value;
      return;
    case 'pods':
      if (value === 'insecure' || value === 'disabled') draft.pods = value;
      else notes.lose(text, 'no such mode');
      return;
    case 'endpoint-names':
      draft.namesEndpointsByPod = value === 'pod';
      if (value === 'hash') notes.change(text, 'CoreDNS names them by their address');
      return;
    case 'record-ttl':
      if (/^\d{1,9}$/.test(value)) draft.recordTtl = Number(value);
      else notes.lose(text, 'not a number');
      return;
    case 'drain-time': {
      const [, hours = 0, minutes = 0, seconds = 0] = SECONDS.exec(value) ?? [];
      if (!SECONDS.test(value) || value === '') notes.lose(text, 'not whole seconds');
      else draft.drainSeconds = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
      return;
    }
    case 'kube-master-url':
      draft.masterUrl = value;
      return;
    case 'kubecfg-file':
      draft.kubeconfig = value;
      return;
    case 'profiling':
      draft.isProfiled = value !== 'false';
      return;
    default:
      if (!OF_THE_CONTAINER.test(name)) {
        notes.lose(text, 'the standard plugins of CoreDNS have no counterpart');
      }
  }
}

function orLose<T>(flag: GoFlag, notes: Notes, parse: () => T, fallback: T): T {
  try {
    return parse();
  } catch (error) {
    notes.lose(flag.text, reasonOf(error));
    return fallback;
  }
}
