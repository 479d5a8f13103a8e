import { parseDnsConfig } from '@kube-dns/daemon';
import { readServerBlocks } from '../../src/corefile/read-server-blocks.js';
import { renderTemplate } from '../../src/config/template.js';

/** What node-cache serves by a template of manifests/, under these variables. */
export function blocksOf(
  template: string,
  localAddresses: readonly string[],
  env: NodeJS.ProcessEnv,
  prometheusAddress = '10.0.0.1:9253',
) {
  const { text } = renderTemplate(template, parseDnsConfig(new Map()), {
    localAddresses,
    port: 53,
    clusterDns: '10.96.0.99',
    prometheusAddress,
  });
  return readServerBlocks(text, 'Corefile', { env });
}
