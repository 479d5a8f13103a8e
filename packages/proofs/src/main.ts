import { commandEntry, runCommandLine } from '@kube-dns/bench';
import { ATTACK } from './attack/command.js';
import { FUZZ } from './fuzz/fuzz.js';

runCommandLine('prove', [FUZZ, commandEntry(ATTACK)]);
