import { commandEntry, runCommandLine } from '@kube-dns/testkit';
import { ATTACK } from './attack/command.js';
import { FAULTS_COMMAND } from './faults/command.js';
import { FLEET } from './fleet/fleet.js';
import { FUZZ } from './fuzz/fuzz.js';
import { OUTAGE } from './outage/outage.js';
import { ROLL } from './roll/roll.js';
import { SOAK } from './soak/soak.js';

const COMMANDS = [
  FUZZ,
  commandEntry(ATTACK),
  FAULTS_COMMAND,
  commandEntry(SOAK),
  commandEntry(ROLL),
  commandEntry(FLEET),
  commandEntry(OUTAGE),
];

runCommandLine('prove', COMMANDS);
