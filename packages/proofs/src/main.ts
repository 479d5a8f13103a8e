import { commandEntry, runCommandLine } from '@kube-dns/bench';
import { SOAK } from './soak/soak.js';

runCommandLine('prove', [commandEntry(SOAK)]);
