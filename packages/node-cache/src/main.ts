import { runProgram, VERSION } from '@kube-dns/daemon';
import { FLAGS } from './config/flags.js';

const PROGRAM = {
  name: 'node-cache',
  version: VERSION,
  summary: 'Caches DNS on a node for its pods, in front of the DNS of the cluster.',
  flags: FLAGS,
};

runProgram(PROGRAM, ({ log, facts }) => {
  log.info(`Starting node-cache image: ${facts.version}`);
  return Promise.resolve();
});
