import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { V1Pod } from '@kubernetes/client-node';
import { print, type CommandContext } from '../command.js';
import { ApiReader } from '../api-reader.js';
import { refusal } from '../errors.js';
import { adviceOf, resultData, resultText, type Result } from './report.js';
import { corednsNotes } from './coredns.js';
import { lookUp } from './lookup.js';
import { explainUsage, parseExplainOptions, type ExplainOptions } from './options.js';
import {
  assumedResolver,
  muslNote,
  podResolver,
  searchPath,
  type PodResolver,
} from './resolver.js';
import { forwardPorts } from './port-forward.js';
import { findPrograms } from './programs.js';

/** Of `kube-dns up`. */
const LOCAL_API = 'http://127.0.0.1:18080';

/**
 * The command `kube-dns explain`: why a name is answered as it is. Resolves with 0 when the name has records of the type
 * and with 1 when it has none; throws a CliError of status 2 when nothing can be asked.
 */
export async function explain(args: readonly string[], context: CommandContext): Promise<number> {
  const options = parseExplainOptions(args);
  if (options === 'help') {
    context.stdout.write(explainUsage());
    return 0;
  }
  const result = await explainName(options);
  const text = options.isJson
    ? `${JSON.stringify(resultData(result), null, 2).replace(NOT_PRINTABLE, escaped)}\n`
    : resultText(result);
  await print(context, text);
  return result.lookup.deciding.outcome === 'answered' ? 0 : 1;
}

/** JSON escapes the others itself. */
const NOT_PRINTABLE = /[\u007f-\u009f]/g;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

async function explainName(options: ExplainOptions): Promise<Result> {
  const { name, type, address, pod, ports } = options;
  const resolver = await resolverOf(options);
  const path = searchPath(name, resolver);
  const kubeconfig = options.kubeconfig;
  const forwarded = pod && (await forwardPorts({ ...pod, ports, kubeconfig }));
  try {
    const { reached, missed } = await findPrograms(forwarded?.ports ?? ports);
    if (reached.length === 0) {
      const tried = missed.map(({ program, reason }) => `${program} (${reason})`).join('; ');
      throw refusal(
        `no program can be asked: ${tried}; start kube-dns up, give --pod, or run this in the DNS pod`,
      );
    }
    const client = resolver.address;
    const lookup = await lookUp({ path, type, client, programs: reached }).catch(
      (cause: unknown) => {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw refusal(`a program stopped answering: ${reason}`, { cause });
      },
    );
    const outcomes = lookup.asked.map(({ outcome }) => outcome);
    return {
      question: { name, type, address },
      resolver,
      path,
      lookup,
      missed,
      advice: adviceOf(lookup, path, options),
      musl: muslNote(path, outcomes),
      coredns: corednsNotes(lookup),
    };
  } finally {
    forwarded?.close();
  }
}

async function resolverOf(options: ExplainOptions): Promise<PodResolver> {
  const { from, domain } = options;
  if (from.pod === undefined) return assumedResolver(from.namespace, domain);
  const kubeconfig =
    options.kubeconfig ?? (options.api === undefined ? defaultKubeconfig() : undefined);
  const api = options.api ?? (kubeconfig === undefined ? LOCAL_API : undefined);
  const reader = new ApiReader({ kubeconfig, api });
  const path = `/api/v1/namespaces/${from.namespace}/pods/${from.pod}`;
  const pod = (await reader.read(path)) as V1Pod | undefined;
  if (pod === undefined)
    throw refusal(`there is no pod ${from.namespace}/${from.pod} at ${reader.server}`);
  return podResolver(pod, domain);
}

/** The file that kubectl uses; undefined when there is none. */
function defaultKubeconfig(): string | undefined {
  const named = (process.env.KUBECONFIG ?? '').split(delimiter).find((path) => path !== '');
  if (named !== undefined) return named;
  const path = join(homedir(), '.kube', 'config');
  return existsSync(path) ? path : undefined;
}
