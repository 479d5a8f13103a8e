import { commandEntry, runCommandLine } from '@kube-dns/bench';
import { ROLL } from './roll/roll.js';
import { SOAK } from './soak/soak.js';

runCommandLine('prove', [commandEntry(SOAK), commandEntry(ROLL)]);
