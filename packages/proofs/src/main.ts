import { commandEntry, runCommandLine } from '@kube-dns/bench';
import { ATTACK } from './attack/command.js';

runCommandLine('prove', [commandEntry(ATTACK)]);
