// What node-cache does to the network of its node, with a name server in place of the cache that answers REFUSED:
// `node network-process.mjs JSON`, options of NetworkSetup, `pipe` for that of a guard, and `isGuarded`: without a guard
// its clock stands still, so that it never takes itself for silent.
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { createLog } from '@kube-dns/daemon';
import { runCommand } from '../../dist/network/command.js';
import { Guard } from '../../dist/network/guard.js';
import { NetworkSetup } from '../../dist/network/network-setup.js';
import { listen } from './name-server.mjs';

const BEAT_MS = 500;
const REFUSED = 5;
const { pipe = '', isGuarded = true, ...options } = JSON.parse(process.argv[2]);
const log = createLog({ name: 'network-process', verbosity: 0 });
const program = fileURLToPath(new URL('../../bin/node-cache.cjs', import.meta.url));
const none = () => undefined;
const guard = isGuarded
  ? new Guard({ pipe, program, log })
  : { arm: none, beat: none, disarm: none, close: none };
const network = new NetworkSetup({
  port: 53,
  healthPort: 8080,
  skipsTracking: true,
  setsUpInterface: true,
  interfaceName: 'nodelocaldns',
  setup: 'auto',
  skipsTeardown: false,
  syncIntervalMs: 60_000,
  id: randomUUID(),
  log,
  run: runCommand,
  guard,
  ...(!isGuarded && { now: () => 0 }),
  ...options,
});

await network.prepare();
await listen(REFUSED, options.localAddresses);
await network.addRules();
const beats = setInterval(() => network.beat(), BEAT_MS);

process.on('SIGHUP', () => void network.check().then(() => log.info('checked')));
process.on('SIGTERM', async () => {
  clearInterval(beats);
  await network.removeRules();
  log.info('rules are out');
  await network.removeInterface();
  guard.close();
  process.exit(7);
});

log.info(`there: ${JSON.stringify({ ...network.state, errors: network.errors })}`);
